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
  // kInvalid: as ecma_to_re2(), or the expression is too large.
  static Result<Pattern> compile(std::string_view ecma);

  // Whether it is found anywhere in `text`, which is UTF-8.
  bool found_in(std::string_view text) const;

  // How many steps one byte of text may take in the worst case.
  size_t size() const;

  const std::string& source() const { return source_; }

 private:
  Pattern(std::string source, std::shared_ptr<const re2::RE2> program);

  std::string source_;
  std::shared_ptr<const re2::RE2> program_;
};

// Translates a regular expression of JSON Schema (ECMA-262 with the flag `u`) to RE2's syntax: the
// result is found in exactly the texts in which `ecma` is found. Pure, without recursion.
// kInvalid, with the position: a syntax error, or something that RE2 cannot do: look-around, back
// references, \B, repetition beyond 1,000. Some extensions of browsers are accepted (a lone "}" or
// "]", escaped punctuation). Constructs with another meaning in other languages (\A, \Z, \Q,
// "{,5}") are refused, because they are ambiguous.
Result<std::string> ecma_to_re2(std::string_view ecma);

}  // namespace windrow::schema
