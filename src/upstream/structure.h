// Whether an answer has the form its request asked for. Servers that do not enforce a
// `response_format` answer with something else now and then; such a row is worth another try. Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "llm/request.h"
#include "schema/validator.h"

namespace windrow::upstream {

struct WantedStructure {
  llm::Structure form = llm::Structure::kText;
  std::string_view field;  // of the request, for messages; outlives this
  std::shared_ptr<const schema::Validator> validator;  // null: any JSON of that form
};

// Why the choices of a reply to /v1/chat/completions or /v1/completions are not of the form
// `wanted`. Nothing where all is well, and for answers that were cut off by max_tokens, refused, or
// are tool calls.
std::optional<std::string> structure_fault(const WantedStructure& wanted,
                                           std::string_view reply_body);

}  // namespace windrow::upstream
