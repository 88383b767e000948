// Requests that are about scores: one token and its alternatives, as rerankers built on a chat
// model ask (a yes or no for each passage), and prompts that are only scored, as evaluation
// harnesses ask (one context with many continuations). Here is what they cost and share; that their
// values are right is shown by step_loop_test.cc and, on real models, by tests/exactness.
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/manual_clock.h"
#include "engine/generate/generation_backend.h"
#include "engine/generate/step_loop.h"
#include "engine/testing/byte_vocabulary.h"
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

  llm::Choice ask(llm::Request request) { return answer_to(std::move(request)).choices.at(0); }

  llm::Answer answer_to(llm::Request request) {
    std::promise<llm::Outcome> promise;
    model_.submit(llm::plain_call(std::move(request)),
                  [&](llm::Outcome outcome) { promise.set_value(std::move(outcome)); });
    const llm::Outcome outcome = promise.get_future().get();
    if (const auto* failure = std::get_if<llm::Failure>(&outcome)) {
      ADD_FAILURE() << failure->message;
      return {.choices = {{}}};
    }
    return std::get<llm::Answer>(outcome);
  }

  // One context with each of the continuations, scored in one request.
  static llm::Request continuations(const std::vector<std::string>& texts) {
    llm::Request request{.endpoint = llm::Endpoint::kCompletions,
                         .output_tokens_max = 0,
                         .echo = true,
                         .logprobs_top = 1};
    for (const std::string& text : texts)
      request.inputs.push_back({.text = kContext + text});
    return request;
  }

  inline static const std::string kContext = "Question: what is the capital of France? Answer: ";

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

// The list is of the model's own probabilities; a bias decides only what is generated.
TEST_F(ScoredRequestsTest, ABiasChangesTheChoiceAndNotTheList) {
  const llm::ScoredToken plain = ask(passage({})).tokens.at(0);
  const float behind = plain.top[0].logprob - plain.top[1].logprob;
  const llm::ScoredToken biased =
      ask(passage({{.token = plain.top[1].token, .bias = behind + 1}})).tokens.at(0);
  EXPECT_EQ(biased.top, plain.top);
  EXPECT_EQ(biased.chosen, plain.top[1]) << "with the log-probability that it had";
}

// Twenty of them at once, beside rows that decode: the head is computed once, the rest goes as
// slots are free, and no row stalls.
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
    row.done = [&scored](const llm::Outcome& outcome) {
      scored += std::holds_alternative<llm::Answer>(outcome) ? 1 : 0;
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

// Rows that score one context with continuations of their own, in a loop whose steps are counted.
class ScoredRows : public ::testing::Test {
 protected:
  // One more than three steps' outputs: rows wait for a beginning up to where a step ends, not for
  // a few tokens more.
  static constexpr int32_t kShared = 3 * kLimits.step_outputs_max + 1;

  static RunnerLimits limits(Sharing sharing) {
    RunnerLimits limits = kLimits;
    limits.sharing = sharing;
    return limits;
  }

  explicit ScoredRows(const RunnerLimits& limits = kLimits) : runner_(limits) {
    runner_.on_step = [this](std::span<const StepRow> step) {
      for (const StepRow& row : step)
        computed_ += static_cast<int64_t>(row.tokens.size());
    };
  }

  static EngineRequest scored(Token own, int32_t top = 2) {
    std::vector<Token> prompt(kShared);
    for (size_t i = 0; i < prompt.size(); ++i)
      prompt[i] = static_cast<Token>(i % 7);
    prompt.insert(prompt.end(), 10, own);
    return {.prompt = std::move(prompt),
            .output_tokens_max = 0,
            .logprobs_top = top,
            .score_prompt = true};
  }

  // All at once; their answers in order.
  std::vector<llm::Answer> run(StepLoop& loop, std::vector<EngineRequest> rows) {
    std::vector<llm::Answer> answers(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i].done = [&answers, i](llm::Outcome outcome) {
        answers[i] = std::get<llm::Answer>(std::move(outcome));
      };
      loop.add(std::move(rows[i]));
    }
    while (loop.step()) {
    }
    return answers;
  }

  // One context with 20 continuations.
  void expect_scored_once() {
    StepLoop loop(runner_, vocabulary_, clock_);
    std::vector<EngineRequest> rows;
    for (Token own = 10; own < 30; ++own)
      rows.push_back(scored(own));
    const std::vector<llm::Answer> answers = run(loop, std::move(rows));
    // Where a row parts from the others one token is computed again, and its last one never is.
    EXPECT_EQ(computed_, kShared + 9 + 19 * (1 + 9));
    EXPECT_EQ(answers[0].usage.cached_tokens, 0);
    for (size_t i = 1; i < answers.size(); ++i) {
      EXPECT_EQ(answers[i].usage.cached_tokens, kShared - 1);
      const auto& first = answers[0].choices[0].tokens;
      const auto& tokens = answers[i].choices[0].tokens;
      EXPECT_TRUE(std::equal(first.begin(), first.begin() + kShared, tokens.begin()))
          << "not the same bit for bit";
    }
    EXPECT_EQ(loop.stats().cells_used, 0);
  }

  ManualClock clock_;
  ByteVocabulary vocabulary_;
  ScriptedRunner runner_;
  int64_t computed_ = 0;
};

TEST_F(ScoredRows, AContextIsScoredOnceForAllItsContinuations) {
  expect_scored_once();
}

TEST_F(ScoredRows, MoreAlternativesAreComputedAgainAndFewerAreTakenFromThem) {
  StepLoop loop(runner_, vocabulary_, clock_);
  const std::vector<llm::Answer> answers = run(loop, [] {
    std::vector<EngineRequest> rows;
    for (const int32_t top : {1, 5, 3, 0})
      rows.push_back(scored(static_cast<Token>(10 + top), top));
    return rows;
  }());
  EXPECT_EQ(answers[0].usage.cached_tokens, 0);
  EXPECT_EQ(answers[1].usage.cached_tokens, 0);
  EXPECT_EQ(answers[2].usage.cached_tokens, kShared - 1);
  EXPECT_EQ(answers[3].usage.cached_tokens, kShared - 1);
}

// A row that also answers, and several choices of one prompt.
TEST_F(ScoredRows, RowsThatAnswerTakeScoresToo) {
  StepLoop loop(runner_, vocabulary_, clock_);
  std::vector<EngineRequest> rows;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    rows.push_back(scored(10));
    rows.back().output_tokens_max = 12;
    rows.back().sampling = {.temperature = 1, .seed = seed};
    rows.back().ignore_eos = true;
  }
  const std::vector<llm::Answer> answers = run(loop, std::move(rows));
  for (size_t i = 1; i < answers.size(); ++i)
    EXPECT_EQ(answers[i].usage.cached_tokens, kShared - 1);
}

class ScoredRowsOfStates : public ScoredRows {
 protected:
  ScoredRowsOfStates() : ScoredRows(limits(Sharing::kExactEnd)) {}
};

TEST_F(ScoredRowsOfStates, AContextIsScoredOnceForAllItsContinuations) {
  expect_scored_once();
}

class ScoredRowsUnshared : public ScoredRows {
 protected:
  ScoredRowsUnshared() : ScoredRows(limits(Sharing::kNothing)) {}
};

TEST_F(ScoredRowsUnshared, EveryRowIsScoredOnItsOwn) {
  StepLoop loop(runner_, vocabulary_, clock_);
  for (const llm::Answer& answer : run(loop, {scored(10), scored(11), scored(12)}))
    EXPECT_EQ(answer.usage.cached_tokens, 0);
  EXPECT_EQ(computed_, 3 * (kShared + 9));
}

TEST_F(ScoredRequestsTest, ThePromptsOfOneRequestShareTheirScores) {
  const llm::Answer answer = answer_to(continuations({"Paris", "Rome", "Berlin"}));
  ASSERT_EQ(answer.choices.size(), 3U);
  const auto shared = static_cast<std::ptrdiff_t>(kContext.size());
  EXPECT_EQ(answer.usage.cached_tokens, 2 * (shared - 1));
  for (const llm::Choice& choice : answer.choices) {
    EXPECT_TRUE(std::equal(choice.tokens.begin(), choice.tokens.begin() + shared,
                           answer.choices[0].tokens.begin()));
  }
  EXPECT_EQ(answer.choices[1], ask(continuations({"Rome"}))) << "as it is alone";
}

// As an evaluation that knows what its continuations have in common.
TEST_F(ScoredRequestsTest, ContinuationsOfAnUnscoredPrefixComputeItOnce) {
  std::string prefix;
  while (prefix.size() < 200)
    prefix += kContext;
  llm::Request request{.endpoint = llm::Endpoint::kCompletions,
                       .output_tokens_max = 0,
                       .prompt_logprobs_top = 0,
                       .score_from = static_cast<int32_t>(prefix.size())};
  for (int i = 0; i < 32; ++i)
    request.inputs.push_back({.text = prefix + "answer " + std::to_string(i)});
  const llm::Answer answer = answer_to(request);
  ASSERT_EQ(answer.choices.size(), 32U);
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(answer.choices[i].prompt_scores.size(),
              request.inputs[i].text.size() - prefix.size());
    EXPECT_TRUE(answer.choices[i].tokens.empty());
  }
  const auto own = answer.usage.prompt_tokens - static_cast<int32_t>(32 * prefix.size());
  EXPECT_LE(answer.usage.prompt_tokens - answer.usage.cached_tokens,
            static_cast<int32_t>(prefix.size()) + own + 32);

  // The scores are those of the whole prompt.
  llm::Request whole = request;
  whole.score_from = 0;
  const llm::Answer all = answer_to(whole);
  for (size_t i = 0; i < 32; ++i) {
    const std::vector<llm::ScoredToken>& scores = all.choices[i].prompt_scores;
    ASSERT_EQ(scores.size(), request.inputs[i].text.size());
    EXPECT_TRUE(std::equal(scores.begin() + static_cast<std::ptrdiff_t>(prefix.size()),
                           scores.end(), answer.choices[i].prompt_scores.begin()));
  }
}

TEST_F(ScoredRequestsTest, ThePromptsScoresStandApartFromTheAnswers) {
  llm::Request request{.chat = passage({}).chat,
                       .sampling = {.temperature = 0},
                       .output_tokens_max = 3,
                       .logprobs_top = 1,
                       .prompt_logprobs_top = 2};
  const llm::Answer answer = answer_to(request);
  const llm::Choice& choice = answer.choices.at(0);
  EXPECT_EQ(std::ssize(choice.prompt_scores), answer.usage.prompt_tokens);
  EXPECT_FALSE(choice.prompt_scores.at(0).has_logprob);
  for (size_t i = 1; i < choice.prompt_scores.size(); ++i) {
    const llm::ScoredToken& scored = choice.prompt_scores[i];
    ASSERT_EQ(scored.top.size(), 2U);
    EXPECT_GE(scored.rank, 1);
    if (scored.rank == 1) EXPECT_EQ(scored.chosen.logprob, scored.top[0].logprob);
    if (scored.rank > 1) EXPECT_LT(scored.chosen.logprob, scored.top[0].logprob);
  }
  ASSERT_EQ(choice.tokens.size(), 3U);
  for (const llm::ScoredToken& scored : choice.tokens)
    EXPECT_EQ(scored.top.size(), 1U);
}

}  // namespace
}  // namespace windrow::engine
