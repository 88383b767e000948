#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "grammar/lexeme/regex_escape.h"
#include "grammar/lexeme/regex_tree.h"
#include "grammar/lexeme/utf8.h"

namespace windrow::grammar {
namespace {

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
  const auto characters = characters_of(pattern);
  if (!characters) return Error{ErrorKind::kInvalid, "the pattern is not UTF-8"};
  return RegexParser(*characters).parse();
}

}  // namespace windrow::grammar
