// Whether an answer has the form its request asked for. Servers that do not enforce a
// `response_format` answer with something else now and then; such a row is worth another try. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "llm/request.h"

namespace windrow::upstream {

// Why the choices of a reply to /v1/chat/completions are not of the form `wanted`. Nothing where
// all is well, and for answers that were cut off by max_tokens, refused, or are tool calls.
std::optional<std::string> structure_fault(llm::Structure wanted, std::string_view reply_body);

}  // namespace windrow::upstream
