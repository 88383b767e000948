// CallCheck: whether the calls of a whole answer are those that its request wants, judged by other
// code than that which made the answer keep to them.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/structure/called_tools.h"
#include "llm/answer.h"
#include "schema/validator.h"

namespace windrow::engine {

// Const and thread-safe.
class CallCheck {
 public:
  // kInvalid: a schema that cannot be judged, its place first. Of a tool that is not strict any
  // arguments will do. `several`: there may be more than one call.
  static Result<CallCheck> make(std::span<const CalledTool> tools, bool several);

  // Says what is wrong with these calls; nothing where they are valid.
  std::optional<std::string> fault(std::span<const llm::ToolCall> calls) const;

 private:
  // Those of one name, mostly one: the arguments have to be valid for one of them.
  using Validators = std::map<std::string, std::vector<schema::Validator>, std::less<>>;

  CallCheck(Validators tools, bool several) : tools_(std::move(tools)), several_(several) {}
  std::optional<std::string> fault_of(const llm::ToolCall& call) const;

  const Validators tools_;
  const bool several_;
};

// Choices that ended by themselves are checked; where `has_to_call` is false those that call. What
// is wrong then is our fault, and a failure that says so.
llm::Outcome judged_calls(const CallCheck& check, llm::Answer answer, bool has_to_call);

}  // namespace windrow::engine
