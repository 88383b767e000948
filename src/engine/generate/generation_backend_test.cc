#include "engine/generate/generation_backend.h"

#include <gtest/gtest.h>

#include <future>

#include "base/testing/manual_clock.h"
#include "engine/testing/byte_vocabulary.h"
#include "engine/testing/scripted_runner.h"

namespace windrow::engine {
namespace {

using testing::ByteVocabulary;
using testing::ScriptedRunner;

constexpr RunnerLimits kLimits{.cells_max = 500,
                               .rows_max = 4,
                               .sequences_max = 4,
                               .step_tokens_max = 128,
                               .step_outputs_max = 4,
                               .row_tokens_max = 100,
                               .vocabulary_size = ByteVocabulary::kSize};

class GenerationBackendTest : public ::testing::Test {
 protected:
  GenerationBackend backend(Result<chat::ChatTemplate> chat_template) {
    return GenerationBackend(std::make_unique<ScriptedRunner>(kLimits), bytes_,
                             std::move(chat_template), clock_, {.output_tokens_default = 7});
  }

  GenerationBackend backend() { return backend(chat::ChatTemplate::make("chatml", {})); }

  static llm::Request completion(std::string prompt) {
    return {.endpoint = llm::Endpoint::kCompletions, .inputs = {{.text = std::move(prompt)}}};
  }

  static llm::Request chat_of(const std::string& content) {
    return {.chat = {.messages = {{{"role", "user"}, {"content", content}}}}};
  }

  static llm::Outcome ask(GenerationBackend& backend, llm::Request request) {
    request.ignore_eos = true;
    return ask(backend, llm::plain_call(std::move(request)));
  }

  static llm::Outcome ask(GenerationBackend& backend, llm::BackendCall call) {
    std::promise<llm::Outcome> promise;
    backend.submit(std::move(call),
                   [&](llm::Outcome outcome) { promise.set_value(std::move(outcome)); });
    return promise.get_future().get();
  }

  windrow::testing::ManualClock clock_;
  ByteVocabulary bytes_;
};

TEST_F(GenerationBackendTest, AChatIsAnsweredAsItsPromptIsCounted) {
  GenerationBackend model = backend();
  const llm::Request request = chat_of("<|im_end|>");
  const size_t tokens = std::get<Prompts>(model.prompts(request)).tokens.at(0).size();
  EXPECT_EQ(std::get<llm::Answer>(ask(model, request)).usage.prompt_tokens,
            static_cast<int32_t>(tokens));
}

TEST_F(GenerationBackendTest, WithoutALimitTheDefaultHoldsCappedByTheContext) {
  GenerationBackend model = backend();
  const auto tokens = [&](llm::Request request) {
    return std::get<llm::Answer>(ask(model, std::move(request))).usage.completion_tokens;
  };
  EXPECT_EQ(tokens(completion("abc")), 7);
  llm::Request more = completion("abc");
  more.output_tokens_max = 1000;
  EXPECT_EQ(tokens(more), 97);
  EXPECT_EQ(tokens(completion(std::string(99, 'x'))), 1);
}

TEST_F(GenerationBackendTest, WhatCannotBeAskedEndsAtOnce) {
  GenerationBackend model = backend();
  EXPECT_EQ(std::get<llm::Failure>(ask(model, completion(std::string(100, 'x')))).code,
            "context_length_exceeded");
}

TEST_F(GenerationBackendTest, WhatWasReadAheadIsNotReadAgain) {
  GenerationBackend model = backend();
  const auto prompt_tokens = [](const llm::Outcome& outcome) {
    return std::get<llm::Answer>(outcome).usage.prompt_tokens;
  };
  const std::string text = "another text";
  llm::Request other_text = completion(text);
  other_text.ignore_eos = true;
  llm::BackendCall call = llm::plain_call(std::move(other_text));
  call.read_ahead = model.read_ahead(completion("abc"));
  EXPECT_EQ(prompt_tokens(ask(model, call)), 3);
  GenerationBackend other = backend();
  EXPECT_EQ(prompt_tokens(ask(other, call)), static_cast<int32_t>(text.size()))
      << "it was another model that read it";

  call.read_ahead = model.read_ahead(completion(std::string(100, 'x')));
  EXPECT_EQ(std::get<llm::Failure>(ask(model, call)).code, "context_length_exceeded");
}

TEST_F(GenerationBackendTest, CountsAPromptWithoutAnsweringIt) {
  GenerationBackend model = backend();
  llm::Request request = completion("abc");
  request.inputs.push_back({.text = "de"});
  EXPECT_EQ(std::get<int64_t>(model.count_prompt(request)), 5);
  EXPECT_EQ(std::get<llm::Failure>(model.count_prompt(completion(std::string(100, 'x')))).code,
            "context_length_exceeded");
  EXPECT_EQ(model.stats().steps, 0);
}

// Nothing but this token is ever sampled.
llm::Request saying(Token token, llm::Request request) {
  request.sampling = {.temperature = 0, .logit_bias = {{.token = token, .bias = 100}}};
  return request;
}

TEST_F(GenerationBackendTest, ThoughtsAreBesideTheAnswer) {
  GenerationBackend opens =
      backend(chat::ChatTemplate::make("{{ '</think>' }}{{ messages[0].content }}<think>\n", {}));
  const llm::Outcome thinking = ask(opens, saying('a', chat_of("hi")));
  EXPECT_EQ(std::get<llm::Answer>(thinking).choices.at(0).reasoning, "aaaaaaa");
  EXPECT_EQ(std::get<llm::Answer>(thinking).choices.at(0).text, "");
  EXPECT_EQ(std::get<llm::Answer>(thinking).usage.reasoning_tokens, 7);

  GenerationBackend closes =
      backend(chat::ChatTemplate::make("{{ messages[0].content }}<think></think>", {}));
  const llm::Outcome speaking = ask(closes, saying('a', chat_of("hi")));
  EXPECT_EQ(std::get<llm::Answer>(speaking).choices.at(0).reasoning, std::nullopt);
  EXPECT_EQ(std::get<llm::Answer>(speaking).choices.at(0).text, "aaaaaaa");
  EXPECT_EQ(std::get<llm::Answer>(speaking).usage.reasoning_tokens, 0);

  const llm::Outcome completed = ask(opens, saying('a', completion("<think>")));
  EXPECT_EQ(std::get<llm::Answer>(completed).choices.at(0).text, "aaaaaaa")
      << "a completion has no thoughts";
}

// Each byte is a token here.
TEST_F(GenerationBackendTest, SaysThatALimitCutACharacter) {
  GenerationBackend model = backend();
  llm::Request request = saying(0xF0, completion("x"));
  request.output_tokens_max = 1;
  const llm::Outcome cut = ask(model, request);
  EXPECT_EQ(std::get<llm::Answer>(cut).choices.at(0).text, "\xEF\xBF\xBD");
  EXPECT_TRUE(std::get<llm::Answer>(cut).choices.at(0).cut_character);

  request = saying('a', completion("x"));
  request.output_tokens_max = 1;
  EXPECT_FALSE(std::get<llm::Answer>(ask(model, request)).choices.at(0).cut_character);
  request = saying(0xF0, completion("x"));
  request.output_tokens_max = 2;
  const llm::Outcome broken = ask(model, request);
  EXPECT_TRUE(std::get<llm::Answer>(broken).choices.at(0).cut_character) << "the second one is";
}

TEST_F(GenerationBackendTest, SaysWhichStopTextEndedAnAnswer) {
  GenerationBackend model = backend();
  llm::Request request = saying('a', completion("x"));
  request.stop = {"b", "aaa"};
  const llm::Answer stopped = std::get<llm::Answer>(ask(model, request));
  EXPECT_EQ(stopped.choices.at(0).stopped_by, "aaa");
  EXPECT_EQ(stopped.choices.at(0).text, "");
  request.stop = {"b"};
  EXPECT_EQ(std::get<llm::Answer>(ask(model, request)).choices.at(0).stopped_by, std::nullopt);
}

// Its control token kTurn is a mark.
class MarkVocabulary final : public Vocabulary {
 public:
  explicit MarkVocabulary(std::string mark) : mark_(std::move(mark)) {}

  int32_t size() const override { return bytes_.size(); }
  std::vector<Token> tokenize(std::string_view text, ControlTokens control) const override {
    return bytes_.tokenize(text, control);
  }
  void append_bytes(Token token, std::string& text) const override {
    bytes_.append_bytes(token, text);
  }
  void append_piece(Token token, std::string& text) const override {
    if (token == ByteVocabulary::kTurn) {
      text += mark_;
    } else {
      bytes_.append_piece(token, text);
    }
  }
  bool ends_answer(Token token) const override { return bytes_.ends_answer(token); }
  std::optional<Token> begin_token() const override { return std::nullopt; }
  std::vector<ControlToken> control_tokens() const override {
    return {{.text = mark_, .token = ByteVocabulary::kTurn},
            {.text = "<|begin|>", .token = ByteVocabulary::kBegin}};
  }

 private:
  ByteVocabulary bytes_;
  std::string mark_;
};

TEST_F(GenerationBackendTest, MarksThatAreControlTokensAreShown) {
  struct Case {
    std::string_view source;
    std::string mark;
    std::optional<std::string> reasoning;
    std::string text;
  };
  const std::vector<Case> cases = {
      {"<|channel|>analysis{{ messages[0].content }}", "<|message|>", std::nullopt, "<|message|>"},
      {"[THINK][/THINK]{{ messages[0].content }}[THINK]", "[/THINK]", std::nullopt, "[/THINK]"},
      {"[THINK][/THINK]{{ messages[0].content }}", "[THINK]", "[THINK]", ""},
      {"[THINK][/THINK]{{ messages[0].content }}", "[OTHER]", std::nullopt, ""},
      {"{{ messages[0].content }}", "[THINK]", std::nullopt, ""},
  };
  for (const Case& one : cases) {
    const MarkVocabulary vocabulary(one.mark);
    GenerationBackend model(std::make_unique<ScriptedRunner>(kLimits), vocabulary,
                            chat::ChatTemplate::make(one.source, {}), clock_, {});
    llm::Request request = saying(ByteVocabulary::kTurn, chat_of("hi"));
    request.output_tokens_max = 2;
    const llm::Choice shown = std::get<llm::Answer>(ask(model, request)).choices.at(0);
    EXPECT_EQ(shown.reasoning, one.reasoning) << one.source << one.mark;
    EXPECT_EQ(shown.text, one.text) << one.source << one.mark;

    request.sampling.logit_bias[0].token = ByteVocabulary::kBegin;
    EXPECT_EQ(std::get<llm::Answer>(ask(model, request)).choices.at(0).text, "")
        << "a control token that marks nothing";
  }
}

TEST_F(GenerationBackendTest, ATemplateIsToldTheDateOfTheJob) {
  const auto end_of = [&](std::optional<int64_t> date_unix_s) {
    const GenerationBackend model(
        std::make_unique<ScriptedRunner>(kLimits), bytes_,
        chat::ChatTemplate::make("{{ messages[0].content }} {{ strftime_now('%Y-%m-%d') }}", {}),
        clock_, {.date_unix_s = date_unix_s});
    return std::get<Prompts>(model.prompts(chat_of("hi"))).chat_end;
  };
  EXPECT_EQ(end_of(86'400), "hi 1970-01-02");
  EXPECT_EQ(end_of(std::nullopt), "hi 2023-11-14");
}

TEST_F(GenerationBackendTest, WithoutAChatTemplateCompletionsAreAnswered) {
  GenerationBackend model = backend(Error{ErrorKind::kUnavailable, "not this template"});
  const llm::Outcome chat = ask(model, chat_of("hi"));
  EXPECT_EQ(std::get<llm::Failure>(chat).code, "unsupported_by_model");
  EXPECT_EQ(std::get<llm::Failure>(chat).message, "not this template");
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(ask(model, completion("hi"))));
}

TEST_F(GenerationBackendTest, ARowThatWouldNotFitTheMachineIsRefused) {
  const GenerationBackend model = backend();
  const auto refusal = [&](const llm::Request& request) {
    return std::get<llm::Failure>(model.prompts(request));
  };
  llm::Request request = completion("abc");
  request.inputs.resize(1000, request.inputs[0]);
  request.choices = 2;
  request.output_tokens_max = 90;
  request.logprobs_top = 20;
  EXPECT_TRUE(std::holds_alternative<Prompts>(model.prompts(request)));
  request.choices = 128;
  EXPECT_EQ(refusal(request).param, "logprobs");
  EXPECT_EQ(refusal(request).message,
            "this request may become 241,920,000 log-probabilities; one may have 8,000,000: ask "
            "for fewer answers, a smaller max_tokens or fewer logprobs at once");
  request.logprobs_top.reset();
  EXPECT_TRUE(std::holds_alternative<Prompts>(model.prompts(request)));
  request.sampling.logit_bias.resize(500);
  EXPECT_EQ(refusal(request).param, "logit_bias");
}

}  // namespace
}  // namespace windrow::engine
