// Bodies of requests to upstreams, and of their replies, as they are on the wire. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/answer.h"
#include "llm/request.h"
#include "llm/stream_sink.h"

namespace windrow::llm {

// --- raw requests: the body is sent as it is written, so that unknown fields (a vendor's own,
// images) survive ---

// Makes a raw request. `body` is the text of `members`. Adds fields of `defaults` that the body
// lacks or has as null; removes `stream`. Sets only endpoint, model, raw and what policies use:
// temperature, seed, output_tokens_max, the number of inputs and choices, and the form of the
// answer. Refuses nothing: the upstream checks the body.
Request raw_request(Endpoint endpoint, std::string_view body, const boost::json::object& members,
                    const boost::json::object& defaults);

// `body` with the member `name` set to `value` (JSON text), in its place or at the end. Other
// members keep their text and order.
std::string with_member(std::string_view body, std::string_view name, std::string_view value);

// Equal for raw requests with the same answer: endpoint and body without white space. Nothing if
// the answer is drawn at random (no seed and a temperature above 0), and for requests that are
// verbatim or have headers.
std::optional<std::string> repeat_key(const Request& request);

// The text whose prefix requests may have in common, as far as it is known without a chat template:
// tools, then messages; the prompt; the input. Points into the request or into `buffer`.
std::string_view raw_prompt(const Request& request, std::string& buffer);

// --- an upstream's reply, parsed for clients that get it in a dialect. Servers differ: reasoning
// has two names, a content may be parts, a call may lack its id, a choice that calls tools may end
// with "stop". The results here are normalised. ---

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
