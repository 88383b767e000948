#include "grammar/gbnf.h"

#include <fmt/format.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "grammar/lexeme/byte_dfa.h"
#include "grammar/lexeme/char_dfa.h"

namespace windrow::grammar {
namespace {

constexpr int kGbnfDepthMax = 200;  // nested parentheses
constexpr uint32_t kRepeatMax = 1'000'000;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_';
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Functions that read something return nothing when it is wrong; then error_ says what.
class Parser {
 public:
  Parser(GrammarBuilder& builder, std::string_view text, const GrammarLimits& limits)
      : builder_(builder), text_(text), limits_(limits) {}

  Result<Part> run() {
    skip();
    while (!error_ && at_ < text_.size())
      read_rule();
    if (error_) return *error_;
    const auto root = rules_.find("root");
    if (root == rules_.end()) {
      return Error{ErrorKind::kInvalid, rules_.empty()
                                            ? "the grammar is empty; it needs a rule \"root\""
                                            : "there is no rule \"root\", which is what the text "
                                              "has to be"};
    }
    for (const auto& [name, rule] : rules_) {
      if (!rule.defined)
        return wrong(fmt::format("the rule \"{}\" is used here, but not defined", name), rule.at);
    }
    return root->second.part;
  }

 private:
  struct Rule {
    Part part;
    bool defined = false;
    size_t at = 0;  // where it was met first
  };

  // --- places and errors ---

  Error wrong(std::string_view what, size_t at) const {
    size_t line = 1;
    size_t column = 1;
    for (size_t i = 0; i < at; ++i) {
      if (text_[i] == '\n') {
        ++line;
        column = 1;
      } else if ((static_cast<uint8_t>(text_[i]) & 0xC0) != 0x80) {
        ++column;
      }
    }
    return {ErrorKind::kInvalid, fmt::format("line {}, column {}: {}", line, column, what)};
  }

  std::nullopt_t fail(std::string_view what, size_t at) {
    if (!error_) error_ = wrong(what, at);
    return std::nullopt;
  }
  std::nullopt_t fail(std::string_view what) { return fail(what, at_); }

  bool at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    if (!at(c)) return false;
    ++at_;
    return true;
  }

  // Blanks, line ends and comments.
  void skip() { at_ = behind_blanks(at_); }
  size_t behind_blanks(size_t at) const {
    for (; at < text_.size(); ++at) {
      if (text_[at] == '#') {
        while (at < text_.size() && text_[at] != '\n')
          ++at;
        if (at == text_.size()) break;
      } else if (!is_blank(text_[at])) {
        break;
      }
    }
    return at;
  }

  // --- rules ---

  size_t name_end(size_t at) const {
    while (at < text_.size() && is_name(text_[at]))
      ++at;
    return at;
  }

  // The end of "::=", ":=" or ":" at a place.
  std::optional<size_t> define_end(size_t at) const {
    for (const std::string_view sign : {"::=", ":=", ":"}) {
      if (text_.substr(at).starts_with(sign)) return at + sign.size();
    }
    return std::nullopt;
  }

  // Whether a rule begins here: a name and a sign of definition.
  bool begins_rule() const {
    const size_t end = name_end(at_);
    return end > at_ && define_end(behind_blanks(end)).has_value();
  }

  Rule& rule(std::string_view name, size_t at) {
    const auto [found, added] = rules_.try_emplace(std::string(name));
    if (added) found->second = {.part = builder_.rule(std::string(name)), .at = at};
    return found->second;
  }

  void read_rule() {
    const size_t begin = at_;
    const size_t end = name_end(at_);
    if (end == begin) {
      fail("a rule is expected here: name ::= ...");
      return;
    }
    at_ = behind_blanks(end);
    const std::optional<size_t> behind = define_end(at_);
    if (!behind) {
      fail(at('=') ? "a rule is defined by ::=, not by ="
                   : "\"::=\" is expected behind the name of a rule");
      return;
    }
    const std::string_view name = text_.substr(begin, end - begin);
    Rule& defined = rule(name, begin);
    if (std::exchange(defined.defined, true)) {
      fail(fmt::format("the rule \"{}\" is defined twice", name), begin);
      return;
    }
    const Part part = defined.part;
    at_ = *behind;
    const std::optional<Part> body = read_choice(0);
    if (!body) return;
    builder_.define(part, *body);
    if (take(';')) skip();
    if (at_ == text_.size() || begins_rule()) return;
    fail(at(')') ? "this ) closes nothing" : unexpected());
  }

  std::string unexpected() const {
    return fmt::format("'{}' is not expected here", printed_character());
  }
  std::string printed_character() const {
    std::string_view rest = text_.substr(at_);
    const std::optional<char32_t> character = take_code_point(rest);
    std::string printed;
    if (character) append_utf8(*character, printed);
    return printed;
  }

  std::optional<Part> read_choice(int depth) {
    std::vector<Part> parts;
    do {
      const std::optional<Part> part = read_sequence(depth);
      if (!part) return std::nullopt;
      parts.push_back(*part);
    } while (take('|'));
    return parts.size() == 1 ? parts[0] : builder_.choice(std::move(parts));
  }

  std::optional<Part> read_sequence(int depth) {
    std::vector<Part> parts;
    for (;;) {
      skip();
      if (at_ == text_.size() || at('|') || at(')') || at(';')) break;
      if (is_name(text_[at_]) && begins_rule()) break;  // the next one
      std::optional<Part> part = read_item(depth);
      while (part && read_repetition(*part)) {
      }
      if (!part || error_) return std::nullopt;
      if (builder_.parts_count() > limits_.parts_max) {
        return fail(fmt::format("the grammar is too large; at most {} parts are allowed",
                                limits_.parts_max));
      }
      parts.push_back(*part);
    }
    return parts.size() == 1 ? parts[0] : builder_.sequence(std::move(parts));
  }

  std::optional<Part> read_item(int depth) {
    const char c = text_[at_];
    if (c == '"' || c == '\'') return read_literal();
    if (c == '[') return read_class();
    if (c == '(') return read_group(depth);
    if (c == '.') {
      ++at_;
      return characters(CharSet::all());
    }
    if (is_name(c)) {
      const size_t begin = at_;
      at_ = name_end(at_);
      return rule(text_.substr(begin, at_ - begin), begin).part;
    }
    if (c == '<' || (c == '!' && text_.substr(at_ + 1).starts_with("<")))
      return fail(
          "tokens of a vocabulary (<name>, <[id]>) cannot stand in a grammar; write the text");
    if (c == '*' || c == '+' || c == '?' || c == '{')
      return fail(fmt::format("there is nothing before this {} that it could repeat", c));
    if (c == '/')
      return fail("regular expressions cannot stand in a grammar; use [...] and groups");
    return fail(printed_character().empty() ? "this is not UTF-8" : unexpected());
  }

  std::optional<Part> read_group(int depth) {
    const size_t begin = at_++;
    if (depth == kGbnfDepthMax)
      return fail(fmt::format("more than {} parentheses within each other", kGbnfDepthMax), begin);
    const std::optional<Part> part = read_choice(depth + 1);
    if (!part) return std::nullopt;
    if (!take(')')) {
      if (at_ < text_.size()) return fail(unexpected());
      return fail("this ( is not closed", begin);
    }
    return part;
  }

  // --- repetition ---

  // Whether there was one (or an error).
  bool read_repetition(Part& part) {
    const size_t begin = behind_blanks(at_);
    const char c = begin < text_.size() ? text_[begin] : '\0';
    if (c != '*' && c != '+' && c != '?' && c != '{') return false;
    at_ = begin + 1;
    uint32_t min = c == '+' ? 1 : 0;
    std::optional<uint32_t> max;
    if (c == '?') max = 1;
    if (c == '{' && !read_bounds(begin, min, max)) return false;
    part = builder_.repeat(part, min, max);
    return true;
  }

  size_t behind_spaces(size_t at) const {
    while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t'))
      ++at;
    return at;
  }

  bool read_bounds(size_t begin, uint32_t& min, std::optional<uint32_t>& max) {
    at_ = behind_spaces(at_);
    const std::optional<uint32_t> first = read_number();
    if (error_) return false;
    at_ = behind_spaces(at_);
    min = first.value_or(0);
    max = first;
    if (take(',')) {
      at_ = behind_spaces(at_);
      max = read_number();
      if (error_) return false;
      at_ = behind_spaces(at_);
      if (!first && !max) fail("{,} has no bound; write *", begin);
    } else if (!first) {
      fail("a number is expected behind {");
    }
    if (!error_ && !take('}')) fail("} is expected here: {n}, {n,} or {n,m}");
    if (!error_ && max && *max < min)
      fail(fmt::format("at least {} times, but at most {}", min, *max), begin);
    return !error_;
  }

  std::optional<uint32_t> read_number() {
    const size_t begin = at_;
    uint32_t value = 0;
    while (at_ < text_.size() && is_digit(text_[at_])) {
      value = value * 10 + static_cast<uint32_t>(text_[at_++] - '0');
      if (value > kRepeatMax)
        return fail(fmt::format("at most {} repetitions are allowed", kRepeatMax), begin);
    }
    if (at_ == begin) return std::nullopt;
    return value;
  }

  // --- characters ---

  std::optional<Part> read_literal() {
    const size_t begin = at_;
    const char quote = text_[at_++];
    std::string bytes;
    while (!take(quote)) {
      if (at_ == text_.size()) return fail("this text is not closed", begin);
      const std::optional<char32_t> character = read_character();
      if (!character) return std::nullopt;
      append_utf8(*character, bytes);
    }
    return builder_.text(bytes);
  }

  std::optional<Part> read_class() {
    const size_t begin = at_++;
    const bool all_but = take('^');
    std::vector<CharRange> ranges;
    while (!take(']')) {
      if (at_ == text_.size()) return fail("this [ is not closed", begin);
      const size_t range_begin = at_;
      const std::optional<char32_t> first = read_character();
      if (!first) return std::nullopt;
      std::optional<char32_t> last = first;
      if (at('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        last = read_character();
        if (!last) return std::nullopt;
      }
      if (*last < *first) return fail("this range is empty: its end comes before it", range_begin);
      ranges.push_back({*first, *last});
    }
    const CharSet set = all_but ? ~CharSet(std::move(ranges)) : CharSet(std::move(ranges));
    if (set.empty()) return fail("this class has no characters", begin);
    return characters(set);
  }

  Part characters(const CharSet& set) {
    std::string key;
    for (const CharRange& range : set.ranges()) {
      append_utf8(range.first, key);
      append_utf8(range.last, key);
    }
    std::shared_ptr<const ByteDfa>& dfa = classes_[key];
    if (dfa == nullptr) dfa = utf8_dfa(CharDfa::one_of(set));
    return builder_.lexeme(dfa);
  }

  // One character of a text or a class, maybe written as an escape.
  std::optional<char32_t> read_character() {
    const size_t begin = at_;
    if (!take('\\')) {
      std::string_view rest = text_.substr(at_);
      const std::optional<char32_t> character = take_code_point(rest);
      if (!character) return fail("this is not UTF-8");
      at_ = text_.size() - rest.size();
      return character;
    }
    if (at_ == text_.size()) return fail("an escape is expected behind \\", begin);
    const char c = text_[at_++];
    switch (c) {
      case 'x':
        return read_hex(begin, 2);
      case 'u':
        return read_hex(begin, 4);
      case 'U':
        return read_hex(begin, 8);
      case 'n':
        return U'\n';
      case 't':
        return U'\t';
      case 'r':
        return U'\r';
      case '\\':
      case '"':
      case '\'':
      case '[':
      case ']':
      case '-':
      case '^':
        return static_cast<char32_t>(c);
      default:
        return fail(
            "there is no such escape; \\n, \\r, \\t, \\\\, \\\", \\[, \\], \\xHH, \\uHHHH and "
            "\\UHHHHHHHH are known",
            begin);
    }
  }

  std::optional<char32_t> read_hex(size_t begin, int digits) {
    uint64_t value = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const int digit = at_ < text_.size() ? hex_digit(text_[at_]) : -1;
      if (digit < 0)
        return fail(fmt::format("{} hexadecimal digits are expected in this escape", digits),
                    begin);
      value = value << 4 | static_cast<uint64_t>(digit);
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
      return fail("this escape is no character of Unicode", begin);
    return static_cast<char32_t>(value);
  }

  GrammarBuilder& builder_;
  std::string_view text_;
  size_t at_ = 0;
  GrammarLimits limits_;
  std::map<std::string, Rule, std::less<>> rules_;
  std::map<std::string, std::shared_ptr<const ByteDfa>> classes_;
  std::optional<Error> error_;
};

}  // namespace

Result<std::shared_ptr<const Grammar>> parse_gbnf(std::string_view text,
                                                  const GrammarLimits& limits) {
  GrammarBuilder builder;
  const Result<Part> root = gbnf_part(builder, text, limits);
  if (!root) return root.error();
  return builder.finish(*root, limits);
}

Result<Part> gbnf_part(GrammarBuilder& builder, std::string_view text,
                       const GrammarLimits& limits) {
  return Parser(builder, text, limits).run();
}

}  // namespace windrow::grammar
