// ScriptedRunner: a ModelRunner whose model is a hash. Its logits depend on every token a sequence
// holds, in order, and on nothing else, so an engine that puts one token in the wrong place gives
// another answer. It counts cells as a real cache does and fails on request.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/host/model_runner.h"

namespace windrow::engine::testing {

// The model: logits after these tokens. Between -8 and 8; no two equal in practice.
std::vector<float> scripted_logits(std::span<const Token> tokens, int32_t vocabulary_size);

class ScriptedRunner final : public ModelRunner {
 public:
  explicit ScriptedRunner(const RunnerLimits& limits);

  const RunnerLimits& limits() const override { return limits_; }
  void change(const MemoryChange& change) override;
  Result<void> run(std::span<const StepRow> step) override;
  std::span<const float> logits(size_t index) const override;

  // Asked before every step; an error fails it. After kInvalid the rows' sequences are spoilt, as
  // the contract says.
  std::function<std::optional<Error>(std::span<const StepRow>)> fault;

  // Called with every step that is about to run.
  std::function<void(std::span<const StepRow>)> on_step;

  // What the sequences hold now, shared cells once, and the most they ever held.
  int32_t cells_used() const;
  int32_t cells_used_max() const { return cells_used_max_; }

 private:
  struct Sequence {
    std::vector<Token> tokens;
    std::vector<int64_t> cells;  // one each
  };

  RunnerLimits limits_;
  std::vector<Sequence> sequences_;
  int64_t next_cell_ = 0;
  std::vector<std::vector<float>> outputs_;
  int32_t cells_used_max_ = 0;
};

}  // namespace windrow::engine::testing
