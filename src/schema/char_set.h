// Sets of characters that patterns speak of: ranges, and Unicode's properties in RE2's words.
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

// A set of characters: ranges, and properties in RE2's words ("\pL").
struct CharSet {
  Ranges ranges;
  std::string properties;
};

// What ECMA-262 means by \d, \w, \s, and by what "." does not match.
extern const Ranges kDigits;
extern const Ranges kWord;
extern const Ranges kSpace;
extern const Ranges kLineEnds;

// All other characters; `ranges` are sorted and do not touch.
Ranges complement(const Ranges& ranges);

// What \p{NAME} is called by RE2; nothing where it has no such property.
std::optional<std::string> property_of(std::string_view name);

}  // namespace windrow::schema
