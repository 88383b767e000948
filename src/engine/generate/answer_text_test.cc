#include "engine/generate/answer_text.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace windrow::engine {
namespace {

TEST(AnswerText, EndsBeforeAStopTextSpreadOverTokens) {
  AnswerText text({"STOP"});
  EXPECT_FALSE(text.append("one S"));
  EXPECT_FALSE(text.append("TO"));
  EXPECT_EQ(text.stopped_by(), std::nullopt);
  EXPECT_TRUE(text.append("P two"));
  EXPECT_EQ(text.bytes(), "one ");
}

TEST(AnswerText, TheEarliestStopTextWins) {
  AnswerText text({"late", "soon"});
  EXPECT_TRUE(text.append("x soon late"));
  EXPECT_EQ(text.bytes(), "x ");
  EXPECT_EQ(text.stopped_by(), "soon");
}

TEST(AnswerText, HoldsBackWhatMayBecomeAStopTextOrACharacter) {
  AnswerText text({"</answer>"});
  text.append("fine </ans");
  EXPECT_EQ(text.settled_bytes(), 5U);
  text.append("wering");
  EXPECT_EQ(text.settled_bytes(), text.bytes().size());
  text.append("\xE2\x82");
  EXPECT_EQ(text.settled_bytes(), text.bytes().size() - 2);
}

// Against a search in the whole text: however it is cut into tokens, the answer is the same, and
// what was settled before a stop is never taken back.
TEST(AnswerText, AnyCutGivesTheSameAnswer) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const auto letters = [&](int64_t min, int64_t max) {
      std::string word;
      for (int64_t left = random.between(min, max); left > 0; --left) {
        word += static_cast<char>('a' + random.below(2));
      }
      return word;
    };
    const std::string whole = letters(0, 40);
    const std::vector<std::string> stops = {letters(1, 6), letters(1, 4)};
    const size_t expected = std::min(whole.find(stops[0]), whole.find(stops[1]));
    AnswerText text(stops);
    bool stopped = false;
    for (size_t at = 0; at < whole.size() && !stopped;) {
      const size_t size = 1 + random.below(5);
      stopped = text.append(std::string_view(whole).substr(at, size));
      at += size;
      ASSERT_LE(text.settled_bytes(), std::min(expected, whole.size()));
    }
    // A stop that begins later but ends earlier is met first: tokens come one by one.
    ASSERT_EQ(stopped, expected != std::string::npos);
    ASSERT_TRUE(whole.starts_with(text.bytes()));
    if (!stopped) {
      ASSERT_EQ(text.bytes(), whole);
    }
  }
}

}  // namespace
}  // namespace windrow::engine
