#include "engine/generate/generation_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
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
                               .vocabulary_size = ByteVocabulary::kSize,
                               .sharing = Sharing::kAnyRange};

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

// Nothing but this token is ever sampled.
llm::Request saying(Token token, llm::Request request) {
  request.sampling = {.temperature = 0, .logit_bias = {{.token = token, .bias = 100}}};
  return request;
}

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

TEST_F(GenerationBackendTest, AChatGivenAsTokensIsAnsweredAsTheSameChatRendered) {
  GenerationBackend model = backend();
  llm::Request rendered = chat_of("hi");
  rendered.return_token_ids = true;
  const auto said = std::get<llm::Answer>(ask(model, rendered));
  ASSERT_EQ(said.prompt_token_ids.size(), 1U);

  llm::Request exact;
  exact.chat_tokens = said.prompt_token_ids.front();
  exact.return_token_ids = true;
  EXPECT_EQ(std::get<int64_t>(model.count_prompt(exact)), std::ssize(exact.chat_tokens));
  const auto again = std::get<llm::Answer>(ask(model, exact));
  EXPECT_EQ(again.choices, said.choices);
  EXPECT_EQ(again.prompt_token_ids, said.prompt_token_ids);
  EXPECT_EQ(again.choices.at(0).token_ids.size(), 7U);
}

TEST_F(GenerationBackendTest, TokensThatAreNoneAreRefusedByTheirField) {
  GenerationBackend model = backend();
  const auto fault = [&](llm::Request request) {
    return std::get<llm::Failure>(ask(model, std::move(request)));
  };
  llm::Request unknown;
  unknown.chat_tokens = {1, ByteVocabulary::kSize};
  EXPECT_EQ(fault(unknown).param, "prompt_token_ids");
  llm::Request negative;
  negative.chat_tokens = {-1};
  EXPECT_EQ(fault(negative).param, "prompt_token_ids");
  llm::Request longer;
  longer.chat_tokens.assign(100, 'a');
  EXPECT_EQ(fault(longer).code, "context_length_exceeded");
  EXPECT_EQ(fault(longer).param, "prompt_token_ids");
  llm::Request stop = chat_of("hi");
  stop.stop_tokens = {ByteVocabulary::kSize};
  EXPECT_EQ(fault(stop).param, "stop_token_ids");

  GenerationBackend without = backend(Error{ErrorKind::kInvalid, "there is no template"});
  llm::Request tools;
  tools.chat_tokens = {'a'};
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(ask(without, tools)))
      << "tokens need no template";
  tools.chat.tools = {{{"type", "function"}, {"function", {{"name", "f"}}}}};
  EXPECT_EQ(std::get<llm::Failure>(ask(without, tools)).param, "tools");
}

TEST_F(GenerationBackendTest, AReasoningThatTheTokensOpenIsSplitOffAllTheSame) {
  GenerationBackend opens =
      backend(chat::ChatTemplate::make("{{ '</think>' }}{{ messages[0].content }}<think>\n", {}));
  llm::Request rendered = saying('a', chat_of("hi"));
  rendered.return_token_ids = true;
  const auto said = std::get<llm::Answer>(ask(opens, rendered));
  ASSERT_EQ(said.choices.at(0).reasoning, "aaaaaaa");
  llm::Request exact;
  exact.chat_tokens = said.prompt_token_ids.at(0);
  EXPECT_EQ(std::get<llm::Answer>(ask(opens, saying('a', exact))).choices.at(0).reasoning,
            "aaaaaaa");
}

TEST_F(GenerationBackendTest, AStopTokenEndsTheAnswerAndIsNoText) {
  GenerationBackend model = backend();
  llm::Request request = completion("abc");
  request.return_token_ids = true;
  const llm::Choice whole = std::get<llm::Answer>(ask(model, request)).choices.at(0);
  ASSERT_EQ(whole.token_ids.size(), 7U);
  request.stop_tokens = {whole.token_ids[3]};
  const auto first = std::ranges::find(whole.token_ids, whole.token_ids[3]);
  const llm::Choice cut = std::get<llm::Answer>(ask(model, request)).choices.at(0);
  EXPECT_EQ(cut.token_ids, std::vector<int32_t>(whole.token_ids.begin(), first + 1));
  EXPECT_EQ(cut.stopped_by_token, whole.token_ids[3]);
  EXPECT_EQ(cut.finish_reason, llm::FinishReason::kStop);
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

// --- holds ---

class HoldTest : public GenerationBackendTest {
 protected:
  static std::vector<int32_t> tokens_of(const std::string& text) {
    return {text.begin(), text.end()};
  }

  static int32_t cached(GenerationBackend& model, const std::string& prompt) {
    return std::get<llm::Answer>(ask(model, completion(prompt))).usage.cached_tokens;
  }

  // The holds and their ends reach the engine with its next step.
  static int32_t cells_used_after_a_step(GenerationBackend& model) {
    llm::Request one = completion("z");
    one.output_tokens_max = 1;
    (void)ask(model, one);
    return model.stats().cells_used;
  }

  const std::string prefix_ = "a prefix of more than sixteen tokens, ";
};

TEST_F(HoldTest, AHeldPrefixIsComputedOnce) {
  GenerationBackend model = backend();
  EXPECT_EQ(cached(model, prefix_ + "one"), 0);
  EXPECT_EQ(cached(model, prefix_ + "two"), 0) << "no hold keeps the prefix in the cache";
  std::unique_ptr<llm::PrefixHold> hold = model.hold(tokens_of(prefix_));
  EXPECT_EQ(cached(model, prefix_ + "three"), 0) << "it is not computed yet";
  EXPECT_EQ(cached(model, prefix_ + "four"), std::ssize(prefix_));
  EXPECT_EQ(model.stats().cells_held, std::ssize(prefix_));
  hold.reset();
  EXPECT_EQ(cells_used_after_a_step(model), 0);
  EXPECT_EQ(cached(model, prefix_ + "five"), 0);
  EXPECT_EQ(model.hold({}), nullptr);
}

// Whatever becomes of the rows and of the owners, the cells come back.
TEST_F(HoldTest, NothingIsLeftAfterErrorsCancelsAndDestroyedOwners) {
  GenerationBackend model = backend();
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<llm::PrefixHold>> holds;
    for (int i = 0; i < 5; ++i)
      holds.push_back(model.hold(tokens_of(prefix_ + std::to_string(round % 3) + "/" +
                                           std::string(static_cast<size_t>(i), 'x'))));
    std::vector<std::stop_source> sources(4);
    std::vector<std::future<llm::Outcome>> outcomes;
    for (std::stop_source& source : sources) {
      llm::Request request = completion(prefix_ + std::to_string(round % 3) + "/xx");
      request.ignore_eos = true;
      llm::BackendCall call = llm::plain_call(std::move(request));
      call.unwanted = source.get_token();
      const auto promise = std::make_shared<std::promise<llm::Outcome>>();
      outcomes.push_back(promise->get_future());
      model.submit(std::move(call),
                   [promise](llm::Outcome outcome) { promise->set_value(std::move(outcome)); });
    }
    sources[0].request_stop();
    holds.erase(holds.begin(), holds.begin() + round % 5);
    sources[1].request_stop();
    (void)ask(model, completion(std::string(200, 'x')));  // refused
    for (auto& outcome : outcomes)
      outcome.wait();
  }
  EXPECT_EQ(cells_used_after_a_step(model), 0);
  EXPECT_EQ(model.stats().cells_held, 0);
  // All sequence ids are free: as many rows as there are run side by side.
  std::vector<std::future<llm::Outcome>> rows;
  for (int i = 0; i < kLimits.rows_max; ++i) {
    const auto promise = std::make_shared<std::promise<llm::Outcome>>();
    rows.push_back(promise->get_future());
    model.submit(llm::plain_call(completion("row " + std::to_string(i))),
                 [promise](llm::Outcome outcome) { promise->set_value(std::move(outcome)); });
  }
  for (auto& row : rows)
    EXPECT_TRUE(std::holds_alternative<llm::Answer>(row.get()));
}

TEST_F(HoldTest, AHoldMayOutliveItsEngine) {
  std::unique_ptr<llm::PrefixHold> hold;
  {
    GenerationBackend model = backend();
    hold = model.hold(tokens_of(prefix_));
    EXPECT_EQ(cached(model, prefix_ + "one"), 0);
  }
  hold.reset();
}

}  // namespace
}  // namespace windrow::engine
