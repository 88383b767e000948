// Pattern: a regular expression of a schema, searched in time linear in the text whatever it is
// (RE2). Immutable, any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace windrow::schema {

class Pattern {
 public:
  // What cannot be judged is said in ecma_pattern.h; too large an expression adds to that.
  static Result<Pattern> compile(std::string_view ecma);

  // Anywhere in `text`, which is UTF-8.
  bool found_in(std::string_view text) const;

  // How many steps one byte of text may take at worst.
  size_t size() const;

  const std::string& source() const { return source_; }

 private:
  Pattern(std::string source, std::shared_ptr<const re2::RE2> program);

  std::string source_;
  std::shared_ptr<const re2::RE2> program_;
};

// Regular expressions as JSON Schema has them (ECMA-262 with the flag `u`), said in the syntax of
// RE2. Pure, and without recursion: no pattern is too deep.

// An expression for RE2 in UTF-8 that is found in exactly the texts in which `ecma` is found.
// kInvalid, with the position, for what is no expression and for what RE2 cannot do: looking ahead
// or behind, back references, \B, repetition beyond 1,000. Some of what browsers let pass is read
// as they do (a lone "}" or "]", an escaped punctuation mark); what has a different meaning
// elsewhere
// (\A, \Z, \Q, "{,5}") is refused, for nobody knows what was meant.
Result<std::string> ecma_to_re2(std::string_view ecma);

}  // namespace windrow::schema
