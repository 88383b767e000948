#include "engine/sim/sim_vocabulary.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "engine/sim/sim_options.h"

namespace windrow::engine::sim {
namespace {

std::string text_of(const SimVocabulary& vocabulary, const std::vector<Token>& tokens) {
  std::string text;
  for (const Token token : tokens)
    vocabulary.append_bytes(token, text);
  return text;
}

TEST(SimVocabulary, EveryTextComesBack) {
  const SimVocabulary vocabulary(kVocabularyMin);
  constexpr uint64_t kSeed = 20260722;
  Random random(kSeed);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (uint64_t left = random.below(60); left > 0; --left) {
      if (random.chance(0.5)) {
        text += " the house of words";
      } else {
        text += static_cast<char>(random.below(256));
      }
    }
    const std::vector<Token> tokens = vocabulary.tokenize(text, ControlTokens::kAsText);
    EXPECT_EQ(text_of(vocabulary, tokens), text) << "seed " << kSeed;
    EXPECT_GE(tokens.size() * *vocabulary.token_bytes_max(), text.size());
  }
}

TEST(SimVocabulary, WordsAreSingleTokensAndControlTokensAreNotText) {
  const SimVocabulary vocabulary(kVocabularyMin);
  EXPECT_EQ(vocabulary.tokenize(" house of words", ControlTokens::kAsText).size(), 3U + 1U)
      << "house, of, word and an s";
  const std::string turn = "<|im_start|>user\n hello<|im_end|>";
  const std::vector<Token> parsed = vocabulary.tokenize(turn, ControlTokens::kParsed);
  EXPECT_EQ(parsed.front(), SimVocabulary::kStart);
  EXPECT_EQ(parsed.back(), SimVocabulary::kEnd);
  EXPECT_EQ(text_of(vocabulary, parsed), "user\n hello");
  for (const Token token : vocabulary.tokenize(turn, ControlTokens::kAsText)) {
    EXPECT_FALSE(vocabulary.ends_answer(token));
    EXPECT_NE(token, SimVocabulary::kStart);
  }
}

TEST(SimVocabulary, MayBeAsLargeAsOneLikesAndHasNoTextTwice) {
  const SimVocabulary vocabulary(80'000);
  EXPECT_EQ(vocabulary.size(), 80'000);
  std::set<std::string> texts;
  for (Token token = 0; token < vocabulary.size(); ++token) {
    std::string text;
    vocabulary.append_piece(token, text);
    EXPECT_TRUE(texts.insert(text).second) << text;
  }
}

}  // namespace
}  // namespace windrow::engine::sim
