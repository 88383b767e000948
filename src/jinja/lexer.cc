#include "jinja/lexer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "jinja/failure.h"
#include "jinja/unicode.h"

namespace windrow::jinja {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

class Unescape {
 public:
  Unescape(std::string_view inside, size_t offset) : inside_(inside), offset_(offset) {}

  std::string run() {
    while (at_ < inside_.size()) {
      const size_t slash = inside_.find('\\', at_);
      text_ += inside_.substr(at_, slash - at_);
      if (slash == std::string_view::npos) break;
      at_ = slash + 1;
      read_escape();
    }
    return text_;
  }

 private:
  void read_escape() {
    const char c = inside_[at_++];
    switch (c) {
      case '\n':
        return;
      case 'a':
        return put('\a');
      case 'b':
        return put('\b');
      case 'f':
        return put('\f');
      case 'n':
        return put('\n');
      case 'r':
        return put('\r');
      case 't':
        return put('\t');
      case 'v':
        return put('\v');
      case '\\':
      case '\'':
      case '"':
        return put(c);
      case 'x':
        return append_utf8(text_, read_hex(2));
      case 'u':
        return append_code(read_hex(4));
      case 'U':
        return append_code(read_hex(8));
      case 'N':
        fail_at(offset_, "characters by name (\\N) are not supported; write \\u and its number");
      default:
        break;
    }
    if (c < '0' || c > '7') {
      text_ += '\\';
      text_ += c;
      return;
    }
    auto code = static_cast<char32_t>(c - '0');
    for (int i = 0; i < 2 && at_ < inside_.size() && inside_[at_] >= '0' && inside_[at_] <= '7';
         ++i) {
      code = code * 8 + static_cast<char32_t>(inside_[at_++] - '0');
    }
    append_utf8(text_, code);
  }

  void put(char c) { text_ += c; }

  char32_t read_hex(size_t digits) {
    uint32_t code = 0;
    for (size_t i = 0; i < digits; ++i) {
      const int digit = at_ < inside_.size() ? hex_digit(inside_[at_]) : -1;
      if (digit < 0) fail_at(offset_, "an escape in this string has too few digits");
      code = code * 16 + static_cast<uint32_t>(digit);
      ++at_;
    }
    return code;
  }

  void append_code(char32_t code) {
    const auto is_low = [](char32_t c) { return c >= 0xDC00 && c < 0xE000; };
    if (code >= 0xD800 && code < 0xDC00 && inside_.substr(at_).starts_with("\\u")) {
      at_ += 2;
      const char32_t low = read_hex(4);
      if (is_low(low))
        return append_utf8(text_, 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00));
    }
    if ((code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) {
      fail_at(offset_, "an escape in this string is no character: U+{:04X}",
              static_cast<uint32_t>(code));
    }
    append_utf8(text_, code);
  }

  std::string_view inside_;
  size_t offset_;
  size_t at_ = 0;
  std::string text_;
};

// The value of a string literal with this inside. The escapes are Python's.
std::string unescape_string(std::string_view inside, size_t offset) {
  return Unescape(inside, offset).run();
}

constexpr std::string_view kOperators[] = {"**", "//", "==", "!=", "<=", ">=", "+", "-", "*",
                                           "/",  "%",  "~",  "<",  ">",  "=",  ".", ":", ",",
                                           "|",  "(",  ")",  "[",  "]",  "{",  "}", ";"};

bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (at_ < source_.size())
      read_outside();
    add(Token::Type::kEnd, "", source_.size());
    return std::move(tokens_);
  }

 private:
  bool starts(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  void add(Token::Type type, std::string_view text, size_t offset) {
    tokens_.push_back({type, std::string(text), offset});
  }

  void add_data(size_t begin, size_t end) {
    if (begin < end) add(Token::Type::kData, source_.substr(begin, end - begin), begin);
  }

  size_t skip_space(size_t at) const {
    while (at < source_.size()) {
      size_t next = at;
      if (!is_space(next_character(source_, next))) break;
      at = next;
    }
    return at;
  }

  // The end of text [begin, end) before a tag whose sign is `sign`.
  size_t end_of_data(size_t begin, size_t end, char sign, bool prints) const {
    if (sign == '-') {
      while (end > begin) {
        const size_t before = previous_position(source_, end);
        size_t next = before;
        if (!is_space(next_character(source_, next))) break;
        end = before;
      }
    } else if (sign != '+' && !prints) {
      const std::string_view text = source_.substr(begin, end - begin);
      const size_t line = text.rfind('\n') + 1;  // npos + 1 is 0
      if ((line > 0 || line_starting_) && skip_space(begin + line) >= end) return begin + line;
    }
    return end;
  }

  char sign_at(size_t at) const {
    const char c = at < source_.size() ? source_[at] : '\0';
    return c == '-' || c == '+' ? c : '\0';
  }

  // Text up to the next tag, and the tag.
  void read_outside() {
    const size_t begin = at_;
    size_t open = begin;
    for (;; ++open) {
      open = source_.find('{', open);
      if (open == std::string_view::npos || open + 1 >= source_.size()) {
        add_data(begin, source_.size());
        at_ = source_.size();
        return;
      }
      const char second = source_[open + 1];
      if (second == '%' || second == '{' || second == '#') break;
    }
    const char kind = source_[open + 1];
    const char sign = sign_at(open + 2);
    add_data(begin, end_of_data(begin, open, sign, kind == '{'));
    at_ = open + (sign != '\0' ? 3 : 2);
    if (kind == '#') {
      read_comment(open);
    } else if (kind == '{') {
      add(Token::Type::kPrintBegin, "", open);
      read_inside(Token::Type::kPrintEnd, "}}");
    } else if (!read_raw(open)) {
      add(Token::Type::kTagBegin, "", open);
      read_inside(Token::Type::kTagEnd, "%}");
    }
    line_starting_ = at_ > 0 && source_[at_ - 1] == '\n';
  }

  // Goes behind a tag's end at `at` ("-%}" with the space that follows, "+%}", "%}" with one line
  // end). False when there is none.
  bool pass_end(size_t at, std::string_view close) {
    const bool prints = close == "}}";
    const char sign = sign_at(at);
    if (sign == '+' && prints) return false;
    if (sign != '\0') ++at;
    if (!source_.substr(at).starts_with(close)) return false;
    at_ = at + close.size();
    if (sign == '-') {
      at_ = skip_space(at_);
    } else if (sign == '\0' && !prints && at_ < source_.size() && source_[at_] == '\n') {
      ++at_;
    }
    return true;
  }

  void read_comment(size_t open) {
    // The sign of the opening is no part of the end: "{#-#}" ends.
    for (size_t close = at_;; ++close) {
      close = source_.find("#}", close);
      if (close == std::string_view::npos) fail_at(open, "this comment has no end, '#}}'");
      const bool has_sign = close > at_ && sign_at(close - 1) != '\0';
      if (pass_end(has_sign ? close - 1 : close, "#}")) return;
    }
  }

  bool read_raw(size_t open) {
    size_t at = skip_space(at_);
    if (!source_.substr(at).starts_with("raw")) return false;
    at = skip_space(at + 3);
    const bool strip = at < source_.size() && source_[at] == '-';
    if (strip) ++at;
    if (!source_.substr(at).starts_with("%}")) return false;
    at_ = strip ? skip_space(at + 2) : at + 2;
    line_starting_ = at_ > 0 && source_[at_ - 1] == '\n';
    const size_t begin = at_;
    for (size_t end = begin;; ++end) {
      end = source_.find("{%", end);
      if (end == std::string_view::npos) fail_at(open, "this raw block has no end, endraw");
      const char sign = sign_at(end + 2);
      const size_t word = skip_space(end + (sign != '\0' ? 3 : 2));
      if (!source_.substr(word).starts_with("endraw")) continue;
      if (!pass_end(skip_space(word + 6), "%}")) continue;
      add_data(begin, end_of_data(begin, end, sign, false));
      return true;
    }
  }

  void read_inside(Token::Type end_type, std::string_view close) {
    std::string closers;  // closing brackets of the open ones
    for (;;) {
      at_ = skip_space(at_);
      if (at_ >= source_.size()) {
        fail_at(source_.size(), "unexpected end of the template, expected '{}'", close);
      }
      const size_t begin = at_;
      if (closers.empty() && pass_end(begin, close)) {
        add(end_type, "", begin);
        return;
      }
      const char c = source_[at_];
      if (is_ascii_digit(c)) {
        read_number();
      } else if (c == '"' || c == '\'') {
        read_string();
      } else if (!read_name()) {
        read_operator(closers);
      }
    }
  }

  // [digits with single underscores between them], from `at`; returns its end.
  template <class IsDigit>
  size_t digits_end(size_t at, IsDigit is_one) const {
    size_t end = at;
    while (end < source_.size()) {
      if (is_one(source_[end])) {
        ++end;
      } else if (source_[end] == '_' && end > at && end + 1 < source_.size() &&
                 is_one(source_[end + 1])) {
        end += 2;
      } else {
        break;
      }
    }
    return end;
  }

  void add_number(Token::Type type, size_t end) {
    std::string text(source_.substr(at_, end - at_));
    std::erase(text, '_');
    add(type, text, at_);
    at_ = end;
  }

  void read_number() {
    const size_t begin = at_;
    const bool after_dot = begin > 0 && source_[begin - 1] == '.';
    const size_t whole = digits_end(begin, is_ascii_digit);
    size_t end = whole;
    if (!after_dot) {
      if (end + 1 < source_.size() && source_[end] == '.' && is_ascii_digit(source_[end + 1])) {
        end = digits_end(end + 1, is_ascii_digit);
      }
      if (end < source_.size() && (source_[end] | 0x20) == 'e') {
        size_t power = end + 1;
        if (power < source_.size() && (source_[power] == '+' || source_[power] == '-')) ++power;
        const size_t power_end = digits_end(power, is_ascii_digit);
        if (power_end > power) end = power_end;
      }
      if (end > whole) return add_number(Token::Type::kFloat, end);
    }
    const char second = begin + 1 < source_.size() ? source_[begin + 1] : '\0';
    if (source_[begin] == '0' && second != '\0') {
      const char base = static_cast<char>(second | 0x20);
      const auto is_one = [base](char c) {
        if (base == 'b') return c == '0' || c == '1';
        if (base == 'o') return c >= '0' && c <= '7';
        const char lower = static_cast<char>(c | 0x20);
        return is_ascii_digit(c) || (lower >= 'a' && lower <= 'f');
      };
      if (base == 'b' || base == 'o' || base == 'x') {
        size_t from = begin + 2;
        if (from < source_.size() && source_[from] == '_') ++from;
        const size_t last = digits_end(from, is_one);
        if (last > from) return add_number(Token::Type::kInteger, last);
      }
    }
    if (source_[begin] == '0') {
      // A zero is not followed by other digits: "012" is the integers 0 and 12.
      return add_number(Token::Type::kInteger, digits_end(begin, [](char c) { return c == '0'; }));
    }
    add_number(Token::Type::kInteger, whole);
  }

  void read_string() {
    const size_t begin = at_;
    const char quote = source_[begin];
    size_t end = begin + 1;
    while (end < source_.size() && source_[end] != quote)
      end += source_[end] == '\\' ? size_t{2} : size_t{1};
    if (end >= source_.size()) fail_at(begin, "this string has no end");
    const std::string_view inside = source_.substr(begin + 1, end - begin - 1);
    add(Token::Type::kString, unescape_string(inside, begin), begin);
    at_ = end + 1;
  }

  bool read_name() {
    const size_t begin = at_;
    size_t end = begin;
    while (end < source_.size()) {
      size_t next = end;
      if (!is_word(next_character(source_, next))) break;
      end = next;
    }
    if (end == begin) return false;
    add(Token::Type::kName, source_.substr(begin, end - begin), begin);
    at_ = end;
    return true;
  }

  void read_operator(std::string& closers) {
    const auto* op = std::find_if(std::begin(kOperators), std::end(kOperators),
                                  [this](std::string_view candidate) { return starts(candidate); });
    if (op == std::end(kOperators)) {
      size_t end = at_;
      next_character(source_, end);
      fail_at(at_, "unexpected character '{}'", source_.substr(at_, end - at_));
    }
    const char c = (*op)[0];
    if (c == '(') closers += ')';
    if (c == '[') closers += ']';
    if (c == '{') closers += '}';
    if (c == ')' || c == ']' || c == '}') {
      if (closers.empty()) fail_at(at_, "unexpected '{}'", c);
      if (closers.back() != c) fail_at(at_, "unexpected '{}', expected '{}'", c, closers.back());
      closers.pop_back();
    }
    add(Token::Type::kOperator, *op, at_);
    at_ += op->size();
  }

  std::string_view source_;
  size_t at_ = 0;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::string normal_lines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      text += source[i];
    } else {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::vector<Token> tokenize(std::string_view source) {
  return Lexer(source).run();
}

// --- reading tokens ---------------------------------------------------------------------------

namespace {

std::string shown(const Token& token) {
  switch (token.type) {
    case Token::Type::kEnd:
      return "the end of the template";
    case Token::Type::kData:
      return "text";
    case Token::Type::kPrintBegin:
      return "'{{'";
    case Token::Type::kPrintEnd:
      return "'}}'";
    case Token::Type::kTagBegin:
      return "'{%'";
    case Token::Type::kTagEnd:
      return "'%}'";
    case Token::Type::kString:
      return "a string";
    default:
      return "'" + token.text + "'";
  }
}

}  // namespace

bool TokenCursor::skip_operator(std::string_view op) {
  if (!current().is_operator(op)) return false;
  take();
  return true;
}

bool TokenCursor::skip_name(std::string_view name) {
  if (!current().is_name(name)) return false;
  take();
  return true;
}

void TokenCursor::unexpected(std::string_view expected) const {
  fail_at(current().offset, "unexpected {}, expected {}", shown(current()), expected);
}

void TokenCursor::expect_operator(std::string_view op) {
  if (!skip_operator(op)) unexpected(fmt::format("'{}'", op));
}

void TokenCursor::expect(Token::Type type, std::string_view what) {
  if (current().type != type) unexpected(what);
  take();
}

const Token& TokenCursor::expect_name(std::string_view what) {
  if (current().type != Token::Type::kName) unexpected(what);
  return take();
}

}  // namespace windrow::jinja
