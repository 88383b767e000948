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

TEST(DistinctTextsTest, QuotesArePartOfTheTexts) {
  const CharDfa any = CharDfa::any_text();
  for (const auto& inside : {json_string_dfa(any), json_string_once_dfa(any),
                             json_string_dfa(regex_dfa("a*\"?", RegexMeaning::kWhole).value()),
                             dfa_of("[ab]*"), dfa_of("a")}) {
    const auto quoted = quoted_dfa(*inside);
    for (const std::string text : {"", "a", "b", "aa", "\\\"", "a\\\"", "\\n", "\\", "\xC3\xA4"}) {
      EXPECT_EQ(quoted->contains('"' + text + '"'), inside->contains(text)) << text;
      EXPECT_FALSE(quoted->contains(text));
      EXPECT_FALSE(quoted->contains('"' + text));
      if (inside->contains(text)) EXPECT_FALSE(quoted->contains('"' + text + "\"\""));
    }
  }
}

TEST(DistinctTextsTest, AStringIsSpelledOnce) {
  const auto any = json_string_once_dfa(CharDfa::any_text());
  for (const std::string_view text :
       {"", "a/\x7F", "\\n\\t\\r\\b\\f", "\\\"\\\\", "\\u0000\\u001f", "\xF0\x9F\x98\x80"})
    EXPECT_TRUE(any->contains(text)) << text;
  for (const std::string_view text : {"\\u000a", "\\u0022", "\\u005c", "\\u001F", "\\u0061", "\\/",
                                      "\\u00e4", "\\ud83d\\ude00", "\n", "\""})
    EXPECT_FALSE(any->contains(text)) << text;
  // As many spellings as texts.
  const CharDfa some = regex_dfa("[\\x00-\\x22\\\\a-c]{0,2}", RegexMeaning::kWhole).value();
  EXPECT_EQ(text_counts(*json_string_once_dfa(some))[0], text_counts(*utf8_dfa(some))[0]);
  EXPECT_GT(text_counts(*json_string_dfa(some))[0], text_counts(*utf8_dfa(some))[0]);
  // Only those with a short form: no \u at all.
  const auto breaks = json_string_once_dfa(regex_dfa("[\\n\\t]", RegexMeaning::kWhole).value());
  EXPECT_TRUE(breaks->contains("\\n"));
  EXPECT_FALSE(breaks->contains("\\u000a"));
  EXPECT_EQ(text_counts(*breaks)[0], 2U);
}

}  // namespace
}  // namespace windrow::grammar
