// Requests that want one token and its scores, as rerankers built on a chat model ask: a yes or no
// for each passage, read from the log-probabilities.
#include <gtest/gtest.h>

#include <future>

#include "base/testing/manual_clock.h"
#include "engine/generation_backend.h"
#include "engine/step_loop.h"
#include "engine/testing/byte_vocabulary.h"
#include "engine/testing/scripted_answer.h"
#include "engine/testing/scripted_runner.h"

namespace windrow::engine {
namespace {

using testing::ByteVocabulary;
using testing::ScriptedRunner;
using windrow::testing::ManualClock;

constexpr RunnerLimits kLimits{.cells_max = 2000,
                               .rows_max = 8,
                               .sequences_max = 16,
                               .step_tokens_max = 256,
                               .step_outputs_max = 32,
                               .row_tokens_max = 400,
                               .vocabulary_size = ByteVocabulary::kSize,
                               .sharing = Sharing::kAnyRange};

class ScoredRequestsTest : public ::testing::Test {
 protected:
  ScoredRequestsTest()
      : model_(std::make_unique<ScriptedRunner>(kLimits), vocabulary_,
               chat::ChatTemplate::make("chatml", {}), clock_, {}) {}

  // Graphiti's reranker: gpt tokens for yes and no are made a little likelier, by ids that mean
  // something else here or nothing at all.
  static llm::Request passage(std::vector<llm::LogitBias> biases) {
    return {.chat = {.messages = {{{"role", "system"}, {"content", "You judge relevance."}},
                                  {{"role", "user"}, {"content", "Is this relevant? a passage"}}}},
            .sampling = {.temperature = 0, .logit_bias = std::move(biases)},
            .output_tokens_max = 1,
            .logprobs_top = 2};
  }

  llm::Choice ask(llm::Request request) {
    std::promise<llm::Outcome> promise;
    model_.submit(std::move(request),
                  [&](llm::Outcome outcome) { promise.set_value(std::move(outcome)); });
    const llm::Outcome outcome = promise.get_future().get();
    if (const auto* failure = std::get_if<llm::Failure>(&outcome)) {
      ADD_FAILURE() << failure->message;
      return {};
    }
    return std::get<llm::Answer>(outcome).choices.at(0);
  }

  ManualClock clock_;
  ByteVocabulary vocabulary_;
  GenerationBackend model_;
};

TEST_F(ScoredRequestsTest, ThereIsOneTokenWithTwoBesideItWhateverIsBiased) {
  const llm::Choice plain = ask(passage({}));
  ASSERT_EQ(plain.tokens.size(), 1U);
  ASSERT_EQ(plain.tokens[0].top.size(), 2U);
  EXPECT_EQ(plain.tokens[0].chosen, plain.tokens[0].top[0]);
  EXPECT_EQ(ask(passage({{.token = 6432, .bias = 1}, {.token = 7983, .bias = 1}})), plain)
      << "ids that the vocabulary does not have";
}

// The list is of the model's own probabilities; a bias decides only what is said.
TEST_F(ScoredRequestsTest, ABiasChangesTheChoiceAndNotTheList) {
  const llm::ScoredToken plain = ask(passage({})).tokens.at(0);
  const float behind = plain.top[0].logprob - plain.top[1].logprob;
  const llm::ScoredToken biased =
      ask(passage({{.token = plain.top[1].token, .bias = behind + 1}})).tokens.at(0);
  EXPECT_EQ(biased.top, plain.top);
  EXPECT_EQ(biased.chosen, plain.top[1]) << "with the log-probability that it had";
}

// Twenty of them at once, beside rows that decode: the head is computed once, the rest goes as
// places are free, and nobody is stalled.
TEST_F(ScoredRequestsTest, ABurstOfThemTakesFewSteps) {
  int decoded = 0;
  int scored = 0;
  ScriptedRunner runner(kLimits);
  StepLoop loop(runner, vocabulary_, clock_);
  for (Token row = 1; row < 3; ++row) {
    loop.add({.prompt = {row},
              .output_tokens_max = 100,
              .ignore_eos = true,
              .done = [&](const llm::Outcome&) { ++decoded; }});
  }
  ASSERT_TRUE(loop.step());
  for (Token own = 0; own < 20; ++own) {
    std::vector<Token> prompt(100, 9);
    prompt.resize(120, own);
    EngineRequest row{.prompt = std::move(prompt),
                      .output_tokens_max = 1,
                      .sampling = {.temperature = 0},
                      .logprobs_top = 2};
    const llm::Choice alone = testing::scripted_answer(row, kLimits.vocabulary_size).choices[0];
    row.done = [&scored, alone](const llm::Outcome& outcome) {
      ++scored;
      std::string why;
      EXPECT_TRUE(testing::same_choice(std::get<llm::Answer>(outcome).choices[0], alone, why))
          << why;
    };
    loop.add(std::move(row));
  }
  int steps = 0;
  const int64_t generated = loop.stats().generated_tokens;
  const int64_t computed = loop.stats().prompt_tokens;
  while (scored < 20) {
    ASSERT_TRUE(loop.step());
    ++steps;
  }
  EXPECT_EQ(steps, 1 + 4) << "the head, and 19 in the 6 places that are free";
  EXPECT_EQ(loop.stats().generated_tokens - generated, 20 + 2 * steps) << "a row was stalled";
  EXPECT_EQ(loop.stats().prompt_tokens - computed, 120 + 19 * 20);
  EXPECT_EQ(decoded, 0);
}

}  // namespace
}  // namespace windrow::engine
