#include "grammar/lexeme/char_set.h"

#include <algorithm>

namespace windrow::grammar {
namespace {

constexpr char32_t kLastCharacter = 0x10FFFF;
constexpr CharRange kSurrogates{0xD800, 0xDFFF};

// `range` without surrogates: at most two ranges.
void append_characters(CharRange range, std::vector<CharRange>& out) {
  range.last = std::min(range.last, kLastCharacter);
  if (range.first < kSurrogates.first && range.first <= range.last)
    out.push_back({range.first, std::min(range.last, char32_t{kSurrogates.first - 1})});
  const char32_t behind = std::max(range.first, char32_t{kSurrogates.last + 1});
  if (behind <= range.last) out.push_back({behind, range.last});
}

}  // namespace

CharSet::CharSet(std::vector<CharRange> ranges) {
  std::vector<CharRange> characters;
  characters.reserve(ranges.size() + 1);
  for (const CharRange& range : ranges)
    append_characters(range, characters);
  std::sort(characters.begin(), characters.end(),
            [](const CharRange& a, const CharRange& b) { return a.first < b.first; });
  for (const CharRange& range : characters) {
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1) {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    } else {
      ranges_.push_back(range);
    }
  }
}

CharSet CharSet::all() {
  return CharSet({{0, kLastCharacter}});
}

CharSet CharSet::one(char32_t character) {
  return CharSet({{character, character}});
}

bool CharSet::contains(char32_t character) const {
  const auto behind =
      std::upper_bound(ranges_.begin(), ranges_.end(), character,
                       [](char32_t value, const CharRange& range) { return value < range.first; });
  return behind != ranges_.begin() && character <= std::prev(behind)->last;
}

CharSet CharSet::operator|(const CharSet& other) const {
  std::vector<CharRange> both = ranges_;
  both.insert(both.end(), other.ranges_.begin(), other.ranges_.end());
  return CharSet(std::move(both));
}

CharSet CharSet::operator&(const CharSet& other) const {
  std::vector<CharRange> common;
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    const CharRange range{std::max(a->first, b->first), std::min(a->last, b->last)};
    if (range.first <= range.last) common.push_back(range);
    if (a->last < b->last) {
      ++a;
    } else {
      ++b;
    }
  }
  return CharSet(std::move(common));
}

CharSet CharSet::operator~() const {
  std::vector<CharRange> others;
  char32_t from = 0;
  for (const CharRange& range : ranges_) {
    if (from < range.first) others.push_back({from, range.first - 1});
    from = range.last + 1;
  }
  if (from <= kLastCharacter) others.push_back({from, kLastCharacter});
  return CharSet(std::move(others));
}

}  // namespace windrow::grammar
