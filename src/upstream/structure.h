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

struct StructureFinding {
  std::optional<std::string> fault;  // why it is not of the form `wanted`; nothing: all is well
  bool truncated = false;            // a choice was cut off at a limit before it was whole
};

// Of the choices of a reply to /v1/chat/completions or /v1/completions. Refusals and tool calls are
// not judged.
StructureFinding judge_structure(const WantedStructure& wanted, std::string_view reply_body);

// Why the text of one choice is not of the form.
std::optional<std::string> structure_fault(const WantedStructure& wanted, std::string_view text);

}  // namespace windrow::upstream
