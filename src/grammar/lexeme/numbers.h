// Numbers as JSON writes them, within bounds. Pure.
//
// A number without bounds may have any JSON spelling, but at most 40 digits before and behind the
// point and 4 in the exponent, and it is one that a double can hold: a model that writes digits for
// ever never ends. With bounds it is written without an exponent. Zero is `0`, never `-0`, where
// there are bounds; integers never have a point or an exponent.
//
// Bounds are compared digit by digit, so nothing is rounded. Where a reader rounds to doubles, what
// lies close below an excluded bound would become that bound; so beside an excluded bound other
// than zero, numbers have few enough digits (15 in all) that all readers agree. Multiples have as
// many, where the bounds ask for no more.
#pragma once

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

// kInvalid: no number is within the bounds, or this multipleOf cannot be enforced, in words for
// people. Enforced are multiples of numbers whose digits are up to 10,000 without the zeros at
// their ends: 12, 0.5, 0.01, 1000000.
Result<std::shared_ptr<const ByteDfa>> integer_dfa(const NumberBounds& bounds);
Result<std::shared_ptr<const ByteDfa>> number_dfa(const NumberBounds& bounds);

}  // namespace windrow::grammar
