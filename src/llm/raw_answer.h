// Parsing an upstream's reply to a chat, for clients that get it in a dialect. Pure; any thread.
//
// Servers differ: reasoning has two names, a content may be parts, a call may lack its id, a choice
// that calls tools may end with "stop". The results here are normalised.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "llm/answer.h"
#include "llm/stream_sink.h"

namespace windrow::llm {

// Parses a whole reply to a chat or a completion (Answer::raw). Nothing if it is not one.
std::optional<Answer> read_raw_answer(std::string_view raw);

// Parses a whole reply with embeddings as numbers, not base64, into the order of the inputs.
// Nothing if it is not one.
std::optional<Answer> read_raw_embeddings(std::string_view raw);

// Parses one event of a stream (Delta::raw): a delta for each choice in it, possibly none.
std::vector<Delta> read_raw_event(std::string_view raw);

// Reads an object "usage"; missing members are 0.
Usage read_usage(const boost::json::object& usage);

}  // namespace windrow::llm
