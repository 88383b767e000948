// Decimal: a JSON number with all its digits. Bounds and multipleOf are exact, unlike in binary
// floating point: 19.99 is a multiple of 0.01, and 2^53 + 1 is above 2^53. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace windrow::schema {

// (-1 if negative) * digits * 10^exponent. Invariant: each value has one form: digits have no zero
// at either end, and zero has no digits, no sign and exponent 0.
class Decimal {
 public:
  Decimal() = default;  // 0

  // `text` is a number as JSON writes it; its exponent fits in 32 bits.
  static Decimal from_text(std::string_view text);

  // For a double, the shortest decimal that reads back as it. Nothing for infinity and NaN.
  static std::optional<Decimal> from_json(const boost::json::value& number);

  bool is_zero() const { return digits_.empty(); }
  bool is_negative() const { return negative_; }
  bool is_integer() const { return exponent_ >= 0; }

  // Whether this is a whole multiple of `divisor`, which is above 0 and whose digits are below
  // 2^64.
  bool is_multiple_of(const Decimal& divisor) const;

  // The value of a whole number from 0 up, at most 2^64-1. Nothing for other numbers.
  std::optional<uint64_t> to_count() const;

  uint64_t hash() const;

  // For messages: "-12.5", "1e30"; long ones are cut.
  std::string to_string() const;

  friend bool operator==(const Decimal&, const Decimal&) = default;
  friend std::strong_ordering operator<=>(const Decimal& a, const Decimal& b);

 private:
  int64_t exponent_ = 0;
  std::string digits_;
  bool negative_ = false;
};

}  // namespace windrow::schema
