#include "engine/plan.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"

namespace windrow::engine {
namespace {

// Before the first answer is known. Low: a preemption costs one row's prefill, a place left empty
// costs every step.
constexpr double kOutputTokensFirstGuess = 64;

// How much one finished row moves the estimate.
constexpr double kEstimateWeight = 0.05;

// A row that is already longer than expected will still go on for a while.
constexpr int32_t kOutputTokensLeftMin = 16;

}  // namespace

Plan::Plan(PlanLimits limits) : limits_(limits), output_tokens_expected_(kOutputTokensFirstGuess) {
  ENSURE(limits.cells_max > 0 && limits.sequences_max > 0, "a plan needs cells and sequences");
  ENSURE(limits.step_tokens_max >= limits.sequences_max,
         "a step of {} tokens cannot decode {} rows", limits.step_tokens_max, limits.sequences_max);
  ENSURE(limits.step_outputs_max >= limits.sequences_max,
         "{} outputs a step are too few for {} rows", limits.step_outputs_max,
         limits.sequences_max);
  // Handed out from the back: low ids first.
  for (int32_t id = limits.sequences_max - 1; id >= 0; --id)
    sequences_free_.emplace_back(id);
}

Plan::Row& Plan::at(RowId row) {
  const auto found = rows_.find(row);
  ENSURE(found != rows_.end(), "row {} is not in the plan", row.value());
  return found->second;
}

void Plan::add(RowId row, int32_t prompt_tokens, int32_t output_tokens_max, Position outputs_from) {
  ENSURE(prompt_tokens > 0 && output_tokens_max > 0, "a row needs a prompt and room for an answer");
  ENSURE(outputs_from >= 0 && outputs_from < prompt_tokens,
         "a row of {} tokens wants logits from {}", prompt_tokens, outputs_from);
  // The last token sampled is never computed, so it needs no cell.
  ENSURE(prompt_tokens + output_tokens_max - 1 <= limits_.cells_max,
         "a row of up to {} tokens can never fit {} cells", prompt_tokens + output_tokens_max,
         limits_.cells_max);
  const bool is_new = rows_
                          .emplace(row, Row{.tokens = prompt_tokens,
                                            .tokens_max = prompt_tokens + output_tokens_max,
                                            .prompt_tokens = prompt_tokens,
                                            .outputs_from = outputs_from})
                          .second;
  ENSURE(is_new, "row {} was added twice", row.value());
  waiting_.push_back(row);
}

int32_t Plan::expected_cells(const Row& row) const {
  const int32_t generated = row.tokens - row.prompt_tokens;
  const int32_t left =
      std::max(kOutputTokensLeftMin, static_cast<int32_t>(output_tokens_expected_) - generated);
  return std::min(row.tokens + left, row.tokens_max - 1);
}

void Plan::start(RowId id) {
  Row& row = at(id);
  ENSURE(row.sequence < 0 && row.computed == 0, "row {} runs already", id.value());
  ENSURE(!sequences_free_.empty(), "no sequence is free");
  row.sequence = sequences_free_.back().value();
  sequences_free_.pop_back();
  running_.push_back(id);
}

// The row gives back its sequence and cells; the caller takes it out of running_.
void Plan::stop(Row& row) {
  ENSURE(row.sequence >= 0, "a waiting row has nothing to give back");
  const SequenceId sequence(row.sequence);
  forgotten_.push_back(sequence);
  sequences_free_.push_back(sequence);
  cells_used_ -= row.computed;
  ENSURE(cells_used_ >= 0, "more cells were given back than taken");
  row.computed_before = std::max(row.computed_before, row.computed);
  row.computed = 0;
  row.sequence = -1;
}

void Plan::preempt(RowId id) {
  Row& row = at(id);
  // It was expected to be shorter; so were the others.
  output_tokens_expected_ =
      std::max(output_tokens_expected_, 2.0 * (row.tokens - row.prompt_tokens));
  stop(row);
  std::erase(running_, id);
  waiting_.push_front(id);
  admitting_ = false;
  ++preemptions_;
}

std::optional<RowId> Plan::youngest_but(RowId id) const {
  const auto other = std::find_if(running_.rbegin(), running_.rend(),
                                  [&](RowId running) { return running != id; });
  if (other == running_.rend()) return std::nullopt;
  return *other;
}

void Plan::admit_waiting() {
  if (running_.empty()) admitting_ = true;
  if (!admitting_) return;
  int64_t cells_expected = 0;
  for (const RowId id : running_)
    cells_expected += expected_cells(at(id));
  while (!waiting_.empty() && !sequences_free_.empty()) {
    const RowId id = waiting_.front();
    cells_expected += expected_cells(at(id));
    if (cells_expected > limits_.cells_max && !running_.empty()) return;
    waiting_.pop_front();
    start(id);
  }
}

void Plan::make_room_for_decoding() {
  const auto cells_wanted = [&] {
    return std::count_if(running_.begin(), running_.end(),
                         [&](RowId id) { return decoding(at(id)); });
  };
  while (cells_wanted() > cells_free()) {
    ENSURE(running_.size() > 1, "one row alone does not fit {} cells", limits_.cells_max);
    preempt(running_.back());
  }
}

int32_t Plan::outputs_of(const Row& row, int32_t tokens_count) {
  return std::max(0, row.computed + tokens_count - std::max(row.computed, row.outputs_from));
}

int32_t Plan::tokens_for_outputs(const Row& row, int32_t outputs_max) {
  return std::max(0, row.outputs_from - row.computed) + outputs_max;
}

void Plan::push_slice(StepPlan& step, RowId id, int32_t tokens_count) {
  const Row& row = at(id);
  step.slices.push_back(Slice{.row = id,
                              .sequence = SequenceId(row.sequence),
                              .first = row.computed,
                              .tokens_count = tokens_count,
                              .outputs_count = outputs_of(row, tokens_count)});
}

StepPlan Plan::alone_step(RowId id, int32_t prefill_tokens_max) {
  Row& row = at(id);
  if (row.sequence < 0) {
    std::erase(waiting_, id);
    while (sequences_free_.empty())
      preempt(running_.back());
    start(id);
  }
  const int32_t count =
      std::min({row.tokens - row.computed, std::max(prefill_tokens_max, 1), limits_.step_tokens_max,
                tokens_for_outputs(row, limits_.step_outputs_max)});
  while (count > cells_free()) {
    // Preempting this one would gain nothing.
    const std::optional<RowId> other = youngest_but(id);
    ENSURE(other.has_value(), "one row alone does not fit {} cells", limits_.cells_max);
    preempt(*other);
  }
  StepPlan step;
  push_slice(step, id, count);
  step.forgotten = forgotten_;
  return step;
}

StepPlan Plan::next(int32_t prefill_tokens_max) {
  // Suspects run before all others, so that what they spoil is settled soon.
  for (const auto& ids : {std::vector(running_), std::vector(waiting_.begin(), waiting_.end())}) {
    for (const RowId id : ids) {
      if (at(id).alone) return alone_step(id, prefill_tokens_max);
    }
  }
  make_room_for_decoding();
  admit_waiting();
  StepPlan step;
  for (const RowId id : running_) {
    if (decoding(at(id))) push_slice(step, id, 1);
  }
  const auto decoding_count = static_cast<int32_t>(step.slices.size());
  int32_t budget =
      std::min({std::max(prefill_tokens_max, 1), limits_.step_tokens_max - decoding_count,
                cells_free() - decoding_count});
  int32_t outputs_left = limits_.step_outputs_max - decoding_count;
  for (const RowId id : running_) {
    const Row& row = at(id);
    if (decoding(row)) continue;
    const int32_t count =
        std::min({row.tokens - row.computed, budget, tokens_for_outputs(row, outputs_left)});
    if (count <= 0) continue;
    push_slice(step, id, count);
    budget -= count;
    outputs_left -= step.slices.back().outputs_count;
  }
  if (step.slices.empty() && !running_.empty()) {
    // Prefills hold each other's cells: the youngest gives way.
    ENSURE(running_.size() > 1, "one row alone does not fit {} cells", limits_.cells_max);
    preempt(running_.back());
    return next(prefill_tokens_max);
  }
  step.forgotten = forgotten_;
  return step;
}

void Plan::step_ran(const StepPlan& step) {
  forgotten_.clear();
  for (const Slice& slice : step.slices) {
    Row& row = at(slice.row);
    ENSURE(row.computed == slice.first && row.sequence == slice.sequence.value(),
           "row {} moved while its step ran", slice.row.value());
    row.computed += slice.tokens_count;
    if (slice.outputs_count > 0) row.outputs_from = row.computed;
    cells_used_ += slice.tokens_count;
    recomputed_tokens_ += std::clamp(row.computed_before - slice.first, 0, slice.tokens_count);
    if (row.computed == row.tokens) row.alone = false;
  }
  ENSURE(cells_used_ <= limits_.cells_max, "{} cells are used of {}", cells_used_,
         limits_.cells_max);
}

bool Plan::step_had_no_space(const StepPlan& step) {
  ENSURE(!step.slices.empty(), "an empty step fits");
  if (running_.size() < 2) return false;
  // A row that is alone in its steps would come back at once and meet the same memory.
  const bool alone = step.slices.size() == 1;
  preempt(alone ? *youngest_but(step.slices.front().row) : running_.back());
  return true;
}

bool Plan::step_failed(const StepPlan& step) {
  ENSURE(!step.slices.empty(), "an empty step cannot fail");
  const bool alone = step.slices.size() == 1;
  for (auto slice = step.slices.rbegin(); slice != step.slices.rend(); ++slice) {
    Row& row = at(slice->row);
    row.alone = true;
    stop(row);
    std::erase(running_, slice->row);
    waiting_.push_front(slice->row);
  }
  return alone;
}

void Plan::extend(RowId id) {
  Row& row = at(id);
  ENSURE(row.computed == row.tokens, "row {} has tokens left to compute", id.value());
  ++row.tokens;
  ENSURE(row.tokens < row.tokens_max, "row {} grows past its end", id.value());
}

void Plan::remove(RowId id) {
  Row& row = at(id);
  if (row.sequence >= 0) {
    // The row that ends has sampled one token more than it was extended by.
    const int32_t generated = row.tokens - row.prompt_tokens + 1;
    // Rows that may say one token at most, or only score their prompt, teach nothing of the others.
    if (row.tokens_max - row.prompt_tokens > 1)
      output_tokens_expected_ += kEstimateWeight * (generated - output_tokens_expected_);
    stop(row);
    std::erase(running_, id);
    admitting_ = true;
  } else {
    std::erase(waiting_, id);
  }
  rows_.erase(id);
}

PlanCounts Plan::counts() const {
  return PlanCounts{.rows_waiting = static_cast<int32_t>(waiting_.size()),
                    .rows_running = static_cast<int32_t>(running_.size()),
                    .cells_used = cells_used_,
                    .preemptions = preemptions_,
                    .recomputed_tokens = recomputed_tokens_};
}

}  // namespace windrow::engine
