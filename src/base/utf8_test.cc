#include "base/utf8.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace windrow {
namespace {

using std::string_literals::operator""s;

TEST(Utf8, WellFormedTextStaysAsItIs) {
  for (const std::string text : {"", "abc", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80x"}) {
    EXPECT_EQ(utf8_repair(text), text);
    EXPECT_EQ(utf8_incomplete_tail(text), 0U);
  }
}

// Expected texts are those of Python's bytes.decode(errors="replace").
TEST(Utf8, EveryIllFormedPartBecomesOneReplacement) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(utf8_repair("\xFF"), r);
  EXPECT_EQ(utf8_repair("a\x80"
                        "b"),
            "a" + r + "b");
  EXPECT_EQ(utf8_repair("\xE2\x82"), r);              // cut off
  EXPECT_EQ(utf8_repair("\xE2\x82!"), r + "!");       // interrupted
  EXPECT_EQ(utf8_repair("\xC0\xAF"), r + r);          // overlong
  EXPECT_EQ(utf8_repair("\xED\xA0\x80"), r + r + r);  // surrogate
  EXPECT_EQ(utf8_repair("\xF4\x90\x80\x80"), r + r + r + r);
}

TEST(Utf8, TailIsWhatMayStillBecomeACharacter) {
  EXPECT_EQ(utf8_incomplete_tail("a\xF0\x9F\x98"), 3U);
  EXPECT_EQ(utf8_incomplete_tail("a\xE2\x82"), 2U);
  EXPECT_EQ(utf8_incomplete_tail("a\xC3"), 1U);
  EXPECT_EQ(utf8_incomplete_tail("a\x80"), 0U);
  EXPECT_EQ(utf8_incomplete_tail("\xE0\x80"), 0U);
}

TEST(Utf8, EveryCharacterComesBack) {
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

TEST(Utf8, WellFormedIsWhatNeedsNoRepair) {
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

TEST(Utf8, TextIsRecognised) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"));
  EXPECT_FALSE(is_utf8("a\xC3"));
  EXPECT_FALSE(
      is_utf8("\xFF"
              "a"));
}

}  // namespace
}  // namespace windrow
