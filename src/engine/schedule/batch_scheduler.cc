#include "engine/schedule/batch_scheduler.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"
#include "queueing/bypass.h"

namespace windrow::engine {
namespace {

constexpr queueing::BypassLimits kBypassLimits{};

// A row that was preempted for a higher priority was bypassed so many times.
constexpr int32_t kBypassesOfPreemption = 8;

// Rows of this rank are preempted for rows of another priority.
constexpr llm::Priority kPreemptible = llm::Priority::kBatch;

}  // namespace

BatchScheduler::BatchScheduler(SchedulerLimits limits)
    : limits_(limits),
      memory_({.cells_max = limits.cells_max,
               .sequences_max = limits.sequences_max,
               .sharing = limits.sharing,
               .compact_cells_max = limits.compact_cells_max}),
      sharing_(memory_),
      admission_(limits.rows_max, limits.cells_max, limits.reserve),
      composer_({.tokens_max = limits.step_tokens_max,
                 .outputs_max = limits.step_outputs_max,
                 .mixes = limits.mixes},
                memory_) {
  ENSURE(limits.cells_max > 0 && limits.rows_max > 0, "a scheduler needs cells and rows");
  ENSURE(limits.sequences_max >= limits.rows_max, "{} sequences are too few for {} rows",
         limits.sequences_max, limits.rows_max);
  ENSURE(limits.step_tokens_max >= limits.rows_max, "a step of {} tokens cannot decode {} rows",
         limits.step_tokens_max, limits.rows_max);
  ENSURE(limits.step_outputs_max >= limits.rows_max, "{} outputs a step are too few for {} rows",
         limits.step_outputs_max, limits.rows_max);
}

ScheduledRow& BatchScheduler::at(RowId row) {
  const auto found = rows_.find(row);
  ENSURE(found != rows_.end(), "row {} is not in the scheduler", row.value());
  return found->second;
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
      rows_.emplace(row.id, ScheduledRow{.id = row.id,
                                         .source = row.tokens,
                                         .tokens = row.prompt_tokens,
                                         .tokens_max = row.prompt_tokens + row.output_tokens_max,
                                         .prompt_tokens = row.prompt_tokens,
                                         .outputs_from = row.outputs_from,
                                         .scores_top = row.scores_top,
                                         .keep = row.keep,
                                         .priority = row.priority,
                                         .rank = row.priority});
  ENSURE(is_new, "row {} was added twice", row.id.value());
  waiting_.insert(order_of(added->second));
  memory_.add_waiting(added->second);
}

// --- the step -----------------------------------------------------------------------------------

ScheduledStep BatchScheduler::next(int32_t prefill_tokens_max, int32_t lone_tokens_max,
                                   const BackgroundTokens& background) {
  sharing_.snapshot_stopped(running_);
  const auto finished = [&](ScheduledStep step) {
    step.changes = memory_.take_changes();
    step.scores = sharing_.take_scores();
    return step;
  };
  // Suspects run before all others: rows may wait for what they spoil.
  if (!suspects_.empty()) return finished(next_alone(at(*suspects_.begin()), prefill_tokens_max));
  while (true) {
    make_room_for_decoding();
    memory_.evict_unwanted(running_.size());
    sharing_.begin_rows(running_);
    admit();
    sharing_.begin_rows(running_);
    // A row that shares all but its last token decodes at once, so it needs a cell, too.
    make_room_for_decoding();
    ScheduledStep step =
        composer_.compose(running_, prefill_tokens_max, lone_tokens_max, background);
    if (!step.slices.empty() || running_.empty() || waits_for_a_token()) {
      if (!step.slices.empty()) memory_.compact_if_worthwhile();
      return finished(std::move(step));
    }
    // Prompts hold the cells that each other needs.
    ENSURE(running_.size() > 1, "one row alone does not fit {} cells", limits_.cells_max);
    preempt_for_cells(*running_.back());
  }
}

ScheduledStep BatchScheduler::next_alone(ScheduledRow& row, int32_t prefill_tokens_max) {
  if (!row.has_sequence()) {
    while (running_.size() >= static_cast<size_t>(limits_.rows_max) ||
           !memory_.make_room_for_sequence(false))
      preempt_for_cells(*running_.back());
    start(row);
  }
  if (!row.begun) sharing_.begin(row);
  const int32_t count = composer_.tokens_alone(row, prefill_tokens_max);
  while (!memory_.make_room(count)) {
    // Preempting this row would gain nothing.
    ScheduledRow* other = youngest_but(row);
    ENSURE(other != nullptr, "one row alone does not fit {} cells", limits_.cells_max);
    preempt_for_cells(*other);
  }
  return composer_.compose_alone(running_, row, count);
}

// A row has computed all its known tokens: it will be extended, or end.
bool BatchScheduler::waits_for_a_token() const {
  return std::ranges::any_of(
      rows_, [](const auto& one) { return one.second.outputs_from == one.second.tokens; });
}

void BatchScheduler::step_ran(const ScheduledStep& step) {
  composer_.step_ran(step);
  for (const Slice& slice : step.slices) {
    ScheduledRow& row = at(slice.row);
    ENSURE(row.computed == slice.first && row.sequence == slice.sequence,
           "row {} moved while its step ran", slice.row.value());
    memory_.extend(slice.sequence, row.known().subspan(static_cast<size_t>(slice.first),
                                                       static_cast<size_t>(slice.tokens_count)));
    row.computed += slice.tokens_count;
    if (slice.outputs_count > 0) row.outputs_from = row.computed;
    recomputed_tokens_ += std::clamp(row.computed_before - slice.first, 0, slice.tokens_count);
    if (row.is_suspect && row.computed == row.tokens) {
      row.is_suspect = false;
      suspects_.erase(slice.row);
    }
  }
  ENSURE(memory_.cells_free() >= 0, "{} cells are used of {}", memory_.cells(), limits_.cells_max);
}

bool BatchScheduler::step_had_no_space(const ScheduledStep& step) {
  ENSURE(!step.slices.empty(), "an empty step fits");
  if (memory_.evict_one()) return true;
  if (running_.size() < 2) return false;
  // A row that is alone in its steps would come back at once and meet the same memory.
  const bool is_alone = step.slices.size() == 1;
  preempt_for_cells(is_alone ? *youngest_but(at(step.slices.front().row)) : *running_.back());
  return true;
}

bool BatchScheduler::step_failed(const ScheduledStep& step) {
  ENSURE(!step.slices.empty(), "an empty step cannot fail");
  const bool is_alone = step.slices.size() == 1;
  for (auto slice = step.slices.rbegin(); slice != step.slices.rend(); ++slice) {
    ScheduledRow& row = at(slice->row);
    row.is_suspect = true;
    suspects_.insert(row.id);
    requeue(row);
  }
  return is_alone;
}

// --- rows ---------------------------------------------------------------------------------------

void BatchScheduler::keep_score(RowId id, Position position, KeptScore score) {
  const ScheduledRow& row = at(id);
  ENSURE(row.scores_top == score.top_asked, "row {} has no scores with {} alternatives", id.value(),
         score.top_asked);
  // A row that was preempted has no cells.
  if (position < row.computed) memory_.keep_score(row.sequence, position, std::move(score));
}

void BatchScheduler::extend(RowId id, int32_t tokens_count, bool all_outputs) {
  ScheduledRow& row = at(id);
  ENSURE(tokens_count > 0, "row {} is extended by {} tokens", id.value(), tokens_count);
  ENSURE(row.outputs_from == row.tokens, "row {} has outputs left to hand out", id.value());
  // It may have been preempted since it handed out its last logits.
  if (!row.begun) memory_.remove_waiting(row);
  row.tokens += tokens_count;
  if (!all_outputs) row.outputs_from = row.tokens - 1;
  if (!row.begun) memory_.add_waiting(row);
  ENSURE(static_cast<size_t>(row.tokens) <= row.source->size(), "row {} has no token {}",
         id.value(), row.tokens);
  ENSURE(row.tokens < row.tokens_max, "row {} grows past its end", id.value());
}

void BatchScheduler::remove(RowId id) {
  ScheduledRow& row = at(id);
  if (!row.begun) memory_.remove_waiting(row);
  if (row.has_sequence()) {
    admission_.row_ended(row);
    memory_.release_or_cache(row.sequence, row.keep);
    std::erase(running_, &row);
    closed_to_.reset();
  } else {
    waiting_.erase(order_of(row));
  }
  if (row.is_suspect) suspects_.erase(id);
  rows_.erase(id);
}

SchedulerCounts BatchScheduler::counts() const {
  return SchedulerCounts{.rows_waiting = static_cast<int32_t>(waiting_.size()),
                         .rows_running = static_cast<int32_t>(running_.size()),
                         .cells_used = memory_.cells(),
                         .cells_cached = memory_.cells_cached(),
                         .cells_held = memory_.cells_held(),
                         .cells_end = memory_.cells_end(),
                         .preemptions = preemptions_,
                         .recomputed_tokens = recomputed_tokens_};
}

// --- admission ----------------------------------------------------------------------------------

void BatchScheduler::admit() {
  if (running_.empty()) closed_to_.reset();
  admission_.observe_clients(count_clients());
  while (!waiting_.empty()) {
    ScheduledRow& row = at(waiting_.begin()->second);
    if (closed_to_ && row.rank >= *closed_to_) return;
    if (admission_.is_kept_for_clients(row, running_)) return;
    if (!admission_.has_slot(row, load(llm::Priority::kInteractive)) && !can_preempt_for(row))
      return;
    const PrefixSharing::Prefix prefix = sharing_.prefix_of(row, running_);
    row.shared_expected =
        std::max(prefix.computed.live_tokens, prefix.is_worth_waiting() ? prefix.coming : 0);
    if (!make_room_for(row)) return;
    if (!memory_.make_room_for_sequence(!running_.empty())) return;
    start(row);
    // If the row that computes its prefix was just preempted, begin_rows sees to it.
    if (!prefix.is_worth_waiting()) sharing_.begin(row);
    count_bypasses(row);
  }
}

// Client rows that run, or would if they all had slots.
int64_t BatchScheduler::count_clients() {
  const auto is_of_client = [](const ScheduledRow& row) {
    return row.priority != llm::Priority::kBatch;
  };
  int64_t count =
      std::ranges::count_if(running_, [&](const ScheduledRow* row) { return is_of_client(*row); });
  for (const auto& [rank, id] : waiting_) {
    if (rank == llm::Priority::kBatch || count >= limits_.rows_max) break;
    if (is_of_client(at(id))) ++count;
  }
  return count;
}

RunningLoad BatchScheduler::load(llm::Priority rank) const {
  return admission_.load(running_, memory_.cells_live(), rank);
}

bool BatchScheduler::can_preempt_for(const ScheduledRow& row) const {
  return row.priority != kPreemptible && !running_.empty() && running_.back()->rank == kPreemptible;
}

// Whether the row has room, if need be after preempting the youngest rows of kBatch; none is
// preempted when that would not be enough.
bool BatchScheduler::make_room_for(const ScheduledRow& row) {
  if (admission_.has_room(row, load(llm::Priority::kInteractive))) return true;
  if (!can_preempt_for(row)) return false;
  const RunningLoad least = admission_.load_without(running_, memory_.cells_live(), kPreemptible);
  if (!admission_.has_room(row, least)) return false;
  while (!admission_.has_room(row, load(llm::Priority::kInteractive))) {
    if (running_.empty() || running_.back()->rank != kPreemptible) return false;
    preempt(*running_.back());
  }
  return true;
}

void BatchScheduler::start(ScheduledRow& row) {
  ENSURE(!row.has_sequence() && row.computed == 0, "row {} runs already", row.id.value());
  waiting_.erase(order_of(row));
  row.sequence = memory_.open();
  const auto place = std::ranges::upper_bound(
      running_, order_of(row), {}, [](const ScheduledRow* other) { return order_of(*other); });
  running_.insert(place, &row);
}

// Of each lower rank the first row that is older than the admitted one was bypassed, unless it has
// no room beside its like anyway.
void BatchScheduler::count_bypasses(const ScheduledRow& admitted) {
  for (const llm::Priority rank : {llm::Priority::kNormal, llm::Priority::kBatch}) {
    if (rank <= admitted.rank) continue;
    const auto first = waiting_.lower_bound({rank, RowId(0)});
    if (first == waiting_.end() || first->first != rank || admitted.id < first->second) continue;
    ScheduledRow& row = at(first->second);
    if (admission_.has_room(row, load(rank))) count_bypass(row, 1);
  }
}

void BatchScheduler::count_bypass(ScheduledRow& row, int32_t count) {
  ENSURE(row.rank != llm::Priority::kInteractive, "row {} has the highest rank", row.id.value());
  row.bypass_count += count;
  if (!kBypassLimits.is_reached(row.rank, row.bypass_count)) return;
  waiting_.erase(order_of(row));
  row.rank = llm::Priority::kInteractive;
  waiting_.insert(order_of(row));
}

// --- preemption ---------------------------------------------------------------------------------

// The row gives up its sequence and the cells that no other holds, and is queued before all younger
// rows of its rank.
void BatchScheduler::requeue(ScheduledRow& row) {
  ENSURE(row.has_sequence(), "a queued row has nothing to give up");
  memory_.release(row.sequence);
  row.computed_before = std::max(row.computed_before, row.computed);
  row.computed = 0;
  row.sequence = SequenceId(-1);
  row.stop_at = 0;
  std::erase(running_, &row);
  waiting_.insert(order_of(row));
  if (std::exchange(row.begun, false)) memory_.add_waiting(row);
}

void BatchScheduler::preempt(ScheduledRow& row) {
  requeue(row);
  ++preemptions_;
  const bool for_higher_priority = !running_.empty() && running_.front()->rank < row.rank;
  if (for_higher_priority) count_bypass(row, kBypassesOfPreemption);
}

void BatchScheduler::preempt_for_cells(ScheduledRow& row) {
  admission_.row_outgrew_memory(row);
  closed_to_ = std::min(closed_to_.value_or(row.rank), row.rank);
  preempt(row);
}

ScheduledRow* BatchScheduler::youngest_but(const ScheduledRow& row) const {
  const auto other = std::find_if(running_.rbegin(), running_.rend(),
                                  [&](const ScheduledRow* running) { return running != &row; });
  return other == running_.rend() ? nullptr : *other;
}

// Each decoding row needs one free cell; the other tokens of a forced run are computed as far as
// there is room.
void BatchScheduler::make_room_for_decoding() {
  const auto cells_wanted = [&] {
    return static_cast<int32_t>(std::ranges::count_if(
        running_, [](const ScheduledRow* row) { return row->begun && row->is_decoding(); }));
  };
  while (!memory_.make_room(cells_wanted())) {
    ENSURE(running_.size() > 1, "one row alone does not fit {} cells", limits_.cells_max);
    preempt_for_cells(*running_.back());
  }
}

}  // namespace windrow::engine
