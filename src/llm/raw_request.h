// A request for a server elsewhere: its body goes there as it was written, so that fields nobody
// here knows (a vendor's own, tools, images) survive. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "llm/request.h"

namespace windrow::llm {

// `body` is how `members` was written. Fields of `defaults` that the body lacks, or has as null,
// are added; `stream` is taken out, because whoever asks here wants one answer. Of the result only
// endpoint, model, raw and what policies look at are set: temperature, seed, output_tokens_max,
// the number of inputs and choices, and what form the answer should have. Nothing is refused: the
// server knows what it takes.
Request raw_request(Endpoint endpoint, std::string_view body, const boost::json::object& members,
                    const boost::json::object& defaults);

// `body` with `name` set to `value` (JSON text), where it stands or at the end. The other members
// keep their text and order.
std::string with_member(std::string_view body, std::string_view name, std::string_view value);

// What makes two raw requests the same question with the same answer: the body without white space
// and endpoint, when it is answered alike each time (temperature 0, a seed, or nothing is drawn);
// nothing for any other.
std::optional<std::string> repeat_key(const Request& request);

// The text that prompts have in common at their beginning, as far as it is known without reading
// the body as the server does: tools, then messages; the prompt; the input.
std::string_view raw_prompt(const Request& request, std::string& buffer);

}  // namespace windrow::llm
