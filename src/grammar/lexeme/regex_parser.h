// RegexNode: the tree of a regular expression, from which regex.h builds an automaton. The syntax
// is ECMA-262 with the `u` flag, and what browsers accept besides (annex B): `\-` and other escaped
// punctuation, a `{` or `]` that stands for itself, a class beside a `-`. Pure, any thread.
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
    kSet,       // one character of `set`
    kSequence,  // without parts: the empty text
    kChoice,
    kRepeat,  // its only part, `min` to `max` times
    kStart,   // ^
    kEnd,     // $
    kAhead,   // (?=...), its only part
    kNotAhead,
  };

  Kind kind = Kind::kSequence;
  CharSet set;
  std::vector<RegexNode> parts;
  uint32_t min = 0;
  std::optional<uint32_t> max;  // nothing: unbounded
  uint32_t at = 0;              // its position in the pattern, in characters from 1
};

// kInvalid: "character 3 of the pattern: ..." and how to fix it; also for groups nested more than
// 200 deep.
Result<RegexNode> parse_regex(std::string_view pattern);

// An error of the same form, for what only regex.h finds.
Error regex_error(uint32_t at, std::string_view what);

}  // namespace windrow::grammar
