// Numbers as JSON writes them, within bounds. Pure.
//
// A number without bounds may have any JSON spelling, but at most 40 digits before and behind the
// point and 4 in the exponent: a model that writes digits for ever never ends. With bounds it is
// written without an exponent. Zero is `0`, never `-0`, where there are bounds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "grammar/lexeme/byte_dfa.h"

namespace windrow::grammar {

// Bounds as decimal texts, so that nothing is rounded: "-12", "0.1", "1e3".
struct NumberBounds {
  std::optional<std::string> min;
  std::optional<std::string> max;
  bool min_excluded = false;
  bool max_excluded = false;
  std::optional<std::string> multiple_of;
};

// kInvalid: no number is within the bounds, or this multipleOf cannot be enforced (integers: up to
// 10,000; numbers: such integers and 0.1, 0.01, ...), in words for people.
Result<std::shared_ptr<const ByteDfa>> integer_dfa(const NumberBounds& bounds);
Result<std::shared_ptr<const ByteDfa>> number_dfa(const NumberBounds& bounds);

}  // namespace windrow::grammar
