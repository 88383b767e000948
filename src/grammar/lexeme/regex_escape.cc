#include "grammar/lexeme/regex_escape.h"

#include <fmt/format.h>

#include <optional>

#include "grammar/lexeme/regex_tree.h"
#include "grammar/lexeme/utf8.h"

namespace windrow::grammar {
namespace {

std::optional<uint32_t> hex_value(char32_t digit) {
  if (digit >= U'0' && digit <= U'9') return digit - U'0';
  if (digit >= U'a' && digit <= U'f') return digit - U'a' + 10;
  if (digit >= U'A' && digit <= U'F') return digit - U'A' + 10;
  return std::nullopt;
}

bool is_letter(char32_t character) {
  return (character >= U'a' && character <= U'z') || (character >= U'A' && character <= U'Z');
}

CharSet digits() {
  return CharSet({{U'0', U'9'}});
}

CharSet word() {
  return CharSet({{U'0', U'9'}, {U'A', U'Z'}, {U'_', U'_'}, {U'a', U'z'}});
}

// WhiteSpace and LineTerminator of ECMA-262.
CharSet blanks() {
  return CharSet({{0x09, 0x0D},
                  {0x20, 0x20},
                  {0xA0, 0xA0},
                  {0x1680, 0x1680},
                  {0x2000, 0x200A},
                  {0x2028, 0x2029},
                  {0x202F, 0x202F},
                  {0x205F, 0x205F},
                  {0x3000, 0x3000},
                  {0xFEFF, 0xFEFF}});
}

std::optional<CharSet> class_of(char32_t letter) {
  switch (letter) {
    case U'd':
      return digits();
    case U'D':
      return ~digits();
    case U'w':
      return word();
    case U'W':
      return ~word();
    case U's':
      return blanks();
    case U'S':
      return ~blanks();
    default:
      return std::nullopt;
  }
}

std::optional<char32_t> control_of(char32_t letter) {
  switch (letter) {
    case U't':
      return U'\t';
    case U'n':
      return U'\n';
    case U'v':
      return U'\v';
    case U'f':
      return U'\f';
    case U'r':
      return U'\r';
    default:
      return std::nullopt;
  }
}

class EscapeParser {
 public:
  EscapeParser(RegexCursor& cursor, bool in_class)
      : cursor_(cursor), in_class_(in_class), at_(cursor.place() - 1) {}

  Result<RegexEscape> parse() {
    if (cursor_.at_end()) return refuse("a backslash at the end; write \\\\ for the sign itself");
    const char32_t letter = cursor_.text[cursor_.next++];
    if (const auto set = class_of(letter)) return RegexEscape{*set, true};
    if (const auto control = control_of(letter)) return one(*control);
    switch (letter) {
      case U'x':
        return digits_of(2, "\\x");
      case U'u':
        return parse_unicode();
      case U'c':
        return parse_control();
      case U'0':
        if (!cursor_.at_end() && cursor_.text[cursor_.next] >= U'0' &&
            cursor_.text[cursor_.next] <= U'9')
          return refuse("an octal escape; write \\xHH");
        return one(0);
      case U'b':
      case U'B':
        if (in_class_ && letter == U'b') return one(U'\b');
        return refuse(fmt::format(
            "\\{}, a word boundary, cannot be enforced; say with classes what stands beside it",
            static_cast<char>(letter)));
      case U'p':
      case U'P':
        return refuse(
            fmt::format("\\{}{{...}}, a property of Unicode, cannot be enforced; write "
                        "the ranges of characters in [...]",
                        static_cast<char>(letter)));
      case U'k':
        return refuse("\\k, a back reference, cannot be enforced; write the text or its pattern");
      default:
        break;
    }
    if (letter >= U'1' && letter <= U'9')
      return refuse("a back reference cannot be enforced; write the text or its pattern again");
    if (is_letter(letter)) {
      return refuse(fmt::format(
          "\\{0} is no escape of ECMA-262; for the letter itself write it without the backslash",
          static_cast<char>(letter)));
    }
    return one(letter);  // any sign
  }

 private:
  Error refuse(std::string_view what) const { return regex_error(at_, what); }

  Result<RegexEscape> one(char32_t character) const {
    return RegexEscape{CharSet::one(character), false};
  }

  std::optional<uint32_t> take_hex(size_t count) {
    if (cursor_.text.size() - cursor_.next < count) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < count; ++i) {
      const auto digit = hex_value(cursor_.text[cursor_.next + i]);
      if (!digit) return std::nullopt;
      value = value * 16 + *digit;
    }
    cursor_.next += count;
    return value;
  }

  Result<RegexEscape> digits_of(size_t count, std::string_view name) {
    const auto value = take_hex(count);
    if (!value) return refuse(fmt::format("{} wants {} hexadecimal digits", name, count));
    return one(*value);
  }

  Result<RegexEscape> parse_unicode() {
    if (cursor_.take(U'{')) return parse_braced();
    const auto value = take_hex(4);
    if (!value) return refuse("\\u wants 4 hexadecimal digits, or some in braces");
    if (*value < 0xD800 || *value > 0xDFFF) return one(*value);
    if (*value < 0xDC00 && cursor_.looks_at(U"\\u")) {
      cursor_.next += 2;
      const auto low = take_hex(4);
      if (low && *low >= 0xDC00 && *low <= 0xDFFF)
        return one(0x10000 + ((*value - 0xD800) << 10) + (*low - 0xDC00));
    }
    return refuse("half of a surrogate pair is no character; write the character or \\u{...}");
  }

  Result<RegexEscape> parse_braced() {
    uint32_t value = 0;
    bool any = false;
    while (!cursor_.take(U'}')) {
      const auto digit = cursor_.at_end() ? std::nullopt : hex_value(cursor_.text[cursor_.next]);
      if (!digit) return refuse("\\u{...} wants hexadecimal digits and a closing brace");
      ++cursor_.next;
      any = true;
      value = value * 16 + *digit;
      if (value > 0x10FFFF) return refuse("\\u{...} goes up to 10FFFF");
    }
    if (!any) return refuse("\\u{} wants hexadecimal digits");
    if (value >= 0xD800 && value <= 0xDFFF)
      return refuse("half of a surrogate pair is no character");
    return one(value);
  }

  Result<RegexEscape> parse_control() {
    if (cursor_.at_end() || !is_letter(cursor_.text[cursor_.next]))
      return refuse("\\c wants a letter");
    return one(cursor_.text[cursor_.next++] % 32);
  }

  RegexCursor& cursor_;
  bool in_class_;
  uint32_t at_;
};

}  // namespace

Result<RegexEscape> parse_regex_escape(RegexCursor& cursor, bool in_class) {
  return EscapeParser(cursor, in_class).parse();
}

}  // namespace windrow::grammar
