// DecimalDigits: a number of any size as its digits, to be compared with digits that are only just
// being written. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace windrow::grammar {

struct DecimalDigits {
  bool negative = false;
  std::string digits;  // without zeros at either end; none: zero
  int64_t point = 0;   // the value is 0.DIGITS times 10^point

  // A number as JSON writes it; nothing for other texts. Exponents beyond a million are a million.
  static std::optional<DecimalDigits> parse(std::string_view text);

  bool is_zero() const { return digits.empty(); }

  // Of the integer part, without leading zeros: 0 for what is below one.
  int64_t integer_length() const { return is_zero() || point < 0 ? 0 : point; }
  // How many places behind the point are needed.
  int64_t fraction_length() const {
    const int64_t places = static_cast<int64_t>(digits.size()) - point;
    return is_zero() || places < 0 ? 0 : places;
  }

  char integer_digit(int64_t i) const { return digit(i); }
  char fraction_digit(int64_t i) const { return digit(point + i); }

 private:
  char digit(int64_t i) const {
    if (i < 0 || i >= static_cast<int64_t>(digits.size())) return '0';
    return digits[static_cast<size_t>(i)];
  }
};

}  // namespace windrow::grammar
