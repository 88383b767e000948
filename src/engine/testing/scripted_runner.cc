#include "engine/testing/scripted_runner.h"

#include <algorithm>
#include <unordered_set>

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

void ScriptedRunner::change(const MemoryChange& change) {
  Sequence& sequence = sequences_.at(static_cast<size_t>(change.sequence.value()));
  const auto count = static_cast<size_t>(change.tokens);
  switch (change.kind) {
    case MemoryChange::Kind::kShare: {
      const Sequence& from = sequences_.at(static_cast<size_t>(change.from.value()));
      ENSURE(sequence.tokens.empty(), "sequence {} is not empty", change.sequence.value());
      ENSURE(count <= from.tokens.size(), "{} tokens of {} are shared", count, from.tokens.size());
      ENSURE(limits_.sharing == Sharing::kAnyRange ||
                 (limits_.sharing == Sharing::kExactEnd && count == from.tokens.size()),
             "the model cannot share {} of {} tokens", count, from.tokens.size());
      sequence.tokens.assign(from.tokens.begin(), from.tokens.begin() + change.tokens);
      sequence.cells.assign(from.cells.begin(), from.cells.begin() + change.tokens);
      return;
    }
    case MemoryChange::Kind::kTruncate:
      ENSURE(count == 0 || limits_.sharing == Sharing::kAnyRange, "the model cannot go back");
      ENSURE(count <= sequence.tokens.size(), "{} tokens of {} stay", count,
             sequence.tokens.size());
      sequence.tokens.resize(count);
      sequence.cells.resize(count);
      return;
    case MemoryChange::Kind::kCompact:
      return;
  }
}

int32_t ScriptedRunner::cells_used() const {
  std::unordered_set<int64_t> cells;
  for (const Sequence& sequence : sequences_)
    cells.insert(sequence.cells.begin(), sequence.cells.end());
  return static_cast<int32_t>(cells.size());
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
    ENSURE(row.first == static_cast<Position>(sequences_[id].tokens.size()), "a gap at {}",
           row.first);
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
          // What was there before may be others' too, and stays as it is.
          Sequence& sequence = sequences_[static_cast<size_t>(row.sequence.value())];
          sequence.tokens.push_back(kSpoilt);
          sequence.cells.push_back(next_cell_++);
        }
      }
      return *error;
    }
  }
  ENSURE(cells_used() + static_cast<int32_t>(tokens) <= limits_.cells_max,
         "{} tokens for {} free cells", tokens, limits_.cells_max - cells_used());
  outputs_.clear();
  for (const StepRow& row : step) {
    Sequence& sequence = sequences_[static_cast<size_t>(row.sequence.value())];
    sequence.tokens.insert(sequence.tokens.end(), row.tokens.begin(), row.tokens.end());
    while (sequence.cells.size() < sequence.tokens.size())
      sequence.cells.push_back(next_cell_++);
    for (auto left = static_cast<size_t>(row.outputs_count); left > 0; --left) {
      const size_t size = sequence.tokens.size() - left + 1;
      outputs_.push_back(
          scripted_logits(std::span(sequence.tokens).first(size), limits_.vocabulary_size));
    }
  }
  cells_used_max_ = std::max(cells_used_max_, cells_used());
  return {};
}

std::span<const float> ScriptedRunner::logits(size_t index) const {
  return outputs_.at(index);
}

}  // namespace windrow::engine::testing
