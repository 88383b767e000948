#include "grammar/lexeme/regex_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/utf8.h"

namespace windrow::grammar {
namespace {

// --- escapes -------------------------------------------------------------------------------------

// A position in a pattern.
struct RegexCursor {
  std::u32string_view text;
  size_t next = 0;

  bool at_end() const { return next == text.size(); }
  bool looks_at(std::u32string_view ahead) const {
    return text.substr(next, ahead.size()) == ahead;
  }
  bool take(char32_t character) {
    if (at_end() || text[next] != character) return false;
    ++next;
    return true;
  }
  // The number of the next character, from 1.
  uint32_t place() const { return static_cast<uint32_t>(next) + 1; }
};

struct RegexEscape {
  CharSet set;
  bool is_class = false;  // \d and the like: cannot end a range
};

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

// The backslash has been taken. In a class (`[...]`) \b is a backspace; outside it is refused.
Result<RegexEscape> parse_regex_escape(RegexCursor& cursor, bool in_class) {
  return EscapeParser(cursor, in_class).parse();
}

// --- the parser ----------------------------------------------------------------------------------

constexpr int kRegexDepthMax = 200;
constexpr uint32_t kRegexCountMax = 1'000'000;  // more would need as many states

using Kind = RegexNode::Kind;

CharSet dot() {
  return ~CharSet({{U'\n', U'\n'}, {U'\r', U'\r'}, {0x2028, 0x2029}});
}

class RegexParser {
 public:
  explicit RegexParser(std::u32string_view text) : cursor_{text} {}

  Result<RegexNode> parse() {
    auto node = parse_choice();
    if (node && !cursor_.at_end()) return refuse("this ) closes no group; write \\) for the sign");
    return node;
  }

 private:
  Error refuse(std::string_view what) const { return regex_error(cursor_.place(), what); }

  char32_t next() const { return cursor_.text[cursor_.next]; }

  RegexNode node(Kind kind) const { return {.kind = kind, .at = cursor_.place()}; }

  Result<RegexNode> parse_choice() {
    RegexNode choice = node(Kind::kChoice);
    do {
      auto sequence = parse_sequence();
      if (!sequence) return sequence;
      choice.parts.push_back(std::move(*sequence));
    } while (cursor_.take(U'|'));
    if (choice.parts.size() == 1) return std::move(choice.parts[0]);
    return choice;
  }

  Result<RegexNode> parse_sequence() {
    RegexNode sequence = node(Kind::kSequence);
    while (!cursor_.at_end() && next() != U'|' && next() != U')') {
      auto term = parse_term();
      if (!term) return term;
      sequence.parts.push_back(std::move(*term));
    }
    return sequence;
  }

  Result<RegexNode> parse_term() {
    auto atom = parse_atom();
    if (!atom || cursor_.at_end()) return atom;
    RegexNode repeat = node(Kind::kRepeat);
    if (cursor_.take(U'*')) {
    } else if (cursor_.take(U'+')) {
      repeat.min = 1;
    } else if (cursor_.take(U'?')) {
      repeat.max = 1;
    } else if (next() == U'{') {
      const auto counted = parse_counts(repeat);
      if (!counted) return counted.error();
      if (!*counted) return atom;
    } else {
      return atom;
    }
    if (atom->kind == Kind::kStart || atom->kind == Kind::kEnd || atom->kind == Kind::kAhead ||
        atom->kind == Kind::kNotAhead)
      return regex_error(repeat.at, "an anchor or a look-ahead cannot be repeated; leave this out");
    cursor_.take(U'?');  // lazy: the same texts
    repeat.parts.push_back(std::move(*atom));
    return repeat;
  }

  // {2}, {2,} or {2,5}. False where the brace begins nothing of the kind and stands for itself.
  Result<bool> parse_counts(RegexNode& repeat) {
    const size_t brace = cursor_.next;
    ++cursor_.next;
    const auto min = take_number();
    const bool comma = cursor_.take(U',');
    const auto max = comma ? take_number() : min;
    if (!cursor_.take(U'}') || (!min && !max)) {
      cursor_.next = brace;
      return false;
    }
    if (!min) {
      return regex_error(repeat.at, fmt::format("ECMA-262 has no {{,{0}}}; write {{0,{0}}}", *max));
    }
    if (max && *max < *min) {
      return regex_error(repeat.at, fmt::format("{{{},{}}}: the first number is the larger one; "
                                                "write the smaller first",
                                                *min, *max));
    }
    if (*min > kRegexCountMax || max.value_or(0) > kRegexCountMax)
      return regex_error(repeat.at, fmt::format("at most {} repetitions", kRegexCountMax));
    repeat.min = *min;
    repeat.max = max;
    return true;
  }

  // More than kCountMax, however much, is kCountMax + 1.
  std::optional<uint32_t> take_number() {
    std::optional<uint32_t> number;
    for (; !cursor_.at_end() && next() >= U'0' && next() <= U'9'; ++cursor_.next)
      number = std::min(number.value_or(0) * 10 + (next() - U'0'), kRegexCountMax + 1);
    return number;
  }

  Result<RegexNode> parse_atom() {
    RegexNode atom = node(Kind::kSet);
    switch (next()) {
      case U'(':
        return parse_group();
      case U'[':
        return parse_class();
      case U'*':
      case U'+':
      case U'?':
        return refuse(fmt::format("nothing stands here to be repeated; write \\{} for the sign",
                                  static_cast<char>(next())));
      case U'^':
        atom.kind = Kind::kStart;
        break;
      case U'$':
        atom.kind = Kind::kEnd;
        break;
      case U'.':
        atom.set = dot();
        break;
      case U'\\': {
        ++cursor_.next;
        auto escape = parse_regex_escape(cursor_, false);
        if (!escape) return escape.error();
        atom.set = std::move(escape->set);
        return atom;
      }
      case U'{': {
        RegexNode counts;
        const auto counted = parse_counts(counts);
        if (!counted) return counted.error();
        if (*counted) {
          return regex_error(atom.at, "nothing stands here to be repeated; write \\{ for the sign");
        }
        atom.set = CharSet::one(U'{');
        break;
      }
      default:
        atom.set = CharSet::one(next());
        break;
    }
    ++cursor_.next;
    return atom;
  }

  Result<RegexNode> parse_group() {
    RegexNode group = node(Kind::kSequence);
    ++cursor_.next;
    if (cursor_.take(U'?')) {
      if (cursor_.take(U'=')) {
        group.kind = Kind::kAhead;
      } else if (cursor_.take(U'!')) {
        group.kind = Kind::kNotAhead;
      } else if (!cursor_.take(U':')) {
        if (auto name = skip_name(group.at); !name) return name.error();
      }
    }
    if (++depth_ > kRegexDepthMax)
      return regex_error(group.at,
                         fmt::format("more than {} groups in each other", kRegexDepthMax));
    auto inner = parse_choice();
    --depth_;
    if (!inner) return inner;
    if (!cursor_.take(U')'))
      return regex_error(group.at, "this group is not closed; write \\( for the sign");
    if (group.kind == Kind::kSequence) return inner;
    group.parts.push_back(std::move(*inner));
    return group;
  }

  // (?<name>; whatever else may stand behind (? is refused.
  Result<void> skip_name(uint32_t at) {
    if (cursor_.looks_at(U"<=") || cursor_.looks_at(U"<!")) {
      return regex_error(at,
                         "a look-behind cannot be enforced; say what stands there as part of "
                         "the pattern");
    }
    if (cursor_.looks_at(U"P<")) return regex_error(at, "a named group is written (?<name>...)");
    if (!cursor_.take(U'<')) {
      return regex_error(at,
                         "this kind of group is not one of ECMA-262; there are (...), "
                         "(?:...), (?<name>...), (?=...) and (?!...)");
    }
    const size_t end = cursor_.text.find(U'>', cursor_.next);
    if (end == std::u32string_view::npos || end == cursor_.next)
      return regex_error(at, "the name of a group is written (?<name>...)");
    cursor_.next = end + 1;
    return {};
  }

  Result<RegexNode> parse_class() {
    RegexNode result = node(Kind::kSet);
    ++cursor_.next;
    const bool inverted = cursor_.take(U'^');
    std::vector<CharRange> ranges;
    const auto add = [&ranges](const CharSet& set) {
      ranges.insert(ranges.end(), set.ranges().begin(), set.ranges().end());
    };
    while (!cursor_.take(U']')) {
      if (cursor_.at_end())
        return regex_error(result.at, "this [ is not closed; write \\[ for the sign");
      const uint32_t at = cursor_.place();
      const auto first = parse_member();
      if (!first) return first.error();
      if (!cursor_.looks_at(U"-") || cursor_.looks_at(U"-]")) {
        add(first->set);
        continue;
      }
      ++cursor_.next;
      if (cursor_.at_end()) continue;
      const auto last = parse_member();
      if (!last) return last.error();
      if (first->is_class || last->is_class) {
        add(first->set);
        add(last->set);
        ranges.push_back({U'-', U'-'});
        continue;
      }
      const CharRange range{first->set.ranges()[0].first, last->set.ranges()[0].first};
      if (range.last < range.first)
        return regex_error(at, "the range's first character is behind its last; swap them");
      ranges.push_back(range);
    }
    result.set = CharSet(std::move(ranges));
    if (inverted) result.set = ~result.set;
    return result;
  }

  Result<RegexEscape> parse_member() {
    const char32_t character = cursor_.text[cursor_.next++];
    if (character == U'\\') return parse_regex_escape(cursor_, true);
    return RegexEscape{CharSet::one(character), false};
  }

  RegexCursor cursor_;
  int depth_ = 0;
};

}  // namespace

Error regex_error(uint32_t at, std::string_view what) {
  return {ErrorKind::kInvalid, fmt::format("character {} of the pattern: {}", at, what)};
}

Result<RegexNode> parse_regex(std::string_view pattern) {
  const auto characters = code_points(pattern);
  if (!characters) return Error{ErrorKind::kInvalid, "the pattern is not UTF-8"};
  return RegexParser(*characters).parse();
}

}  // namespace windrow::grammar
