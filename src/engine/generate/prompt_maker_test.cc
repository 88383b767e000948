#include "engine/generate/prompt_maker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/testing/byte_vocabulary.h"

namespace windrow::engine {
namespace {

using testing::ByteVocabulary;

constexpr PromptLimits kLimits{.row_tokens_max = 100};
constexpr int64_t kNow = 1'700'000'000;

struct HasTokenizer {
  ModelTokenizer tokenizer;
};

// A PromptMaker with a tokenizer of its own.
struct Maker : HasTokenizer, PromptMaker {
  Maker(const Vocabulary& vocabulary, Result<chat::ChatTemplate> chat_template,
        const PromptLimits& limits)
      : HasTokenizer{ModelTokenizer(vocabulary, std::move(chat_template), kNow,
                                    limits.row_tokens_trained)},
        PromptMaker(tokenizer, limits) {}
};

Result<chat::ChatTemplate> chat_ml() {
  return chat::ChatTemplate::make("chatml", {});
}

llm::Request completion(std::string prompt) {
  return {.endpoint = llm::Endpoint::kCompletions, .inputs = {{.text = std::move(prompt)}}};
}

llm::Request chat_of(const std::string& content) {
  return {.chat = {.messages = {{{"role", "user"}, {"content", content}}}}};
}

Prompts made(const PromptMaker& maker, const llm::Request& request) {
  return std::get<Prompts>(maker.make(request));
}

llm::Failure refused(const PromptMaker& maker, const llm::Request& request) {
  return std::get<llm::Failure>(maker.make(request));
}

TEST(PromptMaker, AChatIsOnePromptAndUserTextStaysText) {
  const ByteVocabulary vocabulary;
  const Maker maker(vocabulary, chat_ml(), kLimits);
  const Prompts prompts = made(maker, chat_of("<|im_end|>"));
  ASSERT_EQ(prompts.tokens.size(), 1U);
  const std::vector<Token>& tokens = prompts.tokens[0];
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), ByteVocabulary::kEnd), 1);
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), ByteVocabulary::kTurn), 2);
  EXPECT_TRUE(prompts.chat_end.ends_with("<|im_start|>assistant\n"));
}

TEST(PromptMaker, AWishCountsWhereTheTemplateKnowsIt) {
  const ByteVocabulary vocabulary;
  const Maker knows(
      vocabulary,
      chat::ChatTemplate::make("{{ messages[0].content }}{{ 1 if enable_thinking else 0 }}", {}),
      kLimits);
  llm::Request request = chat_of("");
  request.chat.wishes["enable_thinking"] = true;
  EXPECT_EQ(made(knows, request).tokens[0], std::vector<Token>{'1'});
  request.chat.template_arguments["enable_thinking"] = false;
  EXPECT_EQ(made(knows, request).tokens[0], std::vector<Token>{'0'}) << "an argument wins";

  const Maker plain(vocabulary, chat_ml(), kLimits);
  llm::Request wishing = chat_of("hi");
  wishing.chat.wishes["enable_thinking"] = true;
  EXPECT_EQ(made(plain, wishing).tokens, made(plain, chat_of("hi")).tokens);
}

TEST(PromptMaker, AnEffortIsWhatTheTemplateKnowsOfIt) {
  const ByteVocabulary vocabulary;
  const auto written = [&](std::string_view source, const llm::Request& request) {
    const Maker maker(vocabulary, chat::ChatTemplate::make(source, {}), kLimits);
    std::string text;
    const Prompts prompts = made(maker, request);
    for (const Token token : prompts.tokens[0])
      text += static_cast<char>(token);
    return text;
  };
  constexpr std::string_view kMeasure = "{{ messages[0].content }}{{ reasoning_effort }}";
  constexpr std::string_view kSwitch =
      "{{ messages[0].content }}{{ 'on' if enable_thinking else 'off' }}";
  llm::Request request = chat_of("x");
  request.chat.wishes["reasoning_effort"] = "low";
  EXPECT_EQ(written(kMeasure, request), "xlow");
  EXPECT_EQ(written(kSwitch, request), "xon");
  EXPECT_EQ(written("{{ messages[0].content }}", request), "x");
  request.chat.wishes["reasoning_effort"] = "none";
  EXPECT_EQ(written(kMeasure, request), "xnone");
  EXPECT_EQ(written(kSwitch, request), "xoff");
  request.chat.wishes["enable_thinking"] = true;
  EXPECT_EQ(written(kSwitch, request), "xon") << "what says it outright wins";
}

TEST(PromptMaker, ABarePromptMayBringItsOwnControlTokens) {
  const ByteVocabulary vocabulary;
  const Maker maker(vocabulary, chat_ml(), kLimits);
  EXPECT_EQ(made(maker, completion("a<|im_end|>")).tokens[0],
            (std::vector<Token>{'a', ByteVocabulary::kEnd}));
}

TEST(PromptMaker, TheBeginTokenIsInFrontOnce) {
  const ByteVocabulary vocabulary(true);
  const Maker maker(vocabulary,
                    chat::ChatTemplate::make("{{ bos_token }}x", {.begin = "<|begin|>"}), kLimits);
  const std::vector<Token> expected = {ByteVocabulary::kBegin, 'x'};
  EXPECT_EQ(made(maker, completion("x")).tokens[0], expected);
  EXPECT_EQ(made(maker, chat_of("")).tokens[0], expected) << "the template writes it itself";
  const Maker bare(vocabulary, chat::ChatTemplate::make("x", {}), kLimits);
  EXPECT_EQ(made(bare, chat_of("")).tokens[0], expected) << "the template leaves it out";
}

TEST(PromptMaker, SeveralPromptsAndTokensAsTheyAre) {
  const ByteVocabulary vocabulary(true);
  const Maker maker(vocabulary, chat_ml(), kLimits);
  llm::Request request = completion("ab");
  request.inputs.push_back({.text = "", .tokens = {'c', ByteVocabulary::kTurn}});
  const std::vector<std::vector<Token>> expected = {{ByteVocabulary::kBegin, 'a', 'b'},
                                                    {'c', ByteVocabulary::kTurn}};
  EXPECT_EQ(made(maker, request).tokens, expected);

  request.inputs[1].tokens = {1, 259};
  EXPECT_EQ(refused(maker, request).param, "prompt[1]");
  EXPECT_EQ(refused(maker, request).message,
            "prompt[1] holds the token 259 at place 1; the model's tokens are 0 to 258");
}

TEST(PromptMaker, APromptThatFillsTheContextIsRefusedWithItsNumbers) {
  const ByteVocabulary vocabulary;
  const Maker maker(vocabulary, chat_ml(), kLimits);
  EXPECT_EQ(made(maker, completion(std::string(99, 'x'))).tokens[0].size(), 99U);
  const llm::Failure failure = refused(maker, completion(std::string(100, 'x')));
  EXPECT_EQ(failure.status, 400);
  EXPECT_EQ(failure.code, "context_length_exceeded");
  EXPECT_EQ(failure.param, "prompt");
  EXPECT_EQ(failure.message,
            "this model's maximum context length is 100 tokens, and the prompt has 100 tokens, of "
            "which at most 99 fit beside an answer; shorten it");
  EXPECT_EQ(failure.prompt_excess, (llm::PromptExcess{.tokens = 100, .tokens_max = 99}));
  llm::Request scored = completion(std::string(100, 'x'));
  scored.echo = true;
  scored.output_tokens_max = 0;
  EXPECT_EQ(made(maker, scored).tokens[0].size(), 100U) << "what only reads needs no more";

  const Maker small(vocabulary, chat_ml(), {.row_tokens_max = 100, .row_tokens_trained = 4096});
  EXPECT_EQ(
      refused(small, completion(std::string(100, 'x'))).message,
      failure.message + ", or start with a larger --ctx: the model was trained for 4096 tokens");
}

TEST(PromptMaker, AnEmptyPromptIsRefused) {
  const ByteVocabulary vocabulary;
  const Maker maker(vocabulary, chat_ml(), kLimits);
  EXPECT_EQ(refused(maker, completion("")).code, "empty_prompt");
}

// Says how long a token may be, and remembers how much it was asked to tokenise.
class MeasuredVocabulary final : public Vocabulary {
 public:
  int32_t size() const override { return bytes_.size(); }
  std::vector<Token> tokenize(std::string_view text, ControlTokens control) const override {
    longest_text_ = std::max(longest_text_, text.size());
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
  mutable size_t longest_text_ = 0;
};

TEST(PromptMaker, APromptThatCannotFitByItsBytesIsNotTokenised) {
  const MeasuredVocabulary vocabulary;
  const Maker maker(vocabulary, chat_ml(), kLimits);
  std::string fits;
  for (int i = 0; i < 99; ++i)
    fits += "<|im_start|>";
  EXPECT_EQ(made(maker, completion(fits)).tokens[0].size(), 99U);
  EXPECT_EQ(vocabulary.longest_text(), fits.size());

  EXPECT_EQ(refused(maker, completion(fits + "x")).message,
            "this model's maximum context length is 100 tokens, and the prompt has at least 100 "
            "tokens, of which at most 99 fit beside an answer; shorten it");
  EXPECT_EQ(refused(maker, chat_of(std::string(5000, 'x'))).param, "messages");
  EXPECT_EQ(vocabulary.longest_text(), fits.size()) << "what cannot fit was tokenised";
}

TEST(PromptMaker, AModelWithoutATemplateAnswersCompletions) {
  const ByteVocabulary vocabulary;
  const Maker maker(vocabulary, Error{ErrorKind::kUnavailable, "it has none"}, kLimits);
  const llm::Failure failure = refused(maker, chat_of("hi"));
  EXPECT_EQ(failure.failure_class, llm::FailureClass::kRequest) << "others go on";
  EXPECT_EQ(failure.message, "it has none");
  EXPECT_EQ(made(maker, completion("hi")).tokens[0].size(), 2U);
}

TEST(PromptMaker, WhatATemplateRefusesIsTheRowsFailure) {
  const ByteVocabulary vocabulary;
  const Maker refuses(
      vocabulary, chat::ChatTemplate::make("{{ raise_exception('no system role') }}", {}), kLimits);
  EXPECT_EQ(refused(refuses, chat_of("hi")).code, "chat_template_refused");
  EXPECT_EQ(refused(refuses, chat_of("hi")).message,
            "the model's chat template refuses these messages: no system role");
  EXPECT_EQ(refused(refuses, chat_of("hi")).failure_class, llm::FailureClass::kRequest);

  const Maker breaks(vocabulary, chat::ChatTemplate::make("{{ nothing.at.all }}", {}), kLimits);
  EXPECT_EQ(refused(breaks, chat_of("hi")).code, "chat_template_failed");

  const Maker plain(vocabulary, chat_ml(), kLimits);
  llm::Request thinking = chat_of("hi");
  thinking.chat.template_arguments["enable_thinking"] = true;
  EXPECT_EQ(refused(plain, thinking).code, "unsupported_by_model");
  EXPECT_EQ(refused(plain, thinking).param, "chat_template_kwargs.enable_thinking");
  EXPECT_EQ(refused(refuses, chat_of("hi")).param, "messages");
}

}  // namespace
}  // namespace windrow::engine
