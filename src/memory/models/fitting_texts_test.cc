#include "memory/models/fitting_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace windrow::memory {
namespace {

using ::testing::ElementsAre;

llm::Failure too_long(int64_t tokens, int64_t tokens_max) {
  return {.status = 400,
          .code = "context_length_exceeded",
          .message = "too long",
          .prompt_excess = llm::PromptExcess{.tokens = tokens, .tokens_max = tokens_max}};
}

TEST(FittingTexts, CutsWhatIsLongerThanTheModelTakes) {
  FittingTexts texts({"short", std::string(1000, 'x')});
  EXPECT_THAT(texts.texts(), ElementsAre("short", std::string(1000, 'x')));
  ASSERT_TRUE(texts.shorten(too_long(500, 50)));
  EXPECT_THAT(texts.texts(), ElementsAre("short", std::string(90, 'x')));
}

TEST(FittingTexts, AnotherFailureIsFinal) {
  FittingTexts texts({"a text"});
  EXPECT_FALSE(texts.shorten({.status = 503, .code = "overloaded", .message = "later"}));
  EXPECT_FALSE(texts.shorten(too_long(500, 0)));
}

TEST(FittingTexts, AModelThatTakesNoTextAtAllEndsIt) {
  FittingTexts texts({std::string(1 << 20, 'x')});
  int cuts = 0;
  while (texts.shorten(too_long(11, 10)))
    ++cuts;
  EXPECT_EQ(cuts, 5);
}

TEST(FittingTexts, ABeginningHasNoPartOfACharacterAtItsEnd) {
  EXPECT_EQ(beginning_of("ääää", 5), "ää");
  EXPECT_EQ(beginning_of("ää", 5), "ää");
}

}  // namespace
}  // namespace windrow::memory
