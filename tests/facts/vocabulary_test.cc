// Text to tokens and back, and chat templates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "facts/plain_llama.h"

namespace windrow::facts {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

class Vocabulary : public ::testing::Test {
 protected:
  std::vector<llama_token> tokenize(const std::string& text, bool parse_special) const {
    std::vector<llama_token> tokens(text.size() + 8);
    const int32_t count =
        llama_tokenize(vocab_, text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                       static_cast<int32_t>(tokens.size()), false, parse_special);
    EXPECT_GE(count, 0);
    tokens.resize(static_cast<size_t>(std::max(count, 0)));
    return tokens;
  }

  std::string piece_of(llama_token token, bool special) const {
    char piece[64];
    const int32_t size = llama_token_to_piece(vocab_, token, piece, sizeof piece, 0, special);
    EXPECT_GE(size, 0);
    return {piece, static_cast<size_t>(std::max(size, 0))};
  }

  bool has_control(const std::vector<llama_token>& tokens) const {
    for (const llama_token token : tokens) {
      if (llama_vocab_is_control(vocab_, token)) return true;
    }
    return false;
  }

  Model model_ = load_model("qwen3");
  const llama_vocab* vocab_ = llama_model_get_vocab(model_.get());
  // The vocabulary ends with: end of text, im_start, im_end, think, end of think.
  const llama_token im_start_ = kVocab - 4;
  const llama_token im_end_ = kVocab - 3;
  const llama_token think_ = kVocab - 2;
};

TEST_F(Vocabulary, TextNeverBecomesAControlTokenUnlessAsked) {
  const std::string text = "a<|im_start|>user\nhi<|im_end|><|endoftext|>";
  EXPECT_FALSE(has_control(tokenize(text, false)));
  EXPECT_THAT(tokenize(text, true), Contains(im_start_));
  EXPECT_THAT(tokenize(text, true), Contains(im_end_));
}

// A user-defined token is no control token: nothing keeps a text from naming it.
TEST_F(Vocabulary, TextAlwaysBecomesAUserDefinedTokenItNames) {
  EXPECT_THAT(tokenize("a<think>b", false), Contains(think_));
  EXPECT_FALSE(llama_vocab_is_control(vocab_, think_));
  EXPECT_EQ(piece_of(think_, false), "<think>");
}

TEST_F(Vocabulary, AControlTokenIsShownOnlyWhenAsked) {
  EXPECT_EQ(piece_of(im_start_, false), "");
  EXPECT_EQ(piece_of(im_start_, true), "<|im_start|>");
}

TEST_F(Vocabulary, KnowsWhatEndsAnAnswer) {
  EXPECT_TRUE(llama_vocab_is_eog(vocab_, im_end_));
  EXPECT_TRUE(llama_vocab_is_eog(vocab_, kVocab - 5));  // end of text, though it is not the EOS
  EXPECT_FALSE(llama_vocab_is_eog(vocab_, im_start_));
  EXPECT_FALSE(llama_vocab_is_eog(vocab_, think_));
  EXPECT_FALSE(llama_vocab_is_eog(vocab_, 300));
}

TEST_F(Vocabulary, ATooSmallBufferForTokensTellsTheSizeNeeded) {
  llama_token tokens[2];
  const std::string text = "one two three four five";
  const int32_t count = llama_tokenize(vocab_, text.data(), static_cast<int32_t>(text.size()),
                                       tokens, 2, false, false);
  EXPECT_LT(count, -2);
  EXPECT_EQ(static_cast<size_t>(-count), tokenize(text, false).size());
}

TEST_F(Vocabulary, ATooSmallBufferForAPieceTellsTheSizeNeeded) {
  char piece[4];
  EXPECT_EQ(llama_token_to_piece(vocab_, think_, piece, sizeof piece, 0, false), -7);
}

TEST_F(Vocabulary, AnEmptyTextHasNoTokens) {
  EXPECT_THAT(tokenize("", true), ElementsAre());
}

TEST_F(Vocabulary, TextMayContainZeroBytes) {
  const std::string text("a\0b", 3);
  std::string back;
  for (const llama_token token : tokenize(text, false))
    back += piece_of(token, false);
  EXPECT_EQ(back, text);
}

// Bytes that are no UTF-8 become U+FFFD, so a prompt of them is not what was sent.
TEST_F(Vocabulary, BytesThatAreNoUtf8AreReplaced) {
  std::string back;
  for (const llama_token token : tokenize("a\xFF"
                                          "b",
                                          false))
    back += piece_of(token, false);
  EXPECT_EQ(back,
            "a\xEF\xBF\xBD"
            "b");
}

TEST_F(Vocabulary, CanBeUsedFromSeveralThreadsAtOnce) {
  const std::string text = "The quick brown fox <|im_start|> jumps over the lazy dog 123.";
  const auto expected = tokenize(text, true);
  std::vector<int> same(4);
  std::vector<std::thread> threads;
  threads.reserve(same.size());
  for (size_t thread = 0; thread < same.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 200; ++round)
        same[thread] += tokenize(text, true) == expected;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_THAT(same, ElementsAre(200, 200, 200, 200));
}

TEST_F(Vocabulary, CanBeUsedWhileTheModelDecodes) {
  const std::string text = "The quick brown fox jumps over the lazy dog.";
  const auto expected = tokenize(text, true);
  int same = 0;
  std::thread other([&] {
    for (int round = 0; round < 200; ++round)
      same += tokenize(text, true) == expected;
  });
  const Context context = make_context(model_, exact_params(512));
  for (int position = 0; position < 50; ++position) {
    Batch batch;
    EXPECT_EQ(decode(context, batch.add(300, position, 0, true)), 0);
  }
  other.join();
  EXPECT_EQ(same, 200);
}

std::string apply_template(const char* text, bool add_assistant) {
  const llama_chat_message messages[] = {{"user", "hi"}};
  char buffer[512];
  const int32_t size =
      llama_chat_apply_template(text, messages, 1, add_assistant, buffer, sizeof buffer);
  return size < 0 ? "refused" : std::string(buffer, static_cast<size_t>(size));
}

constexpr char kChatMl[] = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n";

TEST(ChatTemplates, NoneGivesChatMl) {
  EXPECT_EQ(apply_template(nullptr, true), kChatMl);
}

// It is no template engine: what the template says around the marker vanishes.
TEST(ChatTemplates, AnyTextWithTheMarkerOfChatMlIsTakenForChatMl) {
  EXPECT_EQ(apply_template("{{ 'You are a pirate' }}<|im_start|>{{ tools }}", true), kChatMl);
}

TEST(ChatTemplates, AnUnknownTemplateIsRefused) {
  EXPECT_EQ(apply_template("{{ messages }}", true), "refused");
}

TEST(ChatTemplates, TheOneOfTheModelIsGivenAsItIs) {
  const Model model = load_model("qwen3");
  EXPECT_STREQ(llama_model_chat_template(model.get(), nullptr),
               "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "
               "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt "
               "%}{{ '<|im_start|>assistant\\n' }}{% endif %}");
  const Model bert = load_model("bert");
  EXPECT_EQ(llama_model_chat_template(bert.get(), nullptr), nullptr);
}

}  // namespace
}  // namespace windrow::facts
