// Numbers as JSON writes them, within bounds. Pure.
//
// A number without bounds may have any JSON spelling of at most 40 digits before and after the
// point and 4 in the exponent, within the range of a double: so that an answer ends. With bounds it
// is written without an exponent, and zero is `0`, never `-0`. Integers never have a point or an
// exponent.
//
// Bounds are compared digit by digit, so nothing is rounded. A reader that rounds to doubles would
// turn a number close to an excluded bound into that bound; so with an excluded bound other than
// zero, numbers have at most 15 digits, on which all readers agree; also beside a number that is
// denied. Multiples, and numbers that are no multiple, have as many, if the bounds need no more.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "grammar/lexeme/byte_dfa.h"
#include "grammar/lexeme/give_up.h"

namespace windrow::grammar {

// Bounds as decimal texts, so that nothing is rounded: "-12", "0.1", "1e3".
struct NumberBounds {
  std::optional<std::string> min;
  std::optional<std::string> max;
  bool min_excluded = false;
  bool max_excluded = false;
  std::optional<std::string> multiple_of;
  std::vector<std::string> multiples_not;  // a multiple of none of them
  std::vector<std::string> denied;         // none of these numbers

  friend auto operator<=>(const NumberBounds&, const NumberBounds&) = default;
};

// kInvalid, with a message for users: no number is within the bounds, or this multipleOf cannot be
// enforced. It can if its digits, without the zeros at both ends, are at most 10,000: 12, 0.5,
// 0.01, 1000000. kUnavailable: `give_up` returned true.
Result<std::shared_ptr<const ByteDfa>> integer_dfa(const NumberBounds& bounds,
                                                   const GiveUp& give_up = {});
Result<std::shared_ptr<const ByteDfa>> number_dfa(const NumberBounds& bounds,
                                                  const GiveUp& give_up = {});

// Multiples of a step that has many states for each digit, so that digits are better counted beside
// the automaton (CountedDfa): without a sign, and without leading zeros.
struct LongMultiples {
  std::shared_ptr<const ByteDfa> positive;  // with zero if that is allowed; null: none
  std::shared_ptr<const ByteDfa> negative;
  uint32_t digits_max = 0;
};

// The numbers within the bounds in this form. Nothing where the functions above serve better: there
// are other bounds than zero, fractions, or few states. Errors as above.
Result<std::optional<LongMultiples>> long_multiples(const NumberBounds& bounds, bool integer,
                                                    const GiveUp& give_up = {});

}  // namespace windrow::grammar
