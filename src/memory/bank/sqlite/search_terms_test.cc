#include "memory/bank/sqlite/search_terms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace windrow::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SearchTerms, AreWordsInQuotesEachOnce) {
  EXPECT_THAT(search_terms("What does Ana's cat, ANA, eat?"),
              ElementsAre("\"what\"", "\"does\"", "\"ana\"", "\"s\"", "\"cat\"", "\"eat\""));
  EXPECT_THAT(search_terms("caf\xC3\xA9 na\xC3\xAFve"),
              ElementsAre("\"caf\xC3\xA9\"", "\"na\xC3\xAFve\""));
  EXPECT_THAT(search_terms(""), IsEmpty());
  EXPECT_THAT(search_terms(" ?! \"\" * () "), IsEmpty());
}

TEST(SearchTerms, HaveNoOperators) {
  EXPECT_THAT(search_terms("a AND text:b NEAR(c) -d \"e*\" NOT"),
              ElementsAre("\"a\"", "\"and\"", "\"text\"", "\"b\"", "\"near\"", "\"c\"", "\"d\"",
                          "\"e\"", "\"not\""));
}

TEST(SearchTerms, OfScriptsWithoutSpacesArePairsOfCharacters) {
  EXPECT_EQ(grams_of("\xE7\x8C\xAB\xE3\x81\x8C\xE5\xA5\xBD"),  // cat, ga, like
            "\xE7\x8C\xAB\xE3\x81\x8C \xE3\x81\x8C\xE5\xA5\xBD \xE5\xA5\xBD");
  EXPECT_EQ(grams_of("Tea \xE8\x8C\xB6 and \xE6\xB0\xB4\xE8\x8C\xB6."),  // tea; water, tea
            "\xE8\x8C\xB6 \xE6\xB0\xB4\xE8\x8C\xB6 \xE8\x8C\xB6");
  EXPECT_EQ(grams_of("tea \xC3\xA9 \xEA\xB9\x80"), "") << "Hangul has spaces";
  EXPECT_THAT(search_terms("\xE7\x8C\xAB"), ElementsAre("\"\xE7\x8C\xAB\"*"));
  EXPECT_THAT(search_terms("a\xE7\x8C\xAB\xE3\x81\x8C"
                           "b"),
              ElementsAre("\"a\"", "\"\xE7\x8C\xAB\xE3\x81\x8C\"", "\"b\""));
}

TEST(SearchTerms, BytesThatAreNoTextSeparateWords) {
  EXPECT_THAT(search_terms("a\xFF"
                           "b\xC3"),
              ElementsAre("\"a\"", "\"b\""));
  EXPECT_EQ(grams_of("\xFF\xFE"), "");
}

}  // namespace
}  // namespace windrow::memory
