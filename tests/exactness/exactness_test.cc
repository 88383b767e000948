// Every row of a mixed batch - chunked, preempted, joined late - has the answer of the row alone.
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "base/testing/manual_clock.h"
#include "engine/generate/step_loop.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"
#include "exactness/plain_row.h"

namespace windrow::exactness {
namespace {

using engine::EngineRequest;
using engine::LlamaLibrary;
using engine::LlamaModel;
using engine::LlamaRunnerOptions;
using engine::StepRow;
using engine::Token;

// One start a process: libllama's devices are global.
LlamaLibrary& library() {
  static const std::unique_ptr<LlamaLibrary> kLibrary = LlamaLibrary::start("").value();
  return *kLibrary;
}

struct Row {
  std::vector<Token> prompt;
  int32_t output_tokens;
};

std::vector<Row> some_rows(Random& random, int count) {
  std::vector<Row> rows;
  std::vector<Token> shared(40);
  for (Token& token : shared)
    token = static_cast<Token>(random.below(500));
  for (int i = 0; i < count; ++i) {
    Row row;
    if (random.chance(0.5)) row.prompt = shared;
    for (int64_t left = random.between(1, 60); left > 0; --left) {
      row.prompt.push_back(static_cast<Token>(random.below(500)));
    }
    // Some answers are longer than the scheduler expects at first, so that it runs out of cells.
    row.output_tokens =
        static_cast<int32_t>(random.chance(0.3) ? random.between(80, 110) : random.between(1, 40));
    rows.push_back(std::move(row));
  }
  return rows;
}

class Exactness : public ::testing::TestWithParam<const char*> {
 public:
  struct Run {
    std::map<size_t, llm::Answer> answers;
    llm::BackendStats stats;
  };

  static EngineRequest request(const Row& row, Run& run, size_t i) {
    return {.prompt = row.prompt,
            .output_tokens_max = row.output_tokens,
            .sampling = {.temperature = 0},
            .ignore_eos = true,
            .logprobs_top = 0,
            .done = [&run, i](llm::Outcome outcome) {
              run.answers[i] = std::get<llm::Answer>(std::move(outcome));
            }};
  }

 protected:
  // All rows at once.
  Run run_together(const LlamaModel& model, const std::vector<Row>& rows,
                   const LlamaRunnerOptions& options) {
    auto runner = model.make_runner(options).value();
    Run run;
    const windrow::testing::ManualClock clock;
    engine::StepLoop loop(*runner, model.vocabulary(), clock);
    for (size_t i = 0; i < rows.size(); ++i)
      loop.add(request(rows[i], run, i));
    while (loop.step()) {
    }
    run.stats = loop.stats();
    return run;
  }

  // The rows through the engine, submitted at seeded moments, in a memory too small for all of
  // them, with chunks of seeded sizes; some are kept for later ones.
  Run run_batched(const LlamaModel& model, const std::vector<Row>& rows,
                  const LlamaRunnerOptions& options, Random& random) {
    auto runner = model.make_runner(options).value();
    Run run;
    windrow::testing::ManualClock clock;
    {
      // The clock makes steps seem fast or slow, which moves the size of the chunks.
      engine::StepLoop loop(*runner, model.vocabulary(), clock,
                            {.step_target = std::chrono::milliseconds(50)});
      for (size_t i = 0; i < rows.size(); ++i) {
        EngineRequest submitted = request(rows[i], run, i);
        submitted.keep = random.chance(0.3);
        submitted.priority = static_cast<llm::Priority>(random.below(3));
        loop.add(std::move(submitted));
        for (int64_t steps = random.between(0, 5); steps > 0; --steps) {
          clock.advance(std::chrono::milliseconds(random.below(200)));
          loop.step();
        }
      }
      while (loop.step()) {
      }
      run.stats = loop.stats();
    }
    return run;
  }
};

struct Comparison {
  int tokens = 0;
  int tokens_apart = 0;  // with a difference that the arithmetic does not explain
  double logprob_difference_max = 0;
};

std::vector<Token> tokens_of(const std::vector<llm::ScoredToken>& scored) {
  std::vector<Token> tokens;
  tokens.reserve(scored.size());
  for (const llm::ScoredToken& one : scored)
    tokens.push_back(one.chosen.token);
  return tokens;
}

// The plain run, forced along the engine's own tokens, must agree with each choice: the same log
// probability within `tolerance`, and the same token unless its own top two are closer than twice
// that.
Comparison compare(const PlainModel& plain, const std::vector<Row>& rows, const Exactness::Run& run,
                   const PlainOptions& options, double tolerance) {
  Comparison comparison;
  for (size_t i = 0; i < rows.size(); ++i) {
    const llm::Answer& answer = run.answers.at(i);
    const std::vector<llm::ScoredToken>& scored = answer.choices[0].tokens;
    const std::vector<Token> tokens = tokens_of(scored);
    const PlainRow forced = plain.run(rows[i].prompt, rows[i].output_tokens, options, &tokens);
    EXPECT_EQ(tokens.size(), forced.tokens.size());
    for (size_t t = 0; t < forced.tokens.size(); ++t) {
      const double logprob = logprob_of(forced.logits[t], tokens[t]);
      const double difference = std::abs(scored[t].chosen.logprob - logprob);
      const bool near_tie = forced.logprobs[t] - logprob < 2 * tolerance;
      ++comparison.tokens;
      if (difference > tolerance || !near_tie) ++comparison.tokens_apart;
      comparison.logprob_difference_max = std::max(comparison.logprob_difference_max, difference);
    }
  }
  return comparison;
}

LlamaRunnerOptions exact_options() {
  return {.cells_max = 256,
          .rows_max = 6,
          .step_tokens_max = 64,
          .threads = 1,
          .kv_type = engine::KvType::kF32,
          .flash_attention = engine::FlashAttention::kOff};
}

TEST_P(Exactness, ExactModeGivesTheTokensOfTheRowAlone) {
  const std::string path = test_model(GetParam(), "f32");
  const auto model = LlamaModel::load(library(), path, {}).value();
  const PlainModel plain(path);
  Random random(17);
  const std::vector<Row> rows = some_rows(random, 24);
  const Run run = run_batched(*model, rows, exact_options(), random);
  EXPECT_GT(run.stats.preemptions, 0) << "the memory was not small enough to test anything";
  ASSERT_EQ(run.answers.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(::testing::Message() << "row " << i);
    const PlainRow alone = plain.run(rows[i].prompt, rows[i].output_tokens, {});
    const llm::Answer& answer = run.answers.at(i);
    const std::vector<llm::ScoredToken>& scored = answer.choices[0].tokens;
    const std::vector<Token> tokens = tokens_of(scored);
    ASSERT_EQ(tokens, alone.tokens);
    for (size_t t = 0; t < alone.tokens.size(); ++t) {
      ASSERT_NEAR(scored[t].chosen.logprob, alone.logprobs[t], 1e-5) << "token " << t;
    }
    EXPECT_EQ(answer.usage.prompt_tokens, static_cast<int32_t>(rows[i].prompt.size()));
    EXPECT_EQ(answer.usage.completion_tokens, rows[i].output_tokens);
  }
}

// F16 weights: libggml rounds what it multiplies them with to F16, so a difference in the last bit
// of F32, which any other order of sums makes, may become one in the last bit of F16.
TEST_P(Exactness, ExactModeWithF16WeightsStaysWithinTheirRounding) {
  const std::string path = test_model(GetParam(), "f16");
  const auto model = LlamaModel::load(library(), path, {}).value();
  const PlainModel plain(path);
  Random random(17);
  const std::vector<Row> rows = some_rows(random, 24);
  const Run run = run_batched(*model, rows, exact_options(), random);
  ASSERT_EQ(run.answers.size(), rows.size());
  const Comparison comparison = compare(plain, rows, run, {.exact = true}, 0.005);
  EXPECT_EQ(comparison.tokens_apart, 0) << "the worst by " << comparison.logprob_difference_max;
}

// With quantised weights and the default cache the arithmetic depends on the batch, so tokens may
// differ where two are nearly equal. The test models are sharpened, which magnifies rounding too:
// their logits have a deviation of 3, and the worst difference seen is 0.12 in 5,800 tokens, and
// 0.16 in one of 1,165 since short prompts go first (other chunks, other order of the sums).
TEST_P(Exactness, DefaultModeStaysWithinTheArithmetic) {
  const std::string path = test_model(GetParam(), "q8_0");
  const auto model = LlamaModel::load(library(), path, {}).value();
  const PlainModel plain(path);
  Random random(23);
  const std::vector<Row> rows = some_rows(random, 24);
  LlamaRunnerOptions options = exact_options();
  options.kv_type = engine::KvType::kF16;
  options.flash_attention = engine::FlashAttention::kAuto;
  const Run run = run_batched(*model, rows, options, random);
  ASSERT_EQ(run.answers.size(), rows.size());
  const Comparison comparison = compare(plain, rows, run, {.exact = false}, 0.2);
  // A mixture has a second kind of near-tie: between experts. Where it falls the other way another
  // part of the model computes the token, and no bound on the logits holds.
  const double apart_max = std::string_view(GetParam()) == "moe" ? 0.02 * comparison.tokens : 0;
  EXPECT_LE(comparison.tokens_apart, apart_max)
      << "of " << comparison.tokens << ", the worst by " << comparison.logprob_difference_max;
}

// Side by side with equally many tokens, which some kernels compute in another way.
TEST_P(Exactness, RowsOfOneLengthDoNotMix) {
  for (const char* type : {"f16", "q8_0"}) {
    SCOPED_TRACE(type);
    const std::string path = test_model(GetParam(), type);
    const auto model = LlamaModel::load(library(), path, {}).value();
    const PlainModel plain(path);
    Random random(31);
    std::vector<Row> rows(6);
    for (Row& row : rows) {
      row.output_tokens = 10;
      for (int i = 0; i < 12; ++i)
        row.prompt.push_back(static_cast<Token>(random.below(500)));
    }
    LlamaRunnerOptions options = exact_options();
    options.step_tokens_max = 128;
    const Run run = run_together(*model, rows, options);
    ASSERT_EQ(run.answers.size(), rows.size());
    const Comparison comparison = compare(plain, rows, run, {.exact = true}, 0.15);
    const double apart_max = std::string_view(GetParam()) == "moe" ? 0.02 * comparison.tokens : 0;
    EXPECT_LE(comparison.tokens_apart, apart_max)
        << "the worst by " << comparison.logprob_difference_max;
  }
}

TEST_P(Exactness, ASplitCacheGivesTheTokensOfTheRowAlone) {
  const std::string path = test_model(GetParam(), "f32");
  const auto model = LlamaModel::load(library(), path, {}).value();
  const PlainModel plain(path);
  Random random(41);
  const std::vector<Row> rows = some_rows(random, 16);
  LlamaRunnerOptions options = exact_options();
  options.kv_cache = engine::KvCache::kSplit;
  options.cells_max = 6 * 256;
  const Run run = run_batched(*model, rows, options, random);
  ASSERT_EQ(run.answers.size(), rows.size());
  EXPECT_EQ(run.stats.cached_tokens, 0);
  EXPECT_EQ(compare(plain, rows, run, {}, 1e-5).tokens_apart, 0);
}

// A runner that counts how often its cells were moved together.
class Watched final : public engine::ModelRunner {
 public:
  explicit Watched(std::unique_ptr<engine::ModelRunner> runner) : runner_(std::move(runner)) {}

  const engine::RunnerLimits& limits() const override { return runner_->limits(); }
  void change(const engine::MemoryChange& change) override {
    if (change.kind == engine::MemoryChange::Kind::kCompact) ++compactions;
    runner_->change(change);
  }
  Result<void> run(std::span<const StepRow> step) override { return runner_->run(step); }
  std::span<const float> logits(size_t index) const override { return runner_->logits(index); }

  int compactions = 0;

 private:
  std::unique_ptr<engine::ModelRunner> runner_;
};

// Long rows come and go beneath some that stay, so that these are left in high cells.
TEST(Compaction, LeavesNoTrace) {
  const std::string path = test_model("qwen3", "f32");
  const auto model = LlamaModel::load(library(), path, {}).value();
  LlamaRunnerOptions options = exact_options();
  options.cells_max = 4096;
  options.rows_max = 8;
  options.step_tokens_max = 512;
  Watched runner(model->make_runner(options).value());
  Random random(37);
  std::vector<Row> rows(24);
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool stays = i == 7 || i == 15;
    rows[i].prompt.assign(300, static_cast<Token>(i));
    for (int own = 0; own < 30; ++own)
      rows[i].prompt.push_back(static_cast<Token>(random.below(500)));
    rows[i].output_tokens = stays ? 300 : 3;
  }
  Exactness::Run run;
  const windrow::testing::ManualClock clock;
  engine::StepLoop loop(runner, model->vocabulary(), clock);
  for (size_t i = 0; i < rows.size(); ++i)
    loop.add(Exactness::request(rows[i], run, i));
  while (loop.step()) {
  }
  EXPECT_GT(runner.compactions, 0);
  ASSERT_EQ(run.answers.size(), rows.size());
  EXPECT_EQ(compare(PlainModel(path), rows, run, {}, 1e-5).tokens_apart, 0);
}

class SlidingWindow : public Exactness {};

// Room for three windows and a step, 256 cells, while the rows hold up to 600 tokens: cells behind
// the window are used again all the time.
TEST_P(SlidingWindow, CellsAreUsedAgainWithoutATrace) {
  const std::string path = test_model(GetParam(), "f32");
  const auto model = LlamaModel::load(library(), path, {}).value();
  ASSERT_EQ(model->facts().sliding_window, 32);
  const PlainModel plain(path);
  Random random(29);
  const std::vector<Row> rows = some_rows(random, 24);
  LlamaRunnerOptions options = exact_options();
  options.cells_max = 2048;
  options.rows_max = 3;
  const Run run = run_batched(*model, rows, options, random);
  ASSERT_EQ(run.answers.size(), rows.size());
  EXPECT_EQ(compare(plain, rows, run, {}, 1e-5).tokens_apart, 0);
}

INSTANTIATE_TEST_SUITE_P(Families, SlidingWindow, ::testing::Values("swa"),
                         [](const auto& tested) { return std::string(tested.param); });

INSTANTIATE_TEST_SUITE_P(Families, Exactness,
                         ::testing::Values("llama", "qwen3", "moe", "hybrid", "swa"),
                         [](const auto& family) { return std::string(family.param); });

}  // namespace
}  // namespace windrow::exactness
