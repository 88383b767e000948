// The rules of a schema for numbers, and their conjunction; with Decimal, in which they are exact.
// Pure.
#pragma once

#include <boost/json/value.hpp>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/lexeme/numbers.h"

namespace windrow::grammar {

// A number as JSON writes it, without rounding. Equal numbers have one text: 1.0, 1 and 10e-1
// are 1.
class Decimal {
 public:
  Decimal() = default;  // zero
  explicit Decimal(int64_t value);

  // Nothing if the text is no number of JSON.
  static std::optional<Decimal> parse(std::string_view text);
  // Nothing if the value is no number. For a double, the shortest digits that read back as it.
  static std::optional<Decimal> of(const boost::json::value& value);

  bool is_integer() const { return exponent_ >= 0; }
  bool is_zero() const { return digits_.empty(); }
  bool is_negative() const { return negative_; }

  Decimal floor() const;
  Decimal ceiling() const;

  // The number of digits after the point: 2 for 0.25, 0 for integers.
  int64_t places() const { return exponent_ < 0 ? -exponent_ : 0; }

  // `step` is above zero. Nothing if either has too many digits to decide.
  std::optional<bool> multiple_of(const Decimal& step) const;
  bool is_multiple_of(const Decimal& step) const { return multiple_of(step).value_or(false); }

  // This times 10^places, if that is an integer of at most 18 digits.
  std::optional<int64_t> scaled(int64_t places) const;
  static Decimal from_scaled(int64_t value, int64_t places);

  // As ECMAScript writes numbers: without an exponent below 1e21, and without needless zeros.
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

// The least number that both divide; nothing if it has too many digits.
std::optional<Decimal> least_common_multiple(const Decimal& left, const Decimal& right);

struct NumberRules {
  std::optional<Decimal> min;
  std::optional<Decimal> max;
  bool min_excluded = false;
  bool max_excluded = false;
  std::optional<Decimal> multiple_of;  // above zero
  std::vector<Decimal> multiples_not;  // above zero; a multiple of none of them
  std::vector<Decimal> denied;         // none of these numbers; ascending, none twice

  void raise_min(const Decimal& bound, bool excluded);
  void lower_max(const Decimal& bound, bool excluded);

  // Return false if the common multiple has too many digits.
  bool join_multiple(const Decimal& other);
  bool join(const NumberRules& other);
};

// Whether there is such a number. May wrongly return true for very long numbers, and where the
// first thousands within the bounds are excluded one by one.
bool any_integer(const NumberRules& rules);
bool any_number(const NumberRules& rules);

// False also where it cannot be decided.
bool holds(const NumberRules& rules, const Decimal& number);

// Whether every number that `rules` allow has this property, as far as that is plain.
bool implies(const NumberRules& rules, const NumberRules& other);

// The same rules for integer_dfa() or number_dfa().
NumberBounds bounds_of(const NumberRules& rules, bool integers);

}  // namespace windrow::grammar
