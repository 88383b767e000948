// Sets of characters in patterns: ranges, and properties of Unicode in RE2's syntax. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::schema {

constexpr char32_t kLastCharacter = 0x10FFFF;

struct Range {
  char32_t first;
  char32_t last;
};
using Ranges = std::vector<Range>;

// The characters in any of the ranges or with any of the properties ("\pL").
struct CharSet {
  Ranges ranges;
  std::string properties;
};

// ECMA-262's \d, \w and \s, and the line ends that "." does not match.
extern const Ranges kDigits;
extern const Ranges kWord;
extern const Ranges kSpace;
extern const Ranges kLineEnds;

// All other characters; `ranges` are sorted and do not touch.
Ranges complement(const Ranges& ranges);

// \p{NAME} in RE2's syntax; nothing if RE2 has no such property.
std::optional<std::string> property_of(std::string_view name);

}  // namespace windrow::schema
