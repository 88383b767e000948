#include "grammar/simple_grammars.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "grammar/recognizer.h"
#include "grammar/testing/simple_grammars.h"

namespace windrow::grammar {
namespace {

using testing::choice_grammar;
using ::testing::HasSubstr;
using testing::regex_grammar;

bool accepts(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  Recognizer recognizer(grammar);
  StateId state = Recognizer::kFirst;
  for (const char byte : text)
    state = recognizer.step(state, static_cast<uint8_t>(byte));
  return recognizer.can_end(state);
}

TEST(SimpleGrammarsTest, AChoiceHasExactlyItsTexts) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto word = [&] {
      std::string text;
      for (uint64_t left = random.below(5); left > 0; --left)
        text += static_cast<char>(random.chance(0.9) ? 'a' + random.below(2) : random.below(256));
      return text;
    };
    std::vector<std::string> texts(1 + random.below(30));
    for (std::string& text : texts)
      text = word();
    const std::set<std::string> known(texts.begin(), texts.end());
    const auto grammar = choice_grammar(texts).value();
    for (const std::string& text : texts)
      ASSERT_TRUE(accepts(grammar, text));
    for (int i = 0; i < 200; ++i) {
      const std::string text = word();
      ASSERT_EQ(accepts(grammar, text), known.contains(text)) << text;
    }
  }
}

TEST(SimpleGrammarsTest, ARegularExpressionMatchesAllOfTheText) {
  const auto grammar = regex_grammar("[a-z]+(-[0-9]{2})?").value();
  EXPECT_TRUE(accepts(grammar, "abc-12"));
  EXPECT_TRUE(accepts(grammar, "abc"));
  EXPECT_FALSE(accepts(grammar, "abc-123"));
  EXPECT_FALSE(accepts(grammar, "1abc"));
}

TEST(SimpleGrammarsTest, WhatCannotBeIsSaid) {
  EXPECT_EQ(choice_grammar({}).error().message, "there are no choices; give at least one text");
  const std::vector<std::string> three = {"a", "b", "c"};
  EXPECT_THAT(choice_grammar(three, {.parts_max = 2}).error().message,
              HasSubstr("3 choices of 3 bytes are too many"));
  EXPECT_FALSE(regex_grammar("(a").has_value());
  EXPECT_FALSE(regex_grammar("(?=a)b").has_value());
}

}  // namespace
}  // namespace windrow::grammar
