// SimRunner: a ModelRunner that takes the time a model would take and says common words. The next
// token depends on the seed and on every token of the sequence, and on nothing else; so answers are
// the same alone and in any batch.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "engine/host/model_runner.h"
#include "engine/sim/pause.h"
#include "engine/sim/sim_options.h"
#include "engine/sim/sim_predictor.h"
#include "engine/sim/sim_vocabulary.h"

namespace windrow::engine::sim {

struct SimRunnerOptions {
  int32_t cells_max = 0;  // of all rows together; 0: the whole context for each
  int32_t rows_max = 32;
  int32_t step_tokens_max = 2048;
  bool share = true;  // prefixes
};

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

}  // namespace windrow::engine::sim
