// The automata that numbers.h is made of: texts without a sign that lie within bounds, and those
// that are multiples. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "grammar/lexeme/decimal_digits.h"
#include "grammar/lexeme/range_dfa.h"

namespace windrow::grammar {

struct NumberBound {
  DecimalDigits digits;  // its sign does not count
  bool excluded = false;
};

struct NumberRange {
  std::optional<NumberBound> low;
  std::optional<NumberBound> high;
  int64_t integer_digits_max = 0;
  int64_t fraction_digits_max = 0;  // 0: integers
};

// Texts like 0, 12 and 0.50 from `low` to `high`; not minimal.
RangeDfa magnitudes(const NumberRange& range);

// The texts like these that are multiples of step / 10^places, with at most `places` digits behind
// the point; any number of digits before it. Minimal.
RangeDfa multiples(uint32_t step, uint32_t places);

// Integers that are multiples of step * 10^zeros: they are so many zeros behind a multiple of step,
// so a power of ten costs a state for each zero. Minimal.
RangeDfa multiples_of_tens(uint32_t step, uint32_t zeros);

// `positive`, or `negative` with a minus before it. Where a text has no minus, it is in `positive`.
RangeDfa with_sign(const RangeDfa& positive, const RangeDfa& negative);

}  // namespace windrow::grammar
