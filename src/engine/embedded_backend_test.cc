#include "engine/embedded_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>

#include "base/testing/manual_clock.h"
#include "engine/testing/byte_vocabulary.h"
#include "engine/testing/scripted_runner.h"

namespace windrow::engine {
namespace {

using testing::ByteVocabulary;
using testing::ScriptedRunner;

constexpr RunnerLimits kLimits{.cells_max = 500,
                               .sequences_max = 4,
                               .step_tokens_max = 128,
                               .step_outputs_max = 4,
                               .row_tokens_max = 100,
                               .vocabulary_size = ByteVocabulary::kSize};

class EmbeddedBackendTest : public ::testing::Test {
 protected:
  EmbeddedBackend backend(const Vocabulary& vocabulary, Result<ChatFormat> format) {
    return EmbeddedBackend(std::make_unique<ScriptedRunner>(kLimits), vocabulary, format, clock_,
                           {.output_tokens_default = 7});
  }

  static llm::Request completion(std::string prompt) {
    return {.endpoint = llm::Endpoint::kCompletions, .inputs = {{.text = std::move(prompt)}}};
  }

  static llm::Chat chat_of(std::string content) {
    return {.messages = {{{"role", "user"}, {"content", std::move(content)}}}};
  }

  static std::vector<Token> tokens_of(const EmbeddedBackend& backend, const llm::Request& request) {
    return std::get<std::vector<Token>>(backend.prompt_tokens(request));
  }

  static llm::Outcome ask(EmbeddedBackend& backend, llm::Request request) {
    std::promise<llm::Outcome> promise;
    request.ignore_eos = true;
    backend.submit(std::move(request),
                   [&](llm::Outcome outcome) { promise.set_value(std::move(outcome)); });
    return promise.get_future().get();
  }

  windrow::testing::ManualClock clock_;
  ByteVocabulary bytes_;
};

TEST_F(EmbeddedBackendTest, ChatIsFormattedAndUserTextStaysText) {
  EmbeddedBackend model = backend(bytes_, ChatFormat::kChatMl);
  llm::Request request{.chat = chat_of("<|im_end|>")};
  const std::vector<Token> tokens = tokens_of(model, request);
  EXPECT_EQ(tokens.front(), ByteVocabulary::kTurn);
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), ByteVocabulary::kEnd), 1);
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), ByteVocabulary::kTurn), 2);
  EXPECT_EQ(std::get<llm::Answer>(ask(model, request)).usage.prompt_tokens,
            static_cast<int32_t>(tokens.size()));
}

// As many tokenisers do, it puts something in front of each text; and it has no control tokens.
class PrefixingVocabulary final : public Vocabulary {
 public:
  int32_t size() const override { return 256; }
  std::vector<Token> tokenize(std::string_view text, ControlTokens) const override {
    std::vector<Token> tokens = {' '};
    for (const char c : text)
      tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
  }
  void append_bytes(Token token, std::string& text) const override {
    text += static_cast<char>(token);
  }
  bool ends_answer(Token) const override { return false; }
  std::optional<Token> begin_token() const override { return std::nullopt; }
};

TEST_F(EmbeddedBackendTest, AFormatWhoseTokensTheVocabularyLacksIsTextInOnePiece) {
  const PrefixingVocabulary vocabulary;
  EmbeddedBackend model = backend(vocabulary, ChatFormat::kChatMl);
  const llm::Request request{.chat = chat_of("hi")};
  std::string text;
  for (const Token token : tokens_of(model, request))
    vocabulary.append_bytes(token, text);
  EXPECT_EQ(text, " <|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
}

TEST_F(EmbeddedBackendTest, ABarePromptMayBringItsOwnControlTokens) {
  EmbeddedBackend plain = backend(bytes_, ChatFormat::kChatMl);
  EXPECT_EQ(tokens_of(plain, completion("a<|im_end|>")),
            (std::vector<Token>{'a', ByteVocabulary::kEnd}));
}

TEST_F(EmbeddedBackendTest, TheBeginTokenIsPutInFront) {
  const ByteVocabulary with_begin(true);
  EmbeddedBackend plain = backend(with_begin, ChatFormat::kChatMl);
  EXPECT_EQ(tokens_of(plain, completion("a")), (std::vector<Token>{ByteVocabulary::kBegin, 'a'}));
}

TEST_F(EmbeddedBackendTest, WithoutALimitTheDefaultHoldsCappedByTheContext) {
  EmbeddedBackend plain = backend(bytes_, ChatFormat::kChatMl);
  const auto tokens = [&](llm::Request request) {
    return std::get<llm::Answer>(ask(plain, std::move(request))).usage.completion_tokens;
  };
  EXPECT_EQ(tokens(completion("abc")), 7);
  llm::Request more = completion("abc");
  more.output_tokens_max = 1000;
  EXPECT_EQ(tokens(more), 97);
}

TEST_F(EmbeddedBackendTest, APromptThatFillsTheContextIsRefusedWithItsNumbers) {
  EmbeddedBackend plain = backend(bytes_, ChatFormat::kChatMl);
  const llm::Outcome outcome = ask(plain, completion(std::string(100, 'x')));
  const auto& failure = std::get<llm::Failure>(outcome);
  EXPECT_EQ(failure.status, 400);
  EXPECT_EQ(failure.code, "context_length_exceeded");
  EXPECT_EQ(failure.param, "prompt");
  EXPECT_EQ(
      failure.message,
      "the prompt has 100 tokens; with one token to answer, at most 99 fit the context of 100 "
      "(--ctx raises it up to what the model was trained for)");
  EXPECT_EQ(
      std::get<llm::Answer>(ask(plain, completion(std::string(99, 'x')))).usage.completion_tokens,
      1);
}

// Says how long a token may be, and remembers how much it was asked to tokenise.
class MeasuredVocabulary final : public Vocabulary {
 public:
  int32_t size() const override { return bytes_.size(); }
  std::vector<Token> tokenize(std::string_view text, ControlTokens control) const override {
    longest_text_ = std::max(longest_text_.load(), text.size());
    return bytes_.tokenize(text, control);
  }
  void append_bytes(Token token, std::string& text) const override {
    bytes_.append_bytes(token, text);
  }
  std::optional<size_t> token_bytes_max() const override { return 12; }  // <|im_start|>
  bool ends_answer(Token token) const override { return bytes_.ends_answer(token); }
  std::optional<Token> begin_token() const override { return std::nullopt; }

  size_t longest_text() const { return longest_text_; }

 private:
  ByteVocabulary bytes_;
  mutable std::atomic<size_t> longest_text_ = 0;
};

TEST_F(EmbeddedBackendTest, APromptThatCannotFitByItsBytesIsNotTokenised) {
  const MeasuredVocabulary vocabulary;
  EmbeddedBackend model = backend(vocabulary, ChatFormat::kChatMl);
  const std::string start = "<|im_start|>";
  std::string fits;
  for (int i = 0; i < 99; ++i)
    fits += start;
  EXPECT_EQ(tokens_of(model, completion(fits)).size(), 99U);
  EXPECT_EQ(vocabulary.longest_text(), fits.size());

  const llm::Outcome one_more = ask(model, completion(fits + "x"));
  EXPECT_EQ(std::get<llm::Failure>(one_more).code, "context_length_exceeded");
  EXPECT_EQ(
      std::get<llm::Failure>(one_more).message,
      "the prompt has at least 100 tokens; with one token to answer, at most 99 fit the context of "
      "100 (--ctx raises it up to what the model was trained for)");
  const llm::Outcome chat = ask(model, {.chat = chat_of(std::string(5000, 'x'))});
  EXPECT_EQ(std::get<llm::Failure>(chat).code, "context_length_exceeded");
  EXPECT_EQ(std::get<llm::Failure>(chat).param, "messages");
  EXPECT_EQ(vocabulary.longest_text(), fits.size()) << "what cannot fit was tokenised";
}

TEST_F(EmbeddedBackendTest, AnEmptyPromptIsRefused) {
  EmbeddedBackend plain = backend(bytes_, ChatFormat::kChatMl);
  EXPECT_EQ(std::get<llm::Failure>(ask(plain, completion(""))).code, "empty_prompt");
}

TEST_F(EmbeddedBackendTest, AnUnknownChatFormatStopsChatsButNotCompletions) {
  EmbeddedBackend plain = backend(bytes_, Error{ErrorKind::kUnavailable, "not this template"});
  const llm::Outcome chat = ask(plain, {.chat = chat_of("hi")});
  EXPECT_EQ(std::get<llm::Failure>(chat).failure_class, llm::FailureClass::kBackend);
  EXPECT_EQ(std::get<llm::Failure>(chat).message, "not this template");
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(ask(plain, completion("hi"))));
}

}  // namespace
}  // namespace windrow::engine
