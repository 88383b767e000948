// The automata that numbers.h combines: texts without a sign that lie within bounds, and texts that
// are multiples. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "grammar/lexeme/range_dfa.h"

namespace windrow::grammar {

// A number of any size as digits, to be compared with a number while it is written.
struct DecimalDigits {
  bool negative = false;
  std::string digits;  // without zeros at either end; empty: zero
  int64_t point = 0;   // the value is 0.DIGITS times 10^point

  // Parses a number of JSON; nothing for other texts. Exponents beyond a million count as a
  // million.
  static std::optional<DecimalDigits> parse(std::string_view text);

  bool is_zero() const { return digits.empty(); }

  // How many digits the integer part has, without leading zeros: 0 for numbers below one.
  int64_t integer_length() const { return is_zero() || point < 0 ? 0 : point; }
  // How many digits after the point are needed.
  int64_t fraction_length() const {
    const int64_t places = static_cast<int64_t>(digits.size()) - point;
    return is_zero() || places < 0 ? 0 : places;
  }

  // Without its sign, as short as possible: `0`, `12`, `0.5`.
  std::string shortest_text() const;

  char integer_digit(int64_t i) const { return digit(i); }
  char fraction_digit(int64_t i) const { return digit(point + i); }

 private:
  char digit(int64_t i) const {
    if (i < 0 || i >= static_cast<int64_t>(digits.size())) return '0';
    return digits[static_cast<size_t>(i)];
  }
};

struct NumberBound {
  DecimalDigits digits;  // the sign is ignored
  bool excluded = false;
};

struct NumberRange {
  std::optional<NumberBound> low;
  std::optional<NumberBound> high;
  int64_t integer_digits_max = 0;
  int64_t fraction_digits_max = 0;  // 0: integers
};

// Texts like 0, 12 and 0.50 from `low` to `high`. Not minimal.
RangeDfa magnitudes(const NumberRange& range);

// Such texts that are multiples of step / 10^places, with any number of digits before the point and
// at most `places` after it. Minimal.
RangeDfa multiples(uint32_t step, uint32_t places);

// Integers that are multiples of step * 10^zeros: a multiple of step, then the zeros. Costs one
// state for each zero. Minimal.
RangeDfa multiples_of_tens(uint32_t step, uint32_t zeros);

// Multiples, and the same numbers with zeros at the end of the fraction: 1.5, 1.50. `has_point`:
// some of them have a fraction already.
RangeDfa with_zeros_behind(const RangeDfa& multiples, bool has_point);

// The same for any numbers as they are written shortest: 12, 12.0, 12.5, 12.50.
RangeDfa with_zeros_behind_each(const RangeDfa& shortest);

// 1, 2, 10, ..., and `zero` says whether also 0.
RangeDfa integers(bool zero);

// Texts of at most so many digits, with a point or without, not counting a zero before the point.
RangeDfa digits_at_most(uint32_t count);

// The texts of `positive`, and those of `negative` after a minus.
RangeDfa with_sign(const RangeDfa& positive, const RangeDfa& negative);

}  // namespace windrow::grammar
