// Raw requests, for upstreams: the body is sent as it is written, so that unknown fields (a
// vendor's own, images) survive. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "llm/request.h"

namespace windrow::llm {

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
// the answer is drawn at random (no seed and a temperature above 0).
std::optional<std::string> repeat_key(const Request& request);

// The text whose prefix requests may have in common, as far as it is known without a chat template:
// tools, then messages; the prompt; the input. Points into the request or into `buffer`.
std::string_view raw_prompt(const Request& request, std::string& buffer);

}  // namespace windrow::llm
