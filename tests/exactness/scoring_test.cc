// Scored prompts (`echo` with log-probabilities): every position as plain libllama has it, however
// the prompt was cut into chunks and preempted, and whichever row computed it.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "base/testing/manual_clock.h"
#include "engine/generate/step_loop.h"
#include "engine/host/model_runner.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"
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

// The real model with a lower limit of logits in a step, so that steps are cut by their outputs.
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

class Scoring : public ::testing::TestWithParam<const char*> {
 protected:
  Scoring()
      : path_(test_model(GetParam(), "f32")),
        model_(LlamaModel::load(library(), path_, {}).value()),
        plain_(path_) {}

  // The number format of the cache is exact, and one thread adds in one order.
  FewOutputs runner(engine::LlamaRunnerOptions options, int32_t step_outputs_max) const {
    options.step_tokens_max = 64;
    options.threads = 1;
    options.kv_type = engine::KvType::kF32;
    options.flash_attention = engine::FlashAttention::kOff;
    return {model_->make_runner(options).value(), step_outputs_max};
  }

  // Its answer goes to `answer`.
  static EngineRequest request(const Row& row, llm::Answer& answer) {
    return {.prompt = row.prompt,
            .output_tokens_max = row.output_tokens,
            .sampling = {.temperature = 0},
            .ignore_eos = true,
            .logprobs_top = row.top,
            .score_prompt = true,
            .done = [&answer](llm::Outcome outcome) {
              answer = std::get<llm::Answer>(std::move(outcome));
            }};
  }

  void expect_scored_as_alone(const std::vector<Row>& rows,
                              const std::vector<llm::Answer>& answers) const {
    for (size_t i = 0; i < rows.size(); ++i) {
      SCOPED_TRACE(::testing::Message() << "row " << i);
      ASSERT_EQ(answers[i].choices.size(), 1U) << "not answered";
      expect_scored(plain_, rows[i], answers[i].choices[0]);
      if (HasFatalFailure()) return;
    }
  }

  const std::string path_;
  const std::unique_ptr<LlamaModel> model_;
  const PlainModel plain_;
};

TEST_P(Scoring, EveryTokenOfAPromptHasTheProbabilityItHasAlone) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    FewOutputs few =
        runner({.cells_max = 256, .rows_max = 6}, static_cast<int32_t>(random.between(6, 30)));
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
    std::vector<llm::Answer> answers(rows.size());
    windrow::testing::ManualClock clock;
    engine::StepLoop loop(few, model_->vocabulary(), clock,
                          {.step_target = std::chrono::milliseconds(50),
                           .sampling_threads = {.count = 2, .logits_min = 0}});
    for (size_t i = 0; i < rows.size(); ++i) {
      loop.add(request(rows[i], answers[i]));
      for (int64_t steps = random.between(0, 3); steps > 0; --steps) {
        clock.advance(std::chrono::milliseconds(random.below(200)));
        loop.step();
      }
    }
    while (loop.step()) {
    }
    EXPECT_GT(loop.stats().preemptions, 0) << "the memory was not small enough to test anything";
    expect_scored_as_alone(rows, answers);
    if (HasFatalFailure()) return;
  }
}

// Contexts with continuations of their own, as evaluation harnesses ask for them, in a memory that
// is too small for all, beside rows that answer.
TEST_P(Scoring, AScoreThatAnotherRowComputedIsTheSame) {
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
      FewOutputs few = runner({.cells_max = 300, .rows_max = 4, .share = share}, 20);
      const windrow::testing::ManualClock clock;
      std::vector<llm::Answer> answers(rows.size());
      engine::StepLoop loop(few, model_->vocabulary(), clock);
      for (size_t i = 0; i < rows.size(); ++i) {
        EngineRequest asked = request(rows[i], answers[i]);
        asked.priority = static_cast<llm::Priority>(i % 3);
        loop.add(std::move(asked));
      }
      while (loop.step()) {
      }
      return answers;
    };
    const std::vector<llm::Answer> shared = answers(true);
    const std::vector<llm::Answer> unshared = answers(false);
    expect_scored_as_alone(rows, shared);
    expect_scored_as_alone(rows, unshared);
    if (HasFatalFailure()) return;
    int32_t cached = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      cached += shared[i].usage.cached_tokens;
      EXPECT_EQ(unshared[i].usage.cached_tokens, 0);
    }
    EXPECT_GT(cached, 300);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Scoring,
                         ::testing::Values("llama", "qwen3", "moe", "hybrid", "swa"),
                         [](const auto& family) { return std::string(family.param); });

}  // namespace
}  // namespace windrow::exactness
