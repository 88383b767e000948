// AnswerCheck: whether a whole answer is what its StructureSpec asked for, judged by other code
// than that which made the answer keep to it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "llm/answer.h"
#include "llm/structure.h"

namespace windrow::engine {

// Const and thread-safe.
class AnswerCheck {
 public:
  virtual ~AnswerCheck() = default;

  // What is wrong with it, or nothing.
  virtual std::optional<std::string> fault(std::string_view answer) const = 0;
};

// kInvalid: the spec cannot be read.
Result<std::shared_ptr<const AnswerCheck>> make_check(const llm::StructureSpec& spec);

// An answer whose choices are labelled as those who made them see it, and checked. What is whole
// and wrong is our fault, and a failure that says both opinions; what a stop text cut is valid when
// that is what is left.
llm::Outcome judged(const AnswerCheck& check, llm::Answer answer);

}  // namespace windrow::engine
