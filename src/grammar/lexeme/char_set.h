// CharSet: a set of Unicode code points, as sorted ranges. Surrogates are never in it. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace windrow::grammar {

struct CharRange {
  char32_t first = 0;
  char32_t last = 0;  // included

  friend bool operator==(const CharRange&, const CharRange&) = default;
};

class CharSet {
 public:
  CharSet() = default;
  explicit CharSet(std::vector<CharRange> ranges);  // in any order, they may overlap

  static CharSet all();
  static CharSet one(char32_t character);

  bool contains(char32_t character) const;
  bool empty() const { return ranges_.empty(); }
  std::span<const CharRange> ranges() const { return ranges_; }

  CharSet operator|(const CharSet& other) const;
  CharSet operator&(const CharSet& other) const;
  CharSet operator~() const;

  friend bool operator==(const CharSet&, const CharSet&) = default;

 private:
  std::vector<CharRange> ranges_;  // sorted, apart from each other, none empty
};

}  // namespace windrow::grammar
