#include "jinja/number.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "jinja/failure.h"
#include "jinja/runtime.h"
#include "jinja/string_format.h"
#include "jinja/text_functions.h"
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

// Python reads digits of all scripts; this replaces them by ASCII ones.
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

// Removes underscores between digits; returns false if there are others.
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

// --- operators: a + b and its kin, with the types Python gives them ------------------------------

namespace {

constexpr const char* kSymbols[] = {"+", "-", "*", "/", "//", "%", "**"};

[[noreturn]] void refuse(Operator op, const Value& a, const Value& b) {
  for (const Value* side : {&a, &b}) {
    if (side->is_undefined()) fail("{}", describe(side->undefined()));
  }
  fail("'{}' is not possible between '{}' and '{}'", kSymbols[static_cast<size_t>(op)],
       type_name(a), type_name(b));
}

Origin origin_of(const Value& a, const Value& b) {
  return a.origin() == Origin::kInput || b.origin() == Origin::kInput ? Origin::kInput
                                                                      : Origin::kTemplate;
}

Integer floor_divide(Integer a, Integer b) {
  const Integer quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

double float_modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) rest += b;
  } else {
    rest = std::copysign(0.0, b);
  }
  return rest;
}

double float_floor_divide(double a, double b) {
  const double rest = float_modulo(a, b);
  const double quotient = (a - rest) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

Value integer_power(Runtime& runtime, Integer base, Integer exponent, Origin origin) {
  if (exponent < 0) {
    if (base == 0) fail("zero cannot be raised to a negative power");
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)))
        .with_origin(origin);
  }
  if (base == 0 || base == 1) return Value(exponent == 0 ? Integer{1} : base).with_origin(origin);
  if (base == -1) return Value(exponent % 2 == 0 ? Integer{1} : base).with_origin(origin);
  if (exponent > 64) fail("the result has more than 64 bits");
  Integer result = 1;
  for (Integer i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(result, base, &result)) fail("the result has more than 64 bits");
  }
  return runtime.integer(result, origin);
}

Value integer_operation(Runtime& runtime, Operator op, Integer a, Integer b, Origin origin) {
  const bool divides =
      op == Operator::kDivide || op == Operator::kFloorDivide || op == Operator::kModulo;
  if (divides && b == 0) fail("division by zero");
  Integer result = 0;
  switch (op) {
    case Operator::kAdd:
      result = a + b;
      break;
    case Operator::kSubtract:
      result = a - b;
      break;
    case Operator::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) fail("the result has more than 64 bits");
      break;
    case Operator::kDivide:
      return Value(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)))
          .with_origin(origin);
    case Operator::kFloorDivide:
      result = floor_divide(a, b);
      break;
    case Operator::kModulo:
      result = a - floor_divide(a, b) * b;
      break;
    case Operator::kPower:
      return integer_power(runtime, a, b, origin);
  }
  return runtime.integer(result, origin);
}

double float_operation(Operator op, double a, double b) {
  const bool divides =
      op == Operator::kDivide || op == Operator::kFloorDivide || op == Operator::kModulo;
  if (divides && b == 0) fail("division by zero");
  switch (op) {
    case Operator::kAdd:
      return a + b;
    case Operator::kSubtract:
      return a - b;
    case Operator::kMultiply:
      return a * b;
    case Operator::kDivide:
      return a / b;
    case Operator::kFloorDivide:
      return float_floor_divide(a, b);
    case Operator::kModulo:
      return float_modulo(a, b);
    case Operator::kPower:
      break;
  }
  if (a == 0 && b < 0) fail("zero cannot be raised to a negative power");
  const double result = std::pow(a, b);
  if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) {
    fail("the result of this power is no real number");
  }
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) fail("the result is too large");
  return result;
}

Value add_texts(Runtime& runtime, const TextPtr& a, const TextPtr& b) {
  const bool markup = a->markup() || b->markup();
  TextBuilder out(runtime.budget);
  for (const TextPtr& part : {a, b}) {
    if (markup && !part->markup()) {
      append_escaped(out, *part);
    } else {
      out.append(*part);
    }
  }
  out.set_markup(markup);
  return Value(out.finish());
}

Value repeat(Runtime& runtime, const Value& sequence, const Value& times) {
  const int64_t count = std::max<int64_t>(0, to_index(times, "a count"));
  if (sequence.is_text()) {
    const Text& text = *sequence.text();
    TextBuilder out(runtime.budget);
    out.set_markup(text.markup());
    for (int64_t i = 0; i < count && !text.empty(); ++i)
      out.append(text);
    return Value(out.finish());
  }
  std::vector<Value> items;
  const auto& source = sequence.list().items();
  for (int64_t i = 0; i < count && !source.empty(); ++i) {
    runtime.budget.spend(source.size() * 3);
    items.insert(items.end(), source.begin(), source.end());
  }
  return runtime.list(std::move(items),
                      sequence.list().is_tuple() ? ListKind::kTuple : ListKind::kList);
}

Value add_lists(Runtime& runtime, const List& a, const List& b) {
  runtime.budget.spend((a.items().size() + b.items().size()) * 3);
  std::vector<Value> items = a.items();
  items.insert(items.end(), b.items().begin(), b.items().end());
  const bool input = a.origin() == Origin::kInput || b.origin() == Origin::kInput;
  return runtime.list(std::move(items), a.is_tuple() ? ListKind::kTuple : ListKind::kList,
                      input ? Origin::kInput : Origin::kTemplate);
}

}  // namespace

Value binary(Runtime& runtime, Operator op, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    const Origin origin = origin_of(a, b);
    if (a.is_integral() && b.is_integral()) {
      return integer_operation(runtime, op, a.integral(), b.integral(), origin);
    }
    return Value(float_operation(op, to_double(a), to_double(b))).with_origin(origin);
  }
  const auto is_sequence = [](const Value& v) { return v.is_text() || v.is_list_or_tuple(); };
  if (op == Operator::kAdd) {
    if (a.is_text() && b.is_text()) return add_texts(runtime, a.text(), b.text());
    if (a.is_list_or_tuple() && b.is_list_or_tuple() &&
        a.list().is_tuple() == b.list().is_tuple()) {
      return add_lists(runtime, a.list(), b.list());
    }
  } else if (op == Operator::kMultiply) {
    if (is_sequence(a) && b.is_integral()) return repeat(runtime, a, b);
    if (a.is_integral() && is_sequence(b)) return repeat(runtime, b, a);
  } else if (op == Operator::kModulo && a.is_text()) {
    return percent_format(runtime, *a.text(), b);
  }
  refuse(op, a, b);
}

Value negate(Runtime& runtime, const Value& value) {
  if (value.is_integral()) return runtime.integer(-value.integral(), value.origin());
  if (value.is(Value::Kind::kFloat)) return Value(-value.number()).with_origin(value.origin());
  if (value.is_undefined()) fail("{}", describe(value.undefined()));
  fail("'-' is not possible before '{}'", type_name(value));
}

Value positive(Runtime& runtime, const Value& value) {
  if (value.is_integral()) return runtime.integer(value.integral(), value.origin());
  if (value.is(Value::Kind::kFloat)) return value;
  if (value.is_undefined()) fail("{}", describe(value.undefined()));
  fail("'+' is not possible before '{}'", type_name(value));
}

}  // namespace windrow::jinja
