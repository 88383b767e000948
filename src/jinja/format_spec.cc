#include "jinja/string_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "jinja/failure.h"
#include "jinja/number.h"
#include "jinja/runtime.h"
#include "jinja/text_functions.h"
#include "jinja/unicode.h"

namespace windrow::jinja {
namespace {

constexpr int64_t kWidthMax = 1'000'000;
constexpr int64_t kPrecisionMax = 400;

bool is_align(char c) {
  return c == '<' || c == '>' || c == '^' || c == '=';
}

std::string with_separators(const std::string& digits, char separator, size_t group) {
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % group == 0) text += separator;
    text += digits[i];
  }
  return text;
}

// sign + prefix + digits, filled up to the width.
std::string in_field(std::string sign, std::string digits, std::string rest, const FormatSpec& spec,
                     size_t group) {
  const char align = spec.align != '\0' ? spec.align : spec.zero ? '=' : '>';
  const std::string fill = spec.zero && spec.align == '\0' ? "0" : spec.fill;
  const auto total = [&](const std::string& whole) {
    return static_cast<int64_t>(sign.size() + whole.size() + rest.size());
  };
  std::string grouped =
      spec.separator != '\0' ? with_separators(digits, spec.separator, group) : digits;
  if (align == '=' && fill == "0" && spec.separator != '\0') {
    // Zeros count as digits, so they are grouped as well.
    size_t count = digits.size();
    const auto length = [&] { return count + (count - 1) / group + sign.size() + rest.size(); };
    while (count > 0 && length() < static_cast<size_t>(spec.width))
      ++count;
    digits.insert(0, count - digits.size(), '0');
    grouped = with_separators(digits, spec.separator, group);
  }
  const int64_t lacking = spec.width - total(grouped);
  const auto filling = [&](int64_t count) {
    std::string text;
    for (int64_t i = 0; i < count; ++i)
      text += fill;
    return text;
  };
  if (lacking <= 0) return sign + grouped + rest;
  switch (align) {
    case '<':
      return sign + grouped + rest + filling(lacking);
    case '^':
      return filling(lacking / 2) + sign + grouped + rest + filling(lacking - lacking / 2);
    case '=':
      return sign + filling(lacking) + grouped + rest;
    default:
      return filling(lacking) + sign + grouped + rest;
  }
}

std::string sign_of(bool negative, const FormatSpec& spec) {
  if (negative) return "-";
  return spec.sign == '-' ? "" : std::string(1, spec.sign);
}

// For "%g": the shortest form with so many digits.
std::string general(double value, int64_t precision, bool alternate, bool upper) {
  const int digits = static_cast<int>(precision == 0 ? 1 : precision);
  if (alternate) {
    return upper ? fmt::format("{:#.{}G}", value, digits) : fmt::format("{:#.{}g}", value, digits);
  }
  return upper ? fmt::format("{:.{}G}", value, digits) : fmt::format("{:.{}g}", value, digits);
}

}  // namespace

FormatSpec parse_format_spec(std::string_view text) {
  FormatSpec spec;
  size_t at = 0;
  const auto peek = [&] { return at < text.size() ? text[at] : '\0'; };
  if (!text.empty()) {
    size_t next = 0;
    next_character(text, next);
    if (next < text.size() && is_align(text[next])) {
      spec.fill = text.substr(0, next);
      spec.align = text[next];
      at = next + 1;
    } else if (is_align(text[0])) {
      spec.align = text[0];
      at = 1;
    }
  }
  if (peek() == '+' || peek() == '-' || peek() == ' ') spec.sign = text[at++];
  if (peek() == 'z') ++at;
  if (peek() == '#') {
    spec.alternate = true;
    ++at;
  }
  if (peek() == '0') {
    spec.zero = true;
    if (spec.align != '\0' && spec.fill == " ") spec.fill = "0";
    ++at;
  }
  const auto number = [&](int64_t most) {
    int64_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = value * 10 + (text[at++] - '0');
      if (value > most) fail("the format '{}' asks for too many characters", text);
    }
    return value;
  };
  spec.width = number(kWidthMax);
  if (peek() == ',' || peek() == '_') spec.separator = text[at++];
  if (peek() == '.') {
    ++at;
    if (peek() < '0' || peek() > '9') fail("the format '{}' lacks its precision", text);
    spec.precision = number(kWidthMax);
  }
  if (at < text.size()) spec.type = text[at++];
  if (at < text.size()) fail("'{}' is no valid format", text);
  return spec;
}

std::string format_integer(Integer value, const FormatSpec& spec) {
  const bool negative = value < 0;
  __extension__ using Magnitude = unsigned __int128;
  auto rest = static_cast<Magnitude>(negative ? -value : value);
  unsigned base = 10;
  std::string prefix;
  switch (spec.type) {
    case 'b':
      base = 2;
      prefix = "0b";
      break;
    case 'o':
      base = 8;
      prefix = "0o";
      break;
    case 'x':
      base = 16;
      prefix = "0x";
      break;
    case 'X':
      base = 16;
      prefix = "0X";
      break;
    default:
      break;
  }
  std::string digits;
  do {
    const auto digit = static_cast<unsigned>(rest % base);
    digits +=
        static_cast<char>(digit < 10 ? '0' + digit : (spec.type == 'X' ? 'A' : 'a') + (digit - 10));
    rest /= base;
  } while (rest != 0);
  std::reverse(digits.begin(), digits.end());
  std::string sign = sign_of(negative, spec);
  if (spec.alternate) sign += prefix;
  return in_field(std::move(sign), std::move(digits), "", spec, base == 10 ? 3 : 4);
}

std::string format_float(double value, const FormatSpec& spec) {
  const bool negative = std::signbit(value) && !std::isnan(value);
  const double magnitude = std::fabs(value);
  const char type = static_cast<char>(spec.type | 0x20);
  const bool upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
  if (spec.precision > kPrecisionMax) fail("a precision of {} is too much", spec.precision);
  const int precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
  std::string text;
  if (!std::isfinite(value)) {
    text = std::isnan(value) ? "nan" : "inf";
    if (upper) text = std::isnan(value) ? "NAN" : "INF";
  } else if (spec.type == '%') {
    text = fmt::format("{:.{}f}", magnitude * 100, precision);
  } else if (type == 'f') {
    text = fmt::format("{:.{}f}", magnitude, precision);
  } else if (type == 'e') {
    text = upper ? fmt::format("{:.{}E}", magnitude, precision)
                 : fmt::format("{:.{}e}", magnitude, precision);
  } else if (type == 'g' || type == 'n') {
    text = general(magnitude, precision, spec.alternate, upper);
  } else if (spec.precision < 0) {
    text = float_text(magnitude);
  } else {
    // As 'g', but it looks like a float.
    text = general(magnitude, spec.precision, false, false);
    const size_t e = text.find('e');
    if (e == std::string::npos && text.find('.') == std::string::npos) text += ".0";
  }
  const size_t end_of_whole = std::min(text.find_first_not_of("0123456789"), text.size());
  std::string rest = text.substr(end_of_whole);
  text.resize(end_of_whole);
  if (text.empty()) std::swap(text, rest);  // inf and nan
  if (spec.type == '%') rest += '%';
  return in_field(sign_of(negative, spec), text, rest, spec, 3);
}

void append_padded(Runtime& runtime, TextBuilder& out, const TextPtr& text, const FormatSpec& spec,
                   char default_align) {
  TextPtr shown = text;
  if (spec.precision >= 0 && static_cast<uint64_t>(spec.precision) < text->length()) {
    shown = part_of(runtime, text, 0, text->position_of(static_cast<size_t>(spec.precision)));
  }
  const int64_t lacking = std::max<int64_t>(0, spec.width - static_cast<int64_t>(shown->length()));
  const char align = spec.align != '\0' ? spec.align : default_align;
  if (align == '=') fail("'=' aligns numbers only");
  const int64_t left = align == '<' ? 0 : align == '^' ? lacking / 2 : lacking;
  const std::string& fill = spec.zero && spec.align == '\0' ? "0" : spec.fill;
  for (int64_t i = 0; i < left; ++i)
    out.append(fill, Origin::kTemplate);
  out.append(*shown);
  for (int64_t i = left; i < lacking; ++i)
    out.append(fill, Origin::kTemplate);
}

void append_formatted(Runtime& runtime, TextBuilder& out, const Value& value,
                      const FormatSpec& spec) {
  const bool plain = spec.type == '\0';
  if (value.is_text()) {
    if (!plain && spec.type != 's') fail("a string has no format '{}'", spec.type);
    if (spec.sign != '-' || spec.separator != '\0' || spec.alternate) {
      fail("this format is for numbers, not for strings");
    }
    return append_padded(runtime, out, value.text(), spec, '<');
  }
  const Origin origin = value.origin();
  constexpr std::string_view kFloatTypes = "eEfFgGn%";
  if (value.is_integral()) {
    if (kFloatTypes.find(spec.type) != std::string_view::npos && !plain && spec.type != 'n') {
      return out.append(format_float(to_double(value), spec), origin);
    }
    if (spec.type == 'c') {
      const int64_t code = to_index(value, "a character");
      if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
        fail("{} is no character", code);
      }
      std::string character;
      append_utf8(character, static_cast<char32_t>(code));
      // A character made from a number counts as input: the template did not write it.
      const auto text = std::make_shared<const Text>(character, Origin::kInput);
      return append_padded(runtime, out, text, spec, '<');
    }
    if (!plain && std::string_view("bdoxXn").find(spec.type) == std::string_view::npos) {
      fail("an integer has no format '{}'", spec.type);
    }
    if (spec.precision >= 0) fail("an integer has no precision");
    if (value.is(Value::Kind::kBool) && plain && spec.width == 0 && spec.align == '\0' &&
        spec.separator == '\0' && spec.sign == '-' && !spec.alternate && !spec.zero) {
      return out.append(value.boolean() ? "True" : "False", origin);
    }
    return out.append(format_integer(value.integral(), spec), origin);
  }
  if (value.is(Value::Kind::kFloat)) {
    if (!plain && kFloatTypes.find(spec.type) == std::string_view::npos) {
      fail("a float has no format '{}'", spec.type);
    }
    return out.append(format_float(value.number(), spec), origin);
  }
  fail("'{}' object has no format", type_name(value));
}

}  // namespace windrow::jinja
