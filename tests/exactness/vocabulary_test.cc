#include <gtest/gtest.h>

#include <llama.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "engine/generate/model_tokenizer.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"
#include "exactness/plain_row.h"
#include "llm/tokenizer.h"

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

class TextOfModel : public ::testing::TestWithParam<const char*> {
 protected:
  TextOfModel()
      : library_(LlamaLibrary::start("").value()),
        loaded_(LlamaModel::load_vocabulary(*library_, path()).value()),
        tokenizer_(loaded_.vocabulary, Error{ErrorKind::kInvalid, "no template"}, 0, 0) {}

  static std::string path() { return test_model(GetParam(), "f32"); }

  std::vector<Token> with_all(std::string_view text) const {
    return tokenizer_.encode(text, /*control=*/true, llm::SpecialTokens::kAll);
  }

  const std::unique_ptr<LlamaLibrary> library_;
  const engine::LoadedVocabulary loaded_;
  const engine::ModelTokenizer tokenizer_;
};

TEST_P(TextOfModel, HasTheSpecialTokensThatLibllamaAdds) {
  const PlainModel plain(path());
  for (const std::string text : {"", "the house", "the [SEP] house <|im_end|>"}) {
    std::vector<llama_token> expected(text.size() + 8);
    const int32_t count = llama_tokenize(
        plain.vocabulary(), text.data(), static_cast<int32_t>(text.size()), expected.data(),
        static_cast<int32_t>(expected.size()), /*add_special=*/true, /*parse_special=*/true);
    ASSERT_GE(count, 0);
    expected.resize(static_cast<size_t>(count));
    EXPECT_EQ(with_all(text), expected) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, TextOfModel,
                         ::testing::Values("llama", "qwen3", "qwen3_last", "bert", "bert_rank"));

class TextOfEncoder : public TextOfModel {};

TEST_P(TextOfEncoder, IsBetweenItsBeginAndItsSeparator) {
  const std::vector<Token> bare =
      tokenizer_.encode("the house", /*control=*/true, llm::SpecialTokens::kNone);
  const std::vector<Token> whole = with_all("the house");
  EXPECT_EQ(llm::text_of(tokenizer_, whole), "[CLS]" + llm::text_of(tokenizer_, bare) + "[SEP]");
  EXPECT_EQ(whole, loaded_.vocabulary->tokenize_input("the house", ControlTokens::kAsText))
      << "as an embedding has it";
  EXPECT_EQ(with_all("[CLS]the house"), whole) << "the text has its begin already";
}

INSTANTIATE_TEST_SUITE_P(Families, TextOfEncoder, ::testing::Values("bert"));

}  // namespace
}  // namespace windrow::exactness
