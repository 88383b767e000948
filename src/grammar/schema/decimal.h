// Decimal: a number as JSON writes it, exactly. Bounds are compared and joined without rounding,
// and numbers that are equal have one text: 1.0, 1 and 10e-1 are 1. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace windrow::grammar {

class Decimal {
 public:
  Decimal() = default;  // zero
  explicit Decimal(int64_t value);

  // Nothing where this is no number of JSON.
  static std::optional<Decimal> parse(std::string_view text);
  // Nothing where the value is no number. A double has the shortest digits that mean it.
  static std::optional<Decimal> of(const boost::json::value& value);

  bool is_integer() const { return exponent_ >= 0; }
  bool is_zero() const { return digits_.empty(); }
  bool is_negative() const { return negative_; }

  Decimal floor() const;
  Decimal ceiling() const;

  // Digits behind the point: 2 for 0.25, 0 for integers.
  int64_t places() const { return exponent_ < 0 ? -exponent_ : 0; }

  // `step` is above zero. False also where either has too many digits to tell.
  bool is_multiple_of(const Decimal& step) const;

  // This times 10^places, where that is an integer of at most 18 digits.
  std::optional<int64_t> scaled(int64_t places) const;
  static Decimal from_scaled(int64_t value, int64_t places);

  // In the form ECMAScript writes numbers: plain below 1e21, and no zero that is not needed.
  std::string text() const;

  friend std::strong_ordering operator<=>(const Decimal& left, const Decimal& right);
  friend bool operator==(const Decimal& left, const Decimal& right) {
    return (left <=> right) == std::strong_ordering::equal;
  }

 private:
  Decimal(bool negative, std::string digits, int64_t exponent);

  // digits_ * 10^exponent_, without zeros at either end; zero has no digits and exponent 0.
  bool negative_ = false;
  std::string digits_;
  int64_t exponent_ = 0;
};

// The least number that both divide; nothing where it has more digits than are handled.
std::optional<Decimal> least_common_multiple(const Decimal& left, const Decimal& right);

}  // namespace windrow::grammar
