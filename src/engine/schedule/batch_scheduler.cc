#include "engine/schedule/batch_scheduler.h"

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

// Moving a cell costs as much as reading so many in a step, and half as much for each cell that
// there is, which libllama clears (bench/README.md). It has to pay within so many steps, which is
// also how long the next time waits.
constexpr int64_t kReadsPerMove = 35;
constexpr int64_t kClearsPerRead = 2;
constexpr int32_t kCompactGapMin = 1024;
constexpr int32_t kCompactStepsMin = 64;

// A longer run of known tokens is computed as a prompt is, behind the rows that decode.
constexpr int32_t kRunTokensMax = 64;

}  // namespace

BatchScheduler::BatchScheduler(PlanLimits limits)
    : limits_(limits),
      reserve_(limits.reserve),
      tree_(limits.sequences_max, limits.sharing),
      keep_(static_cast<size_t>(limits.sequences_max), false),
      output_tokens_expected_(kOutputTokensFirstGuess) {
  ENSURE(limits.cells_max > 0 && limits.rows_max > 0, "a plan needs cells and rows");
  ENSURE(limits.sequences_max >= limits.rows_max, "{} sequences are too few for {} rows",
         limits.sequences_max, limits.rows_max);
  ENSURE(limits.step_tokens_max >= limits.rows_max, "a step of {} tokens cannot decode {} rows",
         limits.step_tokens_max, limits.rows_max);
  ENSURE(limits.step_outputs_max >= limits.rows_max, "{} outputs a step are too few for {} rows",
         limits.step_outputs_max, limits.rows_max);
}

BatchScheduler::Row& BatchScheduler::at(RowId row) {
  const auto found = rows_.find(row);
  ENSURE(found != rows_.end(), "row {} is not in the plan", row.value());
  return found->second;
}

std::span<const Token> BatchScheduler::known(const Row& row) {
  return std::span(*row.source).first(static_cast<size_t>(row.tokens));
}

// The token whose logits are wanted next has to be computed by the row itself, unless its score is
// kept.
std::span<const Token> BatchScheduler::shareable(const Row& row) {
  return known(row).first(static_cast<size_t>(std::min(row.tokens - 1, row.outputs_from)));
}

// It wants more than the logits of its last token, and takes scores in their place.
bool BatchScheduler::scores_more(const Row& row) {
  return row.scores_top && row.outputs_from < row.tokens - 1;
}

void BatchScheduler::await_beginning(RowId id, const Row& row) {
  prompts_.add(id, shareable(row));
  if (scores_more(row)) scored_prompts_.add(id, known(row));
}

void BatchScheduler::forget_beginning(RowId id, const Row& row) {
  prompts_.remove(id, shareable(row));
  if (scores_more(row)) scored_prompts_.remove(id, known(row));
}

// It computes what it has said last: one token, or a run.
bool BatchScheduler::decoding(const Row& row) {
  if (pending(row) == 1) return true;
  return pending(row) > 1 && pending(row) <= kRunTokensMax && row.computed >= row.prompt_tokens;
}

void BatchScheduler::add(const NewRow& row) {
  ENSURE(row.prompt_tokens > 0 && row.output_tokens_max > 0,
         "a row needs a prompt and room for an answer");
  ENSURE(static_cast<size_t>(row.prompt_tokens) <= row.tokens->size(), "{} tokens of {} are known",
         row.prompt_tokens, row.tokens->size());
  ENSURE(row.outputs_from >= 0 && row.outputs_from < row.prompt_tokens,
         "a row of {} tokens wants logits from {}", row.prompt_tokens, row.outputs_from);
  // The last token sampled is never computed, so it needs no cell.
  ENSURE(row.prompt_tokens + row.output_tokens_max - 1 <= limits_.cells_max,
         "a row of up to {} tokens can never fit {} cells",
         row.prompt_tokens + row.output_tokens_max, limits_.cells_max);
  const auto [added, is_new] =
      rows_.emplace(row.id, Row{.source = row.tokens,
                                .tokens = row.prompt_tokens,
                                .tokens_max = row.prompt_tokens + row.output_tokens_max,
                                .prompt_tokens = row.prompt_tokens,
                                .outputs_from = row.outputs_from,
                                .scores_top = row.scores_top,
                                .keep = row.keep,
                                .priority = row.priority,
                                .rank = row.priority});
  ENSURE(is_new, "row {} was added twice", row.id.value());
  waiting_.insert(order_of(row.id, added->second));
  await_beginning(row.id, added->second);
}

// --- the step -----------------------------------------------------------------------------------

void BatchScheduler::compact() {
  ++steps_since_compaction_;
  if (steps_since_compaction_ < kCompactStepsMin) return;
  const int32_t gap = tree_.cells_end() - tree_.cells();
  if (gap < kCompactGapMin || tree_.cells() > limits_.compact_cells_max) return;
  const int64_t cost = kReadsPerMove * tree_.cells() + limits_.cells_max / kClearsPerRead;
  if (int64_t{gap} * kCompactStepsMin < cost) return;
  tree_.compact();
  steps_since_compaction_ = 0;
}

void BatchScheduler::make_room_for_decoding() {
  // Of a run, what is free: one token at least, and the rest when there is room.
  const auto cells_wanted = [&] {
    return static_cast<int32_t>(std::ranges::count_if(running_, [&](RowId id) {
      const Row& row = at(id);
      return row.begun && decoding(row);
    }));
  };
  while (!make_room(cells_wanted())) {
    ENSURE(running_.size() > 1, "one row alone does not fit {} cells", limits_.cells_max);
    preempt(running_.back());
  }
}

int32_t BatchScheduler::outputs_of(const Row& row, int32_t tokens_count) {
  return std::max(0, row.computed + tokens_count - std::max(row.computed, row.outputs_from));
}

int32_t BatchScheduler::tokens_for_outputs(const Row& row, int32_t outputs_max) {
  return std::max(0, row.outputs_from - row.computed) + outputs_max;
}

void BatchScheduler::push_slice(ScheduledStep& step, RowId id, int32_t tokens_count) {
  const Row& row = at(id);
  step.slices.push_back(Slice{.row = id,
                              .sequence = SequenceId(row.sequence),
                              .first = row.computed,
                              .tokens_count = tokens_count,
                              .outputs_count = outputs_of(row, tokens_count)});
  if (!in_background(row)) return;
  step.background_tokens += tokens_count;
  background_left_ -= tokens_count;
}

ScheduledStep BatchScheduler::alone_step(RowId id, int32_t prefill_tokens_max) {
  Row& row = at(id);
  if (row.sequence < 0) {
    while (running_.size() >= static_cast<size_t>(limits_.rows_max) ||
           !make_room_for_sequence(false))
      preempt(running_.back());
    start(id);
  }
  if (!row.begun) begin_row(id);
  const int32_t count =
      std::min({row.tokens - row.computed, std::max(prefill_tokens_max, 1), limits_.step_tokens_max,
                tokens_for_outputs(row, limits_.step_outputs_max)});
  while (!make_room(count)) {
    // Preempting this one would gain nothing.
    const std::optional<RowId> other = youngest_but(id);
    ENSURE(other.has_value(), "one row alone does not fit {} cells", limits_.cells_max);
    preempt(*other);
  }
  ScheduledStep step{.clients_wait = clients_compute()};
  push_slice(step, id, count);
  step.changes = tree_.take_changes();
  step.scores = std::exchange(taken_scores_, {});
  return step;
}

// Where the cache does not mix, a run beside the others takes as many steps as it has tokens, each
// the share of one row; alone it takes one step.
bool BatchScheduler::runs_alone(const Row& row) const {
  if (limits_.mixes || pending(row) < 2) return false;
  const auto decoding_count = std::ranges::count_if(running_, [&](RowId id) {
    const Row& other = rows_.at(id);
    return other.begun && decoding(other);
  });
  return pending(row) > decoding_count;
}

// Every row that decodes brings a token and may want an output; runs take what is left.
void BatchScheduler::push_decoding(ScheduledStep& step) {
  std::vector<RowId> decode;
  int32_t more = 0;
  int32_t background_more = background_left_;
  for (const RowId id : running_) {
    const Row& row = at(id);
    if (!takes_part(row) || !decoding(row)) continue;
    if (in_background(row) && background_more-- <= 0) continue;
    decode.push_back(id);
    if (limits_.mixes) more += pending(row) - 1;
  }
  background_more = std::max(0, background_more);
  const auto count = static_cast<int32_t>(decode.size());
  more = std::min(more, limits_.step_tokens_max - count);
  if (more > 0) make_room(count + more);
  more = std::max(0, std::min(more, cells_free() - count));
  int32_t outputs_more = limits_.step_outputs_max - count;
  for (const RowId id : decode) {
    const Row& row = at(id);
    const bool background = in_background(row);
    const int32_t tokens =
        std::min({pending(row), 1 + (background ? std::min(more, background_more) : more),
                  std::max(1, tokens_for_outputs(row, 1 + outputs_more))});
    push_slice(step, id, tokens);
    more -= tokens - 1;
    if (background) background_more -= tokens - 1;
    outputs_more -= std::max(0, step.slices.back().outputs_count - 1);
  }
}

ScheduledStep BatchScheduler::next(int32_t prefill_tokens_max, int32_t lone_tokens_max,
                                   const BackgroundTokens& background) {
  background_left_ = INT32_MAX;
  keep_stops();
  // Suspects run before all others, so that what they spoil is settled soon.
  if (!suspects_.empty()) return alone_step(*suspects_.begin(), prefill_tokens_max);
  while (true) {
    make_room_for_decoding();
    drop_unwanted();
    begin_rows();
    admit_waiting();
    begin_rows();
    // A row that shares all but its last token decodes at once, so room is made for it too.
    make_room_for_decoding();
    const int32_t prefill_max =
        one_row_has_it_all() ? std::max(prefill_tokens_max, lone_tokens_max) : prefill_tokens_max;
    ScheduledStep step{.clients_wait = clients_compute()};
    background_left_ =
        step.clients_wait ? background.beside_clients_max : background.between_clients_max;
    if (!limits_.mixes) push_prefills(step, prefill_max);
    if (step.slices.empty()) push_decoding(step);
    // A split cache computes sequences in one pass only as far as their ids follow each other.
    if (!limits_.mixes) std::ranges::sort(step.slices, {}, &Slice::sequence);
    if (limits_.mixes) push_prefills(step, prefill_max);
    if (!step.slices.empty() || running_.empty() || waits_for_a_token()) {
      if (!step.slices.empty()) compact();
      step.changes = tree_.take_changes();
      step.scores = std::exchange(taken_scores_, {});
      return step;
    }
    // Prefills hold each other's cells: the youngest gives way.
    ENSURE(running_.size() > 1, "one row alone does not fit {} cells", limits_.cells_max);
    preempt(running_.back());
  }
}

bool BatchScheduler::clients_compute() const {
  return std::ranges::any_of(running_, [&](RowId id) {
    const Row& row = rows_.at(id);
    return row.begun && pending(row) > 0 && !in_background(row);
  });
}

// Nobody waits for the end of the step but this row: no other decodes, sits out or has a prompt to
// compute. Those that wait for what it computes gain by long steps, as it does.
bool BatchScheduler::one_row_has_it_all() const {
  return std::ranges::count_if(running_, [&](RowId id) { return rows_.at(id).begun; }) == 1;
}

// Some row has said all that it knows: it will have more to compute, or end.
bool BatchScheduler::waits_for_a_token() const {
  return std::ranges::any_of(rows_, [](const auto& one) {
    const Row& row = one.second;
    return row.outputs_from == row.tokens;
  });
}

void BatchScheduler::step_ran(const ScheduledStep& step) {
  if (step.slices.size() == 1 && step.slices.front().tokens_count > 1) {
    prefilled_tokens_ += step.slices.front().tokens_count;
    ++prefill_turns_;
  } else {
    prefilled_tokens_ = 0;
  }
  for (const Slice& slice : step.slices) {
    Row& row = at(slice.row);
    ENSURE(row.computed == slice.first && row.sequence == slice.sequence.value(),
           "row {} moved while its step ran", slice.row.value());
    tree_.extend(slice.sequence, known(row).subspan(static_cast<size_t>(slice.first),
                                                    static_cast<size_t>(slice.tokens_count)));
    row.computed += slice.tokens_count;
    if (slice.outputs_count > 0) row.outputs_from = row.computed;
    recomputed_tokens_ += std::clamp(row.computed_before - slice.first, 0, slice.tokens_count);
    if (row.computed == row.tokens) suspects_.erase(slice.row);
  }
  ENSURE(tree_.cells() <= limits_.cells_max, "{} cells are used of {}", tree_.cells(),
         limits_.cells_max);
}

void BatchScheduler::keep_score(RowId id, Position position, KeptScore score) {
  const Row& row = at(id);
  ENSURE(row.scores_top == score.top_asked, "row {} has no scores with {} alternatives", id.value(),
         score.top_asked);
  // A row that has lost its place has no cells.
  if (limits_.sharing == Sharing::kNothing || position >= row.computed) return;
  tree_.keep_score(SequenceId(row.sequence), position, std::move(score));
}

bool BatchScheduler::step_had_no_space(const ScheduledStep& step) {
  ENSURE(!step.slices.empty(), "an empty step fits");
  if (drop_oldest_resting()) return true;
  if (running_.size() < 2) return false;
  // A row that is alone in its steps would come back at once and meet the same memory.
  const bool alone = step.slices.size() == 1;
  preempt(alone ? *youngest_but(step.slices.front().row) : running_.back());
  return true;
}

bool BatchScheduler::step_failed(const ScheduledStep& step) {
  ENSURE(!step.slices.empty(), "an empty step cannot fail");
  const bool alone = step.slices.size() == 1;
  for (auto slice = step.slices.rbegin(); slice != step.slices.rend(); ++slice) {
    suspects_.insert(slice->row);
    stop(slice->row);
  }
  return alone;
}

void BatchScheduler::extend(RowId id, int32_t tokens_count, bool all_outputs) {
  Row& row = at(id);
  ENSURE(tokens_count > 0, "row {} is extended by {} tokens", id.value(), tokens_count);
  ENSURE(row.outputs_from == row.tokens, "row {} has outputs left to hand out", id.value());
  // It may have lost its place since it handed out its last logits.
  if (!row.begun) forget_beginning(id, row);
  row.tokens += tokens_count;
  if (!all_outputs) row.outputs_from = row.tokens - 1;
  if (!row.begun) await_beginning(id, row);
  ENSURE(static_cast<size_t>(row.tokens) <= row.source->size(), "row {} has no token {}",
         id.value(), row.tokens);
  ENSURE(row.tokens < row.tokens_max, "row {} grows past its end", id.value());
}

void BatchScheduler::remove(RowId id) {
  Row& row = at(id);
  if (!row.begun) forget_beginning(id, row);
  if (row.sequence >= 0) {
    // The row that ends has sampled one token more than it was extended by.
    const int32_t generated = row.tokens - row.prompt_tokens + 1;
    // Rows that may say one token at most, or only score their prompt, teach nothing of the others.
    if (row.tokens_max - row.prompt_tokens > 1)
      output_tokens_expected_ += kEstimateWeight * (generated - output_tokens_expected_);
    keep_what_is_wanted(row);
    std::erase(running_, id);
    closed_to_.reset();
  } else {
    waiting_.erase(order_of(id, row));
  }
  suspects_.erase(id);
  rows_.erase(id);
}

PlanCounts BatchScheduler::counts() const {
  return PlanCounts{.rows_waiting = static_cast<int32_t>(waiting_.size()),
                    .rows_running = static_cast<int32_t>(running_.size()),
                    .cells_used = tree_.cells(),
                    .cells_resting = tree_.cells_resting(),
                    .cells_end = tree_.cells_end(),
                    .preemptions = preemptions_,
                    .recomputed_tokens = recomputed_tokens_};
}

}  // namespace windrow::engine
