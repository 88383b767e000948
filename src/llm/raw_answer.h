// What a server elsewhere says to a chat, read into our own types: for those who tell it in another
// shape than the server's. Pure; any thread.
//
// Servers differ: reasoning has two names, a content may be parts, a call may lack its id, a choice
// that calls tools may end with "stop". What is read here is in our own form.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "llm/answer.h"
#include "llm/stream_sink.h"

namespace windrow::llm {

// A whole reply to a chat or a completion, Answer::raw. Nothing: it is none.
std::optional<Answer> read_raw_answer(std::string_view raw);

// A whole reply of embeddings in numbers, not base64, in the order of their inputs. Nothing: it is
// none.
std::optional<Answer> read_raw_embeddings(std::string_view raw);

// One event of a stream, Delta::raw; a piece for each choice in it. An event with no choice says
// nothing.
std::vector<Delta> read_raw_event(std::string_view raw);

// Of the object "usage"; what is not told is 0.
Usage read_usage(const boost::json::object& usage);

}  // namespace windrow::llm
