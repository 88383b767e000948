#include "base/utf8.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace windrow
