#include <gtest/gtest.h>

#include "base/random.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"
#include "exactness/plain_row.h"

namespace windrow::exactness {
namespace {

using engine::ControlTokens;
using engine::LlamaLibrary;
using engine::LlamaModel;
using engine::Token;

class VocabularyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    model_ = LlamaModel::load(library(), test_model("qwen3", "f32"), {}).value();
  }

  static LlamaLibrary& library() {
    static const std::unique_ptr<LlamaLibrary> kLibrary = LlamaLibrary::start("").value();
    return *kLibrary;
  }

  const engine::Vocabulary& vocabulary() { return model_->vocabulary(); }

  std::string text_of(const std::vector<Token>& tokens) {
    std::string text;
    for (const Token token : tokens)
      vocabulary().append_bytes(token, text);
    return text;
  }

  std::unique_ptr<LlamaModel> model_;
};

TEST_F(VocabularyTest, AnyBytesComeBackAsTheyWere) {
  Random random(3);
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (int64_t left = random.between(0, 60); left > 0; --left) {
      text +=
          static_cast<char>(random.chance(0.8) ? random.between(32, 126) : random.between(0, 127));
    }
    if (random.chance(0.3)) text += "\xE2\x82\xAC \xF0\x9F\x98\x80 \xC3\xA4";
    ASSERT_EQ(text_of(vocabulary().tokenize(text, ControlTokens::kAsText)), text);
  }
}

TEST_F(VocabularyTest, ControlTokensAreParsedOnlyWhenMeant) {
  const std::string text = "<|im_start|>user";
  const auto parsed = vocabulary().tokenize(text, ControlTokens::kParsed);
  const auto as_text = vocabulary().tokenize(text, ControlTokens::kAsText);
  EXPECT_LT(parsed.size(), as_text.size());
  EXPECT_EQ(text_of(as_text), text);
  EXPECT_EQ(text_of(parsed), "user") << "control tokens have no bytes";
}

TEST_F(VocabularyTest, NoTokenStandsForMoreBytesThanSaid) {
  const size_t bytes_max = vocabulary().token_bytes_max().value();
  EXPECT_GE(bytes_max, std::string_view("<|endoftext|>").size()) << "control tokens count too";
  size_t longest = 0;  // of the tokens that have bytes
  for (Token token = 0; token < vocabulary().size(); ++token)
    longest = std::max(longest, text_of({token}).size());
  EXPECT_LE(longest, bytes_max);
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (int64_t left = random.between(1, 40); left > 0; --left) {
      if (random.chance(0.2)) {
        text += "<|im_start|>";
      } else {
        vocabulary().append_bytes(static_cast<Token>(random.between(0, vocabulary().size() - 1)),
                                  text);
      }
    }
    const size_t tokens = vocabulary().tokenize(text, ControlTokens::kParsed).size();
    ASSERT_GE(tokens * bytes_max, text.size()) << "\"" << text << "\"";
  }
}

TEST_F(VocabularyTest, AVocabularyThatNormalisesHasNoSuchBound) {
  const std::unique_ptr<LlamaModel> bert =
      LlamaModel::load(library(), test_model("bert", "f32"), {}).value();
  EXPECT_EQ(bert->vocabulary().token_bytes_max(), std::nullopt);
}

TEST_F(VocabularyTest, TheEndTokenEndsAnswers) {
  const auto end = vocabulary().tokenize("<|im_end|>", ControlTokens::kParsed);
  ASSERT_EQ(end.size(), 1U);
  EXPECT_TRUE(vocabulary().ends_answer(end.front()));
  EXPECT_FALSE(vocabulary().ends_answer(vocabulary().tokenize("a", ControlTokens::kAsText)[0]));
}

}  // namespace
}  // namespace windrow::exactness
