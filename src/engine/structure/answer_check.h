// Checks of whole answers against what their request asked for, by other code than that which kept
// the answer to it: AnswerCheck for a text, CallCheck for calls of tools. Where an answer was held
// for complete and a check disagrees, the failure is Windrow's own (500) and says so.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/structure/tool_schemas.h"
#include "llm/answer.h"
#include "llm/structure.h"
#include "schema/validator.h"

namespace windrow::engine {

// Checks the text of an answer. Const and thread-safe.
class AnswerCheck {
 public:
  virtual ~AnswerCheck() = default;

  // What is wrong with the answer; nullopt: it is valid.
  virtual std::optional<std::string> fault(std::string_view answer) const = 0;
};

// The check of a spec; a schema is read as the standard has it, with open objects. kInvalid: the
// spec cannot be read.
Result<std::shared_ptr<const AnswerCheck>> make_check(const llm::StructureSpec& spec);

// Checks each choice of an answer whose choices are labelled valid, cut off and so on by the code
// that made them. A choice that is labelled complete and fails the check makes the outcome a 500
// that says both opinions. A choice that a stop text cut is valid when the check accepts the rest.
llm::Outcome judged(const AnswerCheck& check, llm::Answer answer);

// Checks the calls of an answer. Const and thread-safe.
class CallCheck {
 public:
  // `several`: there may be more than one call. A tool that is not strict accepts any object.
  // kInvalid: a schema cannot be checked; the message begins with its place.
  static Result<CallCheck> make(std::span<const CallableTool> tools, bool several);

  // What is wrong with these calls; nullopt: they are valid.
  std::optional<std::string> fault(std::span<const llm::ToolCall> calls) const;

 private:
  // By name. Tools of one name are rare: the arguments have to be valid for one of them.
  using Validators = std::map<std::string, std::vector<schema::Validator>, std::less<>>;

  CallCheck(Validators tools, bool several) : tools_(std::move(tools)), several_(several) {}
  std::optional<std::string> fault_of(const llm::ToolCall& call) const;

  const Validators tools_;
  const bool several_;
};

// Checks the calls of each choice that ended by itself; with `has_to_call` false only of choices
// that call. A choice that fails the check makes the outcome a 500.
llm::Outcome judged_calls(const CallCheck& check, llm::Answer answer, bool has_to_call);

}  // namespace windrow::engine
