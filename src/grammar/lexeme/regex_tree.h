// A regular expression, parsed: what regex.h builds its automata from. The syntax is ECMA-262's
// with the `u` flag, and with what browsers bear besides (annex B): `\-` and other escaped signs, a
// `{` or `]` that stands for itself, a class beside a `-`. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/lexeme/char_set.h"

namespace windrow::grammar {

struct RegexNode {
  enum class Kind : uint8_t {
    kSet,       // one character
    kSequence,  // of no parts: the empty text
    kChoice,
    kRepeat,  // of its only part
    kStart,   // ^
    kEnd,     // $
    kAhead,   // (?=...) of its only part
    kNotAhead,
  };

  Kind kind = Kind::kSequence;
  CharSet set;
  std::vector<RegexNode> parts;
  uint32_t min = 0;
  std::optional<uint32_t> max;  // none: any more
  uint32_t at = 0;              // of which character of the pattern, from 1
};

// kInvalid: "character 3 of the pattern: ...", and what to do. At most 200 groups in each other.
Result<RegexNode> parse_regex(std::string_view pattern);

// The same form of message for what only the builder finds.
Error regex_error(uint32_t at, std::string_view what);

}  // namespace windrow::grammar
