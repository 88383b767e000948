#include "base/code_points.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/utf8.h"

namespace windrow {
namespace {

TEST(CodePoints, EveryCharacterComesBack) {
  for (char32_t character = 0; character <= 0x10FFFF; ++character) {
    std::string text;
    append_utf8(character, text);
    const bool surrogate = character >= 0xD800 && character <= 0xDFFF;
    if (surrogate) {
      ASSERT_FALSE(code_points(text)) << static_cast<uint32_t>(character);
    } else {
      ASSERT_TRUE(code_points(text) == std::u32string(1, character))
          << static_cast<uint32_t>(character);
    }
  }
}

TEST(CodePoints, WellFormedIsWhatNeedsNoRepair) {
  constexpr uint64_t kSeed = 2;
  constexpr std::string_view kBytes =
      "a\x80\x8F\x90\x9F\xA0\xBF\xC0\xC1\xC2\xE0\xE1\xED\xEE\xEF"
      "\xF0\xF1\xF4\xF5\xF8\xFF";
  Random random(kSeed);
  int well_formed = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text;
    for (uint64_t i = random.below(5); i > 0; --i)
      text += kBytes[random.below(kBytes.size())];
    const bool good = utf8_repair(text) == text;
    well_formed += good ? 1 : 0;
    ASSERT_EQ(code_points(text).has_value(), good) << "seed " << kSeed << " round " << round;
  }
  EXPECT_GT(well_formed, 1000);
}

}  // namespace
}  // namespace windrow
