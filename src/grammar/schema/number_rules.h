// What a schema says of numbers, and what is left when two schemas hold together. Pure.
#pragma once

#include <optional>

#include "grammar/lexeme/numbers.h"
#include "grammar/schema/decimal.h"

namespace windrow::grammar {

struct NumberRules {
  std::optional<Decimal> min;
  std::optional<Decimal> max;
  bool min_excluded = false;
  bool max_excluded = false;
  std::optional<Decimal> multiple_of;  // above zero

  void raise_min(const Decimal& bound, bool excluded);
  void lower_max(const Decimal& bound, bool excluded);

  // False where the two cannot be one: their common multiple has too many digits.
  bool join_multiple(const Decimal& other);
  bool join(const NumberRules& other);
};

// Whether there is such a number. Errs on the side of yes where numbers are very long.
bool any_integer(const NumberRules& rules);
bool any_number(const NumberRules& rules);

bool holds(const NumberRules& rules, const Decimal& number);

// For the automata. `integers`: only they are wanted.
NumberBounds bounds_of(const NumberRules& rules, bool integers);

}  // namespace windrow::grammar
