// The grammar of ECMA-262's patterns with the `u` flag (22.2.1), as far as it decides whether a
// text is one. Names of groups and of Unicode's properties are only looked at as names.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "schema/format_readers.h"

namespace windrow::schema {
namespace {

class RegexSyntax {
 public:
  explicit RegexSyntax(std::u32string text) : text_(std::move(text)) {}

  bool holds() {
    // A group is one more alternative around what is in it; its end says whether it may be
    // repeated.
    std::vector<bool> repeatable;
    bool after_atom = false;
    while (at_ < text_.size()) {
      const char32_t c = text_[at_++];
      switch (c) {
        case U'(': {
          const std::optional<bool> group = open_group();
          if (!group) return false;
          repeatable.push_back(*group);
          after_atom = false;
          break;
        }
        case U')':
          if (repeatable.empty()) return false;
          after_atom = repeatable.back();
          repeatable.pop_back();
          break;
        case U'|':
        case U'^':
        case U'$':
          after_atom = false;
          break;
        case U'*':
        case U'+':
        case U'?':
        case U'{':
          if (!after_atom || (c == U'{' && !counts())) return false;
          take(U'?');
          after_atom = false;
          break;
        case U'}':
        case U']':
          return false;
        case U'[':
          if (!char_class()) return false;
          after_atom = true;
          break;
        case U'\\': {
          const bool boundary = peek() == U'b' || peek() == U'B';
          if (boundary ? !skip() : !escape(/*in_class=*/false)) return false;
          after_atom = !boundary;
          break;
        }
        default:
          after_atom = true;
      }
    }
    return repeatable.empty() && back_reference_max_ <= groups_;
  }

 private:
  static bool digit(char32_t c) { return c >= U'0' && c <= U'9'; }
  static bool letter(char32_t c) { return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z'); }
  static bool hex(char32_t c) {
    return digit(c) || (c >= U'a' && c <= U'f') || (c >= U'A' && c <= U'F');
  }
  static uint32_t hex_value(char32_t c) {
    return digit(c) ? c - U'0' : (static_cast<uint32_t>(c) | 0x20U) - U'a' + 10;
  }

  char32_t peek() const { return at_ < text_.size() ? text_[at_] : 0; }
  bool skip() { return ++at_ <= text_.size(); }
  bool take(char32_t c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // Whether the group may be repeated; nothing: it is written wrong.
  std::optional<bool> open_group() {
    if (!take(U'?')) {
      ++groups_;
      return true;
    }
    if (take(U':')) return true;
    if (take(U'=') || take(U'!')) return false;
    if (!take(U'<')) return std::nullopt;
    if (take(U'=') || take(U'!')) return false;
    ++groups_;
    return name() ? std::optional(true) : std::nullopt;
  }

  // Up to ">".
  bool name() {
    const size_t begin = at_;
    while (letter(peek()) || peek() == U'_' || peek() == U'$' || peek() > 0x7F ||
           (at_ > begin && digit(peek())))
      ++at_;
    return at_ > begin && take(U'>');
  }

  std::optional<uint64_t> number() {
    if (!digit(peek())) return std::nullopt;
    uint64_t value = 0;
    for (; digit(peek()); ++at_)
      value = value > UINT32_MAX ? value : value * 10 + (peek() - U'0');
    return value;
  }

  // Behind "{".
  bool counts() {
    const std::optional<uint64_t> least = number();
    if (!least) return false;
    if (take(U',') && digit(peek()) && *number() < *least) return false;
    return take(U'}');
  }

  // Behind "[". A class of several characters is no end of a range.
  bool char_class() {
    take(U'^');
    while (at_ < text_.size()) {
      if (take(U']')) return true;
      const std::optional<char32_t> first = class_atom();
      if (!first) return false;
      if (peek() != U'-' || at_ + 1 >= text_.size() || text_[at_ + 1] == U']') continue;
      ++at_;
      const std::optional<char32_t> last = class_atom();
      if (!last || *first == kSet || *last == kSet || *last < *first) return false;
    }
    return false;
  }

  std::optional<char32_t> class_atom() {
    const char32_t c = text_[at_++];
    if (c != U'\\') return c;
    if (take(U'b')) return U'\b';
    if (take(U'-')) return U'-';
    if (!escape(/*in_class=*/true)) return std::nullopt;
    return escaped_;
  }

  bool hex_digits(size_t count) {
    escaped_ = 0;
    for (; count > 0 && hex(peek()); --count)
      escaped_ = escaped_ * 16 + hex_value(text_[at_++]);
    return count == 0;
  }

  bool unicode() {
    if (!take(U'{')) return hex_digits(4);
    escaped_ = 0;
    const size_t begin = at_;
    for (; hex(peek()); ++at_) {
      escaped_ = escaped_ * 16 + hex_value(peek());
      if (escaped_ > 0x10FFFF) return false;
    }
    return at_ > begin && take(U'}');
  }

  // After "\". Sets escaped_ to the character.
  bool escape(bool in_class) {
    if (at_ >= text_.size()) return false;
    const char32_t c = text_[at_++];
    escaped_ = c;
    switch (c) {
      case U'd':
      case U'D':
      case U'w':
      case U'W':
      case U's':
      case U'S':
        escaped_ = kSet;
        return true;
      case U't':
      case U'n':
      case U'v':
      case U'f':
      case U'r':
        escaped_ = c == U't'   ? U'\t'
                   : c == U'n' ? U'\n'
                   : c == U'v' ? U'\v'
                   : c == U'f' ? U'\f'
                               : U'\r';
        return true;
      case U'c':
        if (!letter(peek())) return false;
        escaped_ = text_[at_++] % 32;
        return true;
      case U'x':
        return hex_digits(2);
      case U'u':
        return unicode();
      case U'p':
      case U'P':
        escaped_ = kSet;
        return property();
      case U'k':
        return !in_class && take(U'<') && name();
      case U'0':
        escaped_ = 0;
        return !digit(peek());
      default:
        break;
    }
    if (digit(c)) {
      if (in_class) return false;
      --at_;
      back_reference_max_ = std::max(back_reference_max_, *number());
      return true;
    }
    constexpr std::u32string_view kSigns = U"^$\\.*+?()[]{}|/";
    return kSigns.find(c) != std::u32string_view::npos;
  }

  bool property() {
    if (!take(U'{')) return false;
    const size_t begin = at_;
    while (letter(peek()) || digit(peek()) || peek() == U'_' || peek() == U'=')
      ++at_;
    return at_ > begin && take(U'}');
  }

  static constexpr char32_t kSet = 0xFFFFFFFF;

  std::u32string text_;
  size_t at_ = 0;
  char32_t escaped_ = 0;
  uint64_t groups_ = 0;
  uint64_t back_reference_max_ = 0;
};

}  // namespace

bool is_regex(std::string_view text) {
  std::optional<std::u32string> points = code_points(text);
  return points && RegexSyntax(*std::move(points)).holds();
}

}  // namespace windrow::schema
