#include "grammar/lexeme/decimal_digits.h"

#include <algorithm>

namespace windrow::grammar {
namespace {

constexpr int64_t kExponentMax = 1'000'000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes the digits at the front away.
std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const std::string_view found = text.substr(0, static_cast<size_t>(end - text.begin()));
  text.remove_prefix(found.size());
  return found;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// What follows the letter `e`.
std::optional<int64_t> take_exponent(std::string_view& text) {
  const bool negative = take(text, '-');
  if (!negative) take(text, '+');
  const std::string_view digits = take_digits(text);
  if (digits.empty()) return std::nullopt;
  int64_t exponent = 0;
  for (const char digit : digits)
    exponent = std::min(exponent * 10 + (digit - '0'), kExponentMax);
  return negative ? -exponent : exponent;
}

}  // namespace

std::optional<DecimalDigits> DecimalDigits::parse(std::string_view text) {
  DecimalDigits result;
  result.negative = take(text, '-');
  const std::string_view integer = take_digits(text);
  if (integer.empty() || (integer.size() > 1 && integer[0] == '0')) return std::nullopt;
  std::string_view fraction;
  if (take(text, '.')) {
    fraction = take_digits(text);
    if (fraction.empty()) return std::nullopt;
  }
  int64_t exponent = 0;
  if (take(text, 'e') || take(text, 'E')) {
    const auto taken = take_exponent(text);
    if (!taken) return std::nullopt;
    exponent = *taken;
  }
  if (!text.empty()) return std::nullopt;

  result.digits = std::string(integer) + std::string(fraction);
  result.digits.erase(result.digits.find_last_not_of('0') + 1);
  const size_t zeros = std::min(result.digits.find_first_not_of('0'), result.digits.size());
  result.digits.erase(0, zeros);
  if (result.is_zero()) return DecimalDigits();
  result.point = static_cast<int64_t>(integer.size()) - static_cast<int64_t>(zeros) + exponent;
  return result;
}

}  // namespace windrow::grammar
