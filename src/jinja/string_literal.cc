#include "jinja/string_literal.h"

#include <cstdint>

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

}  // namespace

std::string unescape_string(std::string_view inside, size_t offset) {
  return Unescape(inside, offset).run();
}

}  // namespace windrow::jinja
