// The runners of a simulated model, which take the time that a model would take: SimRunner
// generates, SimEmbeddingRunner embeds and ranks. Pause is how they let time pass.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/clock.h"
#include "engine/host/embedding_runner.h"
#include "engine/host/model_runner.h"
#include "engine/sim/sim_options.h"
#include "engine/sim/sim_predictor.h"
#include "engine/sim/sim_vocabulary.h"

namespace windrow::engine::sim {

// Tests have one that moves their clock.
class Pause {
 public:
  virtual ~Pause() = default;

  // Blocks until that time, never shorter.
  virtual void until(TimePoint at) = 0;
};

// Blocks the calling thread without using a processor. About 50 microseconds late, as the system's
// timers are.
class RealPause final : public Pause {
 public:
  // `clock` outlives it and runs in real time.
  explicit RealPause(const Clock& clock) : clock_(clock) {}

  void until(TimePoint at) override {
    std::unique_lock lock(mutex_);
    for (Duration left = at - clock_.now(); left > Duration{}; left = at - clock_.now())
      never_notified_.wait_for(lock, left);
  }

 private:
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable never_notified_;
};

struct SimRunnerOptions {
  int32_t cells_max = 0;  // of all rows together; 0: the whole context for each
  int32_t rows_max = 32;
  int32_t step_tokens_max = 2048;
  bool share = true;  // prefixes
};

// Says common words. The next token depends on the seed and on every token of the sequence, and on
// nothing else; so answers are the same alone and in any batch.
class SimRunner final : public ModelRunner {
 public:
  // `vocabulary` and `clock` outlive it.
  SimRunner(const SimVocabulary& vocabulary, const SimOptions& model,
            const SimRunnerOptions& options, const Clock& clock, std::unique_ptr<Pause> pause);

  const RunnerLimits& limits() const override { return limits_; }
  void change(const MemoryChange& change) override;
  Result<void> run(std::span<const StepRow> step) override;
  std::span<const float> logits(size_t index) const override;

 private:
  struct Sequence {
    std::vector<Token> tokens;
    std::vector<SimState> states;  // after each token
  };

  Duration time_of(std::span<const StepRow> step) const;

  const SimOptions model_;
  const SimPredictor predictor_;
  const Clock& clock_;
  const std::unique_ptr<Pause> pause_;
  RunnerLimits limits_;
  std::vector<Sequence> sequences_;
  std::vector<float> logits_;  // of the last step, one after the other
};

// The vector of a text is the sum of those of its words: equal texts have equal vectors, and texts
// that share words are nearer than others. As a reranker it scores a document by how near it is to
// the query.
class SimEmbeddingRunner final : public EmbeddingRunner {
 public:
  // `vocabulary` and `clock` outlive it. `pooling`: kRank makes it a reranker; the others are
  // alike.
  SimEmbeddingRunner(const SimVocabulary& vocabulary, const SimOptions& model, Pooling pooling,
                     const Clock& clock, std::unique_ptr<Pause> pause);

  const EmbeddingLimits& limits() const override { return limits_; }
  Result<void> run(std::span<const std::span<const Token>> inputs) override;
  std::span<const float> embedding(size_t index) const override;

 private:
  void add_up(std::span<const Token> tokens, std::span<float> sum) const;
  float score(std::span<const Token> pair) const;

  const SimOptions model_;
  const Clock& clock_;
  const std::unique_ptr<Pause> pause_;
  EmbeddingLimits limits_;
  std::vector<float> words_;  // a vector for each entry of the vocabulary
  std::vector<float> outputs_;
};

}  // namespace windrow::engine::sim
