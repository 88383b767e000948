// Decimal: a JSON number with all its digits. Bounds and multipleOf are exact, as binary floating
// point would not have them: 19.99 is a multiple of 0.01, and 2^53 + 1 is above 2^53.
#pragma once

#include <boost/json/value.hpp>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace windrow::schema {

// (-1 if negative) * digits * 10^exponent. There is one form of each value: digits have no zero in
// front or behind, and zero has no digits, no sign and exponent 0.
class Decimal {
 public:
  Decimal() = default;  // 0

  // `text` is a number as JSON writes it; its exponent fits in 32 bits.
  static Decimal from_text(std::string_view text);

  // A double is the shortest decimal that reads back as it. Nothing for infinity and NaN.
  static std::optional<Decimal> from_json(const boost::json::value& number);

  bool is_zero() const { return digits_.empty(); }
  bool is_negative() const { return negative_; }
  bool is_integer() const { return exponent_ >= 0; }

  // Whether this is a whole number times `divisor`, which is above 0 and has at most 19 digits, or
  // 20 below 2^64.
  bool is_multiple_of(const Decimal& divisor) const;

  // A whole number from 0 up; beyond 2^64 it is 2^64-1. Nothing for others.
  std::optional<uint64_t> to_count() const;

  uint64_t hash() const;

  // For people: "-12.5", "1e30"; long ones are cut.
  std::string to_string() const;

  friend bool operator==(const Decimal&, const Decimal&) = default;
  friend std::strong_ordering operator<=>(const Decimal& a, const Decimal& b);

 private:
  int64_t exponent_ = 0;
  std::string digits_;
  bool negative_ = false;
};

}  // namespace windrow::schema
