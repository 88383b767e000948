#include "grammar/lexeme/distinct_texts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammar/lexeme/regex.h"

namespace windrow::grammar {
namespace {

std::shared_ptr<const ByteDfa> dfa_of(std::string_view pattern) {
  return utf8_dfa(regex_dfa(pattern, RegexMeaning::kWhole).value());
}

TEST(DistinctTextsTest, CountsTheTextsFromEachState) {
  EXPECT_EQ(text_counts(*dfa_of("a"))[0], 1U);
  EXPECT_EQ(text_counts(*dfa_of("(ab|ac|b)?"))[0], 4U);
  EXPECT_EQ(text_counts(*dfa_of("[0-9]{1,3}"))[0], 1110U);
  EXPECT_EQ(text_counts(*dfa_of("[\\u00e0-\\u00ef\\u20ac]"))[0], 17U) << "characters, not bytes";
  EXPECT_EQ(text_counts(*dfa_of("[0-9]{20}"))[0], kManyTexts);
  EXPECT_EQ(text_counts(*dfa_of("a*"))[0], kManyTexts);
  const auto dfa = dfa_of("ab|c*d|e[fg]");
  const std::vector<uint32_t> counts = text_counts(*dfa);
  EXPECT_EQ(counts[0], kManyTexts);
  EXPECT_EQ(counts[dfa->next(0, 'a')], 1U);
  EXPECT_EQ(counts[dfa->next(0, 'c')], kManyTexts);
  EXPECT_EQ(counts[dfa->next(0, 'd')], 1U);
  EXPECT_EQ(counts[dfa->next(0, 'e')], 2U);
}

TEST(DistinctTextsTest, AFirstStateIsNeverReachedAgain) {
  for (const std::string_view pattern : {"a*b", "(ab)*c|d", "[ab]", "(a|b|\\u20ac)*x"}) {
    const auto before = dfa_of(pattern);
    const auto after = with_first_state(before);
    for (const ByteDfa::State next : after->next_of)
      EXPECT_NE(next, 0U) << pattern;
    for (const std::string_view text : {"", "b", "ab", "aab", "c", "abc", "ababc", "d", "a", "x",
                                        "\xE2\x82\xACx", "ax\x80", "xx"})
      EXPECT_EQ(after->contains(text), before->contains(text)) << pattern << ' ' << text;
  }
  const auto once = dfa_of("[ab]");
  EXPECT_EQ(with_first_state(once), once) << "as it was";
}

}  // namespace
}  // namespace windrow::grammar
