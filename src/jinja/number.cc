#include "jinja/number.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "jinja/failure.h"
#include "jinja/unicode.h"

namespace windrow::jinja {
namespace {

int sign(double difference) {
  return difference < 0 ? -1 : difference > 0 ? 1 : 0;
}

int compare(Integer a, double b) {
  if (std::isnan(b)) return 2;
  if (b >= 0x1p100) return -1;
  if (b <= -0x1p100) return 1;
  const double whole = std::floor(b);
  const auto floor = static_cast<Integer>(whole);
  if (a != floor) return a < floor ? -1 : 1;
  return b > whole ? -1 : 0;
}

// Python reads any digits; ASCII ones are what is left to read.
std::string ascii_number(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c < 0x80) {
      plain += static_cast<char>(c);
    } else if (is_space(c)) {
      plain += ' ';
    } else if (is_decimal(c)) {
      // The ten digits of a script follow each other.
      char32_t zero = c;
      while (zero > 0 && c - zero < 9 && is_decimal(zero - 1))
        --zero;
      plain += static_cast<char>('0' + (c - zero));
    } else {
      return "?";
    }
  }
  const auto is_blank = [](char c) { return is_space(static_cast<unsigned char>(c)); };
  while (!plain.empty() && is_blank(plain.back()))
    plain.pop_back();
  size_t begin = 0;
  while (begin < plain.size() && is_blank(plain[begin]))
    ++begin;
  return plain.substr(begin);
}

// Removes underscores that stand between digits; false when one stands elsewhere.
bool remove_underscores(std::string& text) {
  std::string kept;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      kept += text[i];
      continue;
    }
    const auto is_alnum_at = [&](size_t at) {
      return at < text.size() && is_alnum(static_cast<unsigned char>(text[at]));
    };
    if (i == 0 || !is_alnum_at(i - 1) || !is_alnum_at(i + 1)) return false;
  }
  text = kept;
  return true;
}

}  // namespace

int compare_numbers(const Value& a, const Value& b) {
  const bool a_float = a.is(Value::Kind::kFloat);
  const bool b_float = b.is(Value::Kind::kFloat);
  if (a_float && b_float) {
    if (std::isnan(a.number()) || std::isnan(b.number())) return 2;
    return a.number() == b.number() ? 0 : sign(a.number() < b.number() ? -1 : 1);
  }
  if (a_float) {
    const int other = compare(b.integral(), a.number());
    return other == 2 ? 2 : -other;
  }
  if (b_float) return compare(a.integral(), b.number());
  return a.integral() < b.integral() ? -1 : a.integral() > b.integral() ? 1 : 0;
}

double to_double(const Value& number) {
  return number.is(Value::Kind::kFloat) ? number.number() : static_cast<double>(number.integral());
}

std::string integer_text(Integer value) {
  return fmt::format("{}", value);
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view scientific(buffer, static_cast<size_t>(end - buffer));
  const size_t e = scientific.find('e');
  int exponent = 0;
  const std::string_view power = scientific.substr(e + 1);
  std::from_chars(power.data() + (power[0] == '+' ? 1 : 0), power.data() + power.size(), exponent);
  std::string digits;
  for (const char c : scientific.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  const std::string minus = scientific[0] == '-' ? "-" : "";
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    std::string text = minus + digits[0];
    if (count > 1) text += "." + digits.substr(1);
    return fmt::format("{}e{}{:02}", text, exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) {
    return minus + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  }
  if (count <= exponent + 1) {
    return minus + digits + std::string(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  }
  const auto whole = static_cast<size_t>(exponent + 1);
  return minus + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::optional<Integer> parse_integer(std::string_view text, int base) {
  std::string plain = ascii_number(text);
  bool negative = false;
  if (!plain.empty() && (plain[0] == '-' || plain[0] == '+')) {
    negative = plain[0] == '-';
    plain.erase(0, 1);
  }
  const auto has_prefix = [&](char lower) {
    return plain.size() > 1 && plain[0] == '0' && (plain[1] | 0x20) == lower;
  };
  const auto cut_prefix = [&] {
    plain.erase(0, 2);
    if (!plain.empty() && plain[0] == '_') plain.erase(0, 1);
  };
  const bool guess = base == 0;
  if (has_prefix('x') && (guess || base == 16)) {
    cut_prefix();
    base = 16;
  } else if (has_prefix('o') && (guess || base == 8)) {
    cut_prefix();
    base = 8;
  } else if (has_prefix('b') && (guess || base == 2)) {
    cut_prefix();
    base = 2;
  } else if (guess) {
    base = 10;
    if (plain.size() > 1 && plain[0] == '0' && plain.find_first_not_of("0_") != std::string::npos) {
      return std::nullopt;
    }
  }
  if (base < 2 || base > 36 || plain.empty() || !remove_underscores(plain)) return std::nullopt;
  Integer value = 0;
  for (const char c : plain) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 10
                      : c >= 'A' && c <= 'Z' ? c - 'A' + 10
                                             : 99;
    if (digit >= base) return std::nullopt;
    value = value * base + digit;
    if (value > std::numeric_limits<uint64_t>::max()) {
      fail("the integer '{}' has more than 64 bits", text.substr(0, 40));
    }
  }
  return negative ? -value : value;
}

std::optional<double> parse_float(std::string_view text) {
  std::string plain = ascii_number(text);
  if (!remove_underscores(plain)) return std::nullopt;
  const char* begin = plain.data();
  const char* end = begin + plain.size();
  const bool negative = begin != end && *begin == '-';
  if (begin != end && (*begin == '-' || *begin == '+')) ++begin;
  if (begin == end || *begin == '-' || *begin == '+') return std::nullopt;
  std::string lower;
  for (const char* c = begin; c != end; ++c)
    lower += static_cast<char>(*c | 0x20);
  double value = 0;
  if (lower == "inf" || lower == "infinity") {
    value = std::numeric_limits<double>::infinity();
  } else if (lower == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (lower[0] != '.' && (lower[0] < '0' || lower[0] > '9')) return std::nullopt;
    const auto [last, error] = std::from_chars(begin, end, value);
    if (last != end) return std::nullopt;
    if (error == std::errc::result_out_of_range) {
      // Too large or too small: the sign of the exponent tells which.
      const size_t e = lower.find('e');
      const bool small = e != std::string::npos && lower[e + 1] == '-';
      value = small ? 0 : std::numeric_limits<double>::infinity();
    } else if (error != std::errc{}) {
      return std::nullopt;
    }
  }
  return negative ? -value : value;
}

int64_t to_index(const Value& value, std::string_view what) {
  if (!value.is_integral()) {
    if (value.is_undefined()) fail("{}", describe(value.undefined()));
    fail("{} must be an integer, not '{}'", what, type_name(value));
  }
  const Integer integer = value.integral();
  if (integer > std::numeric_limits<int64_t>::max()) return std::numeric_limits<int64_t>::max();
  if (integer < std::numeric_limits<int64_t>::min()) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(integer);
}

double round_half_even(double value, int64_t digits) {
  if (!std::isfinite(value) || value == 0 || digits > 323) return value;
  if (digits < -308) return std::copysign(0.0, value);
  // Printed with that many digits: the conversion rounds the exact decimal value, half to even.
  if (digits >= 0) {
    double rounded = 0;
    const std::string text = fmt::format("{:.{}f}", value, static_cast<int>(digits));
    std::from_chars(text.data(), text.data() + text.size(), rounded);
    return rounded;
  }
  const double power = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(value / power) * power;
}

}  // namespace windrow::jinja
