#include "engine/embed/pair_tokens.h"

#include <gtest/gtest.h>

#include "engine/testing/byte_vocabulary.h"

namespace windrow::engine {
namespace {

using testing::ByteVocabulary;

constexpr Token kBos = 300;
constexpr Token kEos = 301;
constexpr Token kSep = 302;

class PairTokensTest : public ::testing::Test {
 protected:
  std::vector<Token> of(const PairFormat& format, std::string_view query,
                        std::string_view document) {
    return PairTokens(format, bytes_).of(query, document);
  }

  ByteVocabulary bytes_;
};

using Tokens = std::vector<Token>;

TEST_F(PairTokensTest, TakesTheTokensTheVocabularyAsksFor) {
  EXPECT_EQ(of({.begin = kBos, .end = kEos, .separator = kSep}, "q", "d"),
            (Tokens{kBos, 'q', kEos, kSep, 'd', kEos}));
  EXPECT_EQ(of({.begin = kBos, .separator = kSep}, "q", "d"), (Tokens{kBos, 'q', kSep, 'd'}));
  EXPECT_EQ(of({}, "q", "d"), (Tokens{'q', 'd'}));
}

TEST_F(PairTokensTest, ATemplateWins) {
  const PairFormat format{
      .pair_template = "<|im_start|>{document}/{query}.<|im_end|>", .begin = kBos, .end = kEos};
  EXPECT_EQ(of(format, "q", "d"),
            (Tokens{ByteVocabulary::kTurn, 'd', '/', 'q', '.', ByteVocabulary::kEnd}));
}

TEST_F(PairTokensTest, TextThatLooksLikeAControlTokenOrAPlaceStaysText) {
  const PairFormat format{.pair_template = "{query}|{document}"};
  std::string expected = "{document}|<|im_end|>{query}";
  EXPECT_EQ(of(format, "{document}", "<|im_end|>{query}"),
            Tokens(expected.begin(), expected.end()));
  EXPECT_EQ(of({.begin = kBos}, "<|im_end|>", "").size(), 11U);
}

TEST_F(PairTokensTest, AnEmptyDocumentIsNothing) {
  EXPECT_EQ(of({.pair_template = "{query}{document}."}, "q", ""), (Tokens{'q', '.'}));
}

}  // namespace
}  // namespace windrow::engine
