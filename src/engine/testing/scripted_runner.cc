#include "engine/testing/scripted_runner.h"

#include <algorithm>

#include "base/ensure.h"
#include "base/random.h"

namespace windrow::engine::testing {
namespace {

constexpr Token kSpoilt = -7;

}  // namespace

std::vector<float> scripted_logits(std::span<const Token> tokens, int32_t vocabulary_size) {
  uint64_t state = 0x57494E44;
  for (const Token token : tokens) {
    Random mixed(state ^ static_cast<uint64_t>(token + 1) * uint64_t{0x9E3779B97F4A7C15});
    state = mixed.next();
  }
  Random random(state);
  std::vector<float> logits(static_cast<size_t>(vocabulary_size));
  for (float& logit : logits)
    logit = static_cast<float>(random.unit() * 16 - 8);
  return logits;
}

ScriptedRunner::ScriptedRunner(const RunnerLimits& limits)
    : limits_(limits), sequences_(static_cast<size_t>(limits.sequences_max)) {}

void ScriptedRunner::forget(SequenceId sequence) {
  sequences_.at(static_cast<size_t>(sequence.value())).clear();
}

int32_t ScriptedRunner::cells_used() const {
  size_t cells = 0;
  for (const auto& sequence : sequences_)
    cells += sequence.size();
  return static_cast<int32_t>(cells);
}

Result<void> ScriptedRunner::run(std::span<const StepRow> step) {
  ENSURE(!step.empty(), "an empty step was run");
  if (on_step) on_step(step);
  size_t tokens = 0;
  size_t outputs = 0;
  std::vector<bool> seen(sequences_.size(), false);
  for (const StepRow& row : step) {
    const auto id = static_cast<size_t>(row.sequence.value());
    ENSURE(id < sequences_.size() && !seen[id], "sequence {} is out of range or twice", id);
    seen[id] = true;
    ENSURE(!row.tokens.empty(), "a row without tokens");
    ENSURE(row.first == static_cast<Position>(sequences_[id].size()), "a gap at {}", row.first);
    ENSURE(row.first + static_cast<Position>(row.tokens.size()) <= limits_.row_tokens_max,
           "a row past {}", limits_.row_tokens_max);
    tokens += row.tokens.size();
    ENSURE(row.outputs_count >= 0 && static_cast<size_t>(row.outputs_count) <= row.tokens.size(),
           "{} outputs of {} tokens", row.outputs_count, row.tokens.size());
    outputs += static_cast<size_t>(row.outputs_count);
  }
  ENSURE(tokens <= static_cast<size_t>(limits_.step_tokens_max), "{} tokens in a step", tokens);
  ENSURE(outputs <= static_cast<size_t>(limits_.step_outputs_max), "{} outputs", outputs);
  if (fault) {
    if (const std::optional<Error> error = fault(step)) {
      if (error->kind == ErrorKind::kInvalid) {
        for (const StepRow& row : step) {
          sequences_[static_cast<size_t>(row.sequence.value())].assign(1, kSpoilt);
        }
      }
      return *error;
    }
  }
  ENSURE(cells_used() + static_cast<int32_t>(tokens) <= limits_.cells_max,
         "{} tokens for {} free cells", tokens, limits_.cells_max - cells_used());
  outputs_.clear();
  for (const StepRow& row : step) {
    std::vector<Token>& sequence = sequences_[static_cast<size_t>(row.sequence.value())];
    sequence.insert(sequence.end(), row.tokens.begin(), row.tokens.end());
    for (auto left = static_cast<size_t>(row.outputs_count); left > 0; --left) {
      outputs_.push_back(scripted_logits(std::span(sequence).first(sequence.size() - left + 1),
                                         limits_.vocabulary_size));
    }
  }
  cells_used_max_ = std::max(cells_used_max_, cells_used());
  return {};
}

std::span<const float> ScriptedRunner::logits(size_t index) const {
  return outputs_.at(index);
}

}  // namespace windrow::engine::testing
