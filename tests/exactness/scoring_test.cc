// Scored prompts (`echo` with log-probabilities): every position as plain libllama has it, however
// the prompt was cut into chunks and preempted, and whoever computed it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "base/testing/manual_clock.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"
#include "engine/model_runner.h"
#include "engine/step_loop.h"
#include "exactness/plain_row.h"

namespace windrow::exactness {
namespace {

using engine::EngineRequest;
using engine::LlamaLibrary;
using engine::LlamaModel;
using engine::Token;

LlamaLibrary& library() {
  static const std::unique_ptr<LlamaLibrary> kLibrary = LlamaLibrary::start("").value();
  return *kLibrary;
}

// The real model, said to have room for fewer logits: steps are then cut by their outputs.
class FewOutputs final : public engine::ModelRunner {
 public:
  FewOutputs(std::unique_ptr<engine::ModelRunner> runner, int32_t step_outputs_max)
      : runner_(std::move(runner)), limits_(runner_->limits()) {
    limits_.step_outputs_max = step_outputs_max;
  }

  const engine::RunnerLimits& limits() const override { return limits_; }
  void change(const engine::MemoryChange& change) override { runner_->change(change); }
  Result<void> run(std::span<const engine::StepRow> step) override {
    int32_t outputs = 0;
    for (const engine::StepRow& row : step)
      outputs += row.outputs_count;
    EXPECT_LE(outputs, limits_.step_outputs_max);
    return runner_->run(step);
  }
  std::span<const float> logits(size_t index) const override { return runner_->logits(index); }

 private:
  std::unique_ptr<engine::ModelRunner> runner_;
  engine::RunnerLimits limits_;
};

struct Row {
  std::vector<Token> prompt;
  int32_t output_tokens = 0;
  int32_t top = 0;
};

// Log-probabilities of the prompt from its second token on and of the answer, from the logits that
// plain calls give for each position.
void expect_scored(const PlainModel& plain, const Row& row, const llm::Choice& choice) {
  std::vector<llama_token> tokens;
  for (const llm::ScoredToken& one : choice.tokens)
    tokens.push_back(one.chosen.token);
  ASSERT_EQ(tokens.size(), row.prompt.size() + static_cast<size_t>(row.output_tokens));
  ASSERT_TRUE(std::equal(row.prompt.begin(), row.prompt.end(), tokens.begin()));
  EXPECT_FALSE(choice.tokens[0].has_logprob);
  const std::vector<llama_token> rest(tokens.begin() + 1, tokens.end());
  const PlainRow alone = plain.run({tokens[0]}, static_cast<int>(rest.size()), {}, &rest);
  for (size_t i = 0; i < rest.size(); ++i) {
    const llm::ScoredToken& scored = choice.tokens[i + 1];
    ASSERT_TRUE(scored.has_logprob);
    ASSERT_NEAR(scored.chosen.logprob, logprob_of(alone.logits[i], rest[i]), 1e-5)
        << "position " << i + 1;
    ASSERT_EQ(scored.top.size(), static_cast<size_t>(row.top));
    if (row.top > 0) {
      ASSERT_NEAR(scored.top[0].logprob, alone.logprobs[i], 1e-5) << "position " << i + 1;
    }
    for (const llm::TokenLogprob& one : scored.top)
      ASSERT_NEAR(one.logprob, logprob_of(alone.logits[i], one.token), 1e-5);
  }
}

class Scoring : public ::testing::TestWithParam<const char*> {};

TEST_P(Scoring, EveryTokenOfAPromptHasTheProbabilityItHasAlone) {
  const std::string path = test_model(GetParam(), "f32");
  const auto model = LlamaModel::load(library(), path, {}).value();
  const PlainModel plain(path);
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    FewOutputs runner(model
                          ->make_runner({.cells_max = 256,
                                         .rows_max = 6,
                                         .step_tokens_max = 64,
                                         .threads = 1,
                                         .kv_type = engine::KvType::kF32,
                                         .flash_attention = engine::FlashAttention::kOff})
                          .value(),
                      static_cast<int32_t>(random.between(6, 30)));
    std::vector<Row> rows(14);
    for (Row& row : rows) {
      row.prompt.resize(static_cast<size_t>(random.chance(0.3) ? random.between(60, 120)
                                                               : random.between(1, 40)));
      for (Token& token : row.prompt)
        token = static_cast<Token>(random.below(500));
      // Longer answers than the plan expects at first, so that its memory ends.
      row.output_tokens = random.chance(0.4) ? 0 : static_cast<int32_t>(random.between(80, 130));
      row.top = static_cast<int32_t>(random.below(6));
    }
    std::map<size_t, llm::Answer> answers;
    windrow::testing::ManualClock clock;
    engine::StepLoop loop(runner, model->vocabulary(), clock,
                          {.step_target = std::chrono::milliseconds(50),
                           .sampling_threads = {.count = 2, .logits_min = 0}});
    for (size_t i = 0; i < rows.size(); ++i) {
      loop.add(EngineRequest{.prompt = rows[i].prompt,
                             .output_tokens_max = rows[i].output_tokens,
                             .sampling = {.temperature = 0},
                             .ignore_eos = true,
                             .logprobs_top = rows[i].top,
                             .score_prompt = true,
                             .done = [&answers, i](llm::Outcome outcome) {
                               answers[i] = std::get<llm::Answer>(std::move(outcome));
                             }});
      for (int64_t steps = random.between(0, 3); steps > 0; --steps) {
        clock.advance(std::chrono::milliseconds(random.below(200)));
        loop.step();
      }
    }
    while (loop.step()) {
    }
    EXPECT_GT(loop.stats().preemptions, 0) << "the memory was not small enough to test anything";
    ASSERT_EQ(answers.size(), rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      SCOPED_TRACE(::testing::Message() << "row " << i);
      expect_scored(plain, rows[i], answers.at(i).choices.at(0));
      if (HasFatalFailure()) return;
    }
  }
}

// Contexts with continuations of their own, as evaluation harnesses ask for them, in a memory that
// is too small for all, beside rows that answer.
TEST_P(Scoring, AScoreThatAnotherRowComputedIsTheSame) {
  const std::string path = test_model(GetParam(), "f32");
  const auto model = LlamaModel::load(library(), path, {}).value();
  const PlainModel plain(path);
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    std::vector<std::vector<Token>> contexts(3);
    for (std::vector<Token>& context : contexts) {
      context.resize(static_cast<size_t>(random.between(40, 90)));
      for (Token& token : context)
        token = static_cast<Token>(random.below(500));
    }
    std::vector<Row> rows(18);
    for (Row& row : rows) {
      row.prompt = contexts[static_cast<size_t>(random.below(contexts.size()))];
      for (int64_t own = random.between(1, 12); own > 0; --own)
        row.prompt.push_back(static_cast<Token>(random.below(500)));
      row.output_tokens = random.chance(0.2) ? static_cast<int32_t>(random.between(1, 60)) : 0;
      row.top = static_cast<int32_t>(random.below(3));
    }
    const auto answers = [&](bool share) {
      FewOutputs runner(model
                            ->make_runner({.cells_max = 300,
                                           .rows_max = 4,
                                           .step_tokens_max = 64,
                                           .threads = 1,
                                           .kv_type = engine::KvType::kF32,
                                           .flash_attention = engine::FlashAttention::kOff,
                                           .share = share})
                            .value(),
                        20);
      const windrow::testing::ManualClock clock;
      std::vector<llm::Answer> answers(rows.size());
      engine::StepLoop loop(runner, model->vocabulary(), clock);
      for (size_t i = 0; i < rows.size(); ++i) {
        loop.add(EngineRequest{.prompt = rows[i].prompt,
                               .output_tokens_max = rows[i].output_tokens,
                               .sampling = {.temperature = 0},
                               .ignore_eos = true,
                               .logprobs_top = rows[i].top,
                               .score_prompt = true,
                               .urgency = static_cast<llm::Urgency>(i % 3),
                               .done = [&answers, i](llm::Outcome outcome) {
                                 answers[i] = std::get<llm::Answer>(std::move(outcome));
                               }});
      }
      while (loop.step()) {
      }
      return answers;
    };
    const std::vector<llm::Answer> shared = answers(true);
    const std::vector<llm::Answer> unshared = answers(false);
    int32_t cached = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      SCOPED_TRACE(::testing::Message() << "row " << i);
      cached += shared[i].usage.cached_tokens;
      EXPECT_EQ(unshared[i].usage.cached_tokens, 0);
      expect_scored(plain, rows[i], shared[i].choices.at(0));
      expect_scored(plain, rows[i], unshared[i].choices.at(0));
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(cached, 300);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Scoring,
                         ::testing::Values("llama", "qwen3", "moe", "hybrid", "swa"),
                         [](const auto& family) { return std::string(family.param); });

}  // namespace
}  // namespace windrow::exactness
