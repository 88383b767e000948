#include "grammar/lexeme/char_set.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/random.h"

namespace windrow::grammar {
namespace {

// Around all places where something may go wrong.
constexpr std::array<char32_t, 14> kPlaces = {
    0, 1, 2, 'a', 'b', 0xD7FE, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xE001, 0xFFFF, 0x10000, 0x10FFFF};

bool is_surrogate(char32_t character) {
  return character >= 0xD800 && character <= 0xDFFF;
}

TEST(CharSet, HoldsWhatItsRangesHold) {
  constexpr uint64_t kSeed = 1;
  Random random(kSeed);
  for (int round = 0; round < 5000; ++round) {
    std::array<std::vector<CharRange>, 2> ranges;
    for (auto& list : ranges) {
      for (uint64_t i = random.below(5); i > 0; --i) {
        const size_t first = random.below(kPlaces.size());
        list.push_back({kPlaces[first], kPlaces[first + random.below(kPlaces.size() - first)]});
      }
    }
    const CharSet a(ranges[0]);
    const CharSet b(ranges[1]);
    const auto holds = [](const std::vector<CharRange>& list, char32_t character) {
      for (const CharRange& range : list) {
        if (range.first <= character && character <= range.last) return !is_surrogate(character);
      }
      return false;
    };
    for (const char32_t place : kPlaces) {
      const bool in_a = holds(ranges[0], place);
      const bool in_b = holds(ranges[1], place);
      ASSERT_EQ(a.contains(place), in_a) << "seed " << kSeed << " round " << round;
      ASSERT_EQ((a | b).contains(place), in_a || in_b) << "seed " << kSeed << " round " << round;
      ASSERT_EQ((a & b).contains(place), in_a && in_b) << "seed " << kSeed << " round " << round;
      ASSERT_EQ((~a).contains(place), !in_a && !is_surrogate(place))
          << "seed " << kSeed << " round " << round;
    }
    // One spelling of every set.
    ASSERT_EQ(~~a, a);
    ASSERT_EQ(a & b, ~(~a | ~b));
    ASSERT_EQ((a | ~a), CharSet::all());
    ASSERT_TRUE((a & ~a).empty());
  }
}

TEST(CharSet, AllHasTheSurrogatesTakenOut) {
  EXPECT_EQ(CharSet::all().ranges().size(), 2u);
  EXPECT_FALSE(CharSet::all().contains(0xDC00));
  EXPECT_TRUE(CharSet::one(0xDC00).empty());
  EXPECT_TRUE(CharSet({{0x110000, 0x120000}}).empty());
}

}  // namespace
}  // namespace windrow::grammar
