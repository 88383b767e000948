// Escapes of regular expressions, from behind the backslash. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/lexeme/char_set.h"

namespace windrow::grammar {

// Where a parser stands in a pattern.
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
  uint32_t place() const { return static_cast<uint32_t>(next) + 1; }  // of the next character
};

struct RegexEscape {
  CharSet set;
  bool is_class = false;  // \d and the like: no end of a range
};

// The backslash has been taken. In a class (`[...]`) \b is a backspace; elsewhere it is refused.
Result<RegexEscape> parse_regex_escape(RegexCursor& cursor, bool in_class);

}  // namespace windrow::grammar
