#include "engine/structure/call_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <utility>

#include "base/utf8.h"

namespace windrow::engine {

using CallFault = std::optional<std::string>;

Result<CallCheck> CallCheck::make(std::span<const CalledTool> tools, bool several) {
  Validators validators;
  for (const CalledTool& tool : tools) {
    const boost::json::value any = {{"type", "object"}};
    auto validator =
        schema::Validator::compile(tool.strict ? tool.schema : any, {.closed_by_default = true});
    if (!validator) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("{}: {}", tool.place, validator.error().message)};
    }
    validators[tool.name].push_back(*std::move(validator));
  }
  return CallCheck(std::move(validators), several);
}

CallFault CallCheck::fault_of(const llm::ToolCall& call) const {
  const auto found = tools_.find(call.name);
  if (found == tools_.end()) return fmt::format("\"{}\" is none of the tools", call.name);
  CallFault fault;
  for (const schema::Validator& validator : found->second) {
    const std::optional<schema::Violation> violation = validator.check(call.arguments);
    // What would take too long to judge is not wrong for that.
    if (!violation || violation->kind == schema::Violation::Kind::kUnjudged) return std::nullopt;
    fault = fmt::format("the arguments of {}: {}", call.name, violation->message);
  }
  return fault;
}

CallFault CallCheck::fault(std::span<const llm::ToolCall> calls) const {
  if (calls.empty()) return "there is no call";
  if (calls.size() > 1 && !several_) return fmt::format("there are {} calls", calls.size());
  for (const llm::ToolCall& call : calls) {
    if (CallFault fault = fault_of(call)) return fault;
  }
  return std::nullopt;
}

llm::Outcome judged_calls(const CallCheck& check, llm::Answer answer, bool has_to_call) {
  for (size_t i = 0; i < answer.choices.size(); ++i) {
    const llm::Choice& choice = answer.choices[i];
    const bool said_nothing_else =
        has_to_call && choice.finish_reason == llm::FinishReason::kStop && !choice.stopped_by;
    const bool by_itself =
        choice.finish_reason == llm::FinishReason::kToolCalls || said_nothing_else;
    if (!by_itself) continue;
    const CallFault fault = check.fault(choice.tool_calls);
    if (!fault) continue;
    return llm::Failure{
        .status = 500,
        .code = "structured_output_mismatch",
        .message = fmt::format("the calls of choice {} were held for whole and valid when they "
                               "were made, and the check of them says: {}. One of the two is "
                               "wrong, which is a fault of Windrow's; please report it with the "
                               "request",
                               i, utf8_repair(*fault)),
        .param = "tools",
        .usage = answer.usage};
  }
  return answer;
}

}  // namespace windrow::engine
