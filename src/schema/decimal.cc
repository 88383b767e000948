#include "schema/decimal.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/hash.h"
#include "base/random.h"

namespace windrow::schema {
namespace {

// Longer ones are written with an exponent.
constexpr int64_t kPlainDigitsMax = 21;
constexpr size_t kShownDigitsMax = 40;

uint64_t multiply(uint64_t a, uint64_t b, uint64_t modulus) {
  return static_cast<uint64_t>(static_cast<uint128>(a) * b % modulus);
}

uint64_t power_of_ten(int64_t exponent, uint64_t modulus) {
  uint64_t result = 1 % modulus;
  uint64_t square = 10 % modulus;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0) result = multiply(result, square, modulus);
    square = multiply(square, square, modulus);
  }
  return result;
}

std::strong_ordering reversed(std::strong_ordering order) {
  return 0 <=> order;
}

}  // namespace

Decimal Decimal::from_text(std::string_view text) {
  Decimal result;
  if (!text.empty() && text.front() == '-') {
    result.negative_ = true;
    text.remove_prefix(1);
  }
  const size_t mark = std::min(text.find_first_of("eE"), text.size());
  if (mark < text.size()) {
    std::string_view exponent = text.substr(mark + 1);
    if (exponent.starts_with('+')) exponent.remove_prefix(1);
    std::from_chars(exponent.data(), exponent.data() + exponent.size(), result.exponent_);
  }
  const std::string_view mantissa = text.substr(0, mark);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  result.digits_ = mantissa.substr(0, point);
  if (point < mantissa.size()) {
    const std::string_view fraction = mantissa.substr(point + 1);
    result.digits_ += fraction;
    result.exponent_ -= static_cast<int64_t>(fraction.size());
  }
  result.digits_.erase(0, std::min(result.digits_.find_first_not_of('0'), result.digits_.size()));
  const size_t kept = result.digits_.find_last_not_of('0') + 1;  // npos + 1 is 0
  result.exponent_ += static_cast<int64_t>(result.digits_.size() - kept);
  result.digits_.resize(kept);
  return result.digits_.empty() ? Decimal() : result;
}

std::optional<Decimal> Decimal::from_json(const boost::json::value& number) {
  if (const auto* whole = number.if_int64()) return from_text(fmt::format("{}", *whole));
  if (const auto* whole = number.if_uint64()) return from_text(fmt::format("{}", *whole));
  const double* value = number.if_double();
  if (value == nullptr || !std::isfinite(*value)) return std::nullopt;
  return from_text(fmt::format("{}", *value));
}

bool Decimal::is_multiple_of(const Decimal& divisor) const {
  if (is_zero()) return true;
  const int64_t shift = exponent_ - divisor.exponent_;
  // Then a factor of ten would have to be in the digits, which have none.
  if (shift < 0) return false;
  uint64_t modulus = 0;
  std::from_chars(divisor.digits_.data(), divisor.digits_.data() + divisor.digits_.size(), modulus);
  if (modulus == 0) return false;
  uint64_t rest = 0;
  for (const char digit : digits_) {
    const auto next = static_cast<uint128>(rest) * 10 + static_cast<unsigned>(digit - '0');
    rest = static_cast<uint64_t>(next % modulus);
  }
  return multiply(rest, power_of_ten(shift, modulus), modulus) == 0;
}

std::optional<uint64_t> Decimal::to_count() const {
  if (negative_ || !is_integer()) return std::nullopt;
  if (is_zero()) return 0;
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  if (exponent_ > 19 || static_cast<int64_t>(digits_.size()) + exponent_ > 20) return kMost;
  const std::string plain = digits_ + std::string(static_cast<size_t>(exponent_), '0');
  uint64_t value = 0;
  const auto read = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  return read.ec == std::errc{} ? value : kMost;
}

uint64_t Decimal::hash() const {
  return hash64(digits_, static_cast<uint64_t>(exponent_) * 2 + (negative_ ? 1U : 0U));
}

std::string Decimal::to_string() const {
  if (is_zero()) return "0";
  const std::string sign = negative_ ? "-" : "";
  const auto size = static_cast<int64_t>(digits_.size());
  const int64_t before_point = size + exponent_;
  if (exponent_ >= 0 && before_point <= kPlainDigitsMax)
    return sign + digits_ + std::string(static_cast<size_t>(exponent_), '0');
  if (exponent_ < 0 && before_point > 0 && size <= kPlainDigitsMax) {
    const auto point = static_cast<size_t>(before_point);
    return sign + digits_.substr(0, point) + "." + digits_.substr(point);
  }
  if (exponent_ < 0 && before_point <= 0 && size - before_point <= kPlainDigitsMax)
    return sign + "0." + std::string(static_cast<size_t>(-before_point), '0') + digits_;
  const std::string shown = digits_.substr(1, kShownDigitsMax - 1);
  return fmt::format("{}{}{}{}{}e{}", sign, digits_[0], shown.empty() ? "" : ".", shown,
                     digits_.size() > kShownDigitsMax ? "..." : "", before_point - 1);
}

std::strong_ordering operator<=>(const Decimal& a, const Decimal& b) {
  if (a.is_zero() || b.is_zero() || a.negative_ != b.negative_) {
    const int left = a.is_zero() ? 0 : a.negative_ ? -1 : 1;
    const int right = b.is_zero() ? 0 : b.negative_ ? -1 : 1;
    return left <=> right;
  }
  // Where the first digit stands decides, then the digits.
  const auto a_place = static_cast<int64_t>(a.digits_.size()) + a.exponent_;
  const auto b_place = static_cast<int64_t>(b.digits_.size()) + b.exponent_;
  std::strong_ordering order = a_place <=> b_place;
  if (order == 0) order = a.digits_.compare(b.digits_) <=> 0;
  return a.negative_ ? reversed(order) : order;
}

}  // namespace windrow::schema
