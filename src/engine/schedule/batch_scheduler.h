// BatchScheduler: which rows get which tokens in the next step, and what they need not compute.
// Continuous batching: rows join and leave between steps. Pure: it sees tokens and counts, no
// model. Used by one thread at a time.
//
// A row is queued, by priority and then in order of arrival; is admitted when a slot, a sequence
// and cells are free (AdmissionPolicy); shares what of its prompt is computed already
// (PrefixSharing); is prefilled in chunks; then decodes, one token a step beside the others
// (StepComposer); until it is removed. KvMemory has the cells.
//
// Invariants:
//  * A step keeps to the limits: tokens, outputs, sequences, and cells after it has run.
//  * A row's positions are computed once each and in order, from what it shares; after a preemption
//    again.
//  * The logits that a row wants are handed out once each and in order, preempted or not; a row
//    that scores its prompt is given kept scores in their place.
//  * A sequence belongs to one row or one cached prefix; between two owners it is emptied.
//  * A row with nothing to compute waits for its next token to be appended. It keeps its slot while
//    others can be preempted, and the steps of the others go on.
//  * No row is admitted before an older one of its rank. A row of higher rank goes first, but only
//    a bounded number of times (below), so no row starves.
//  * The oldest row of the highest rank is never preempted, so there is always progress.
//
// Preemption is by recomputation (vLLM, SOSP 2023): the row loses its cells and is queued again.
// When cells run out, cached prefixes are evicted first; then the youngest row of the lowest rank
// is preempted, and no row of its rank or a lower one is admitted until a running row has ended.
// When a row of higher priority has no slot or cells, the youngest rows of kBatch are preempted.
//
// Bounded bypass: of each rank the first queued row counts the rows that were admitted before it
// although it had room, and each row how often it was preempted for a higher priority (each counts
// as several). Once queueing::BypassLimits are reached the row has the highest rank, where it is
// the oldest, and the others wait until it has room.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/host/model_runner.h"
#include "engine/host/types.h"
#include "engine/schedule/admission_policy.h"
#include "engine/schedule/kv_memory.h"
#include "engine/schedule/prefix_sharing.h"
#include "engine/schedule/scheduled_row.h"
#include "engine/schedule/scheduled_step.h"
#include "engine/schedule/step_composer.h"
#include "llm/priority.h"
#include "queueing/reserve.h"

namespace windrow::engine {

struct SchedulerLimits {
  int32_t cells_max = 0;
  int32_t rows_max = 0;
  int32_t sequences_max = 0;     // at least rows_max; the others are for cached prefixes
  int32_t step_tokens_max = 0;   // at least rows_max, so that every row can decode
  int32_t step_outputs_max = 0;  // at least rows_max
  Sharing sharing = Sharing::kNothing;
  int32_t compact_cells_max = 0;     // RunnerLimits::compact_cells_max
  bool mixes = true;                 // RunnerLimits::mixes
  queueing::ReserveOptions reserve;  // of slots and of cells
};

struct NewRow {
  RowId id;  // higher than those of all rows before

  // Must outlive the row in the scheduler, and may only be appended to. The capacity for all tokens
  // the row may have is needed if it may be extended after a step that did not compute it: its
  // prompt may be queued then, by reference.
  const std::vector<Token>* tokens = nullptr;

  int32_t prompt_tokens = 0;      // how many of them are known
  int32_t output_tokens_max = 0;  // may be appended; prompt and these must fit cells_max

  // Logits are wanted of its tokens from here on: of the last one to generate, of all to score a
  // prompt. Earlier tokens may be shared.
  Position outputs_from = 0;

  // The logits become scores with so many alternatives, which are kept (keep_score) and may be
  // taken over from other rows.
  std::optional<int32_t> scores_top;

  bool keep = false;  // its tokens stay cached: a later prompt is likely to begin with them
  llm::Priority priority = llm::Priority::kNormal;
};

struct SchedulerCounts {
  int32_t rows_waiting = 0;
  int32_t rows_running = 0;
  int32_t cells_used = 0;
  int32_t cells_cached = 0;  // in cached prefixes only
  int32_t cells_held = 0;    // of cached prefixes that are held (llm::PrefixHold)
  int32_t cells_end = 0;     // one past the highest cell in use: a step reads up to there
  int64_t preemptions = 0;
  int64_t recomputed_tokens = 0;
};

class BatchScheduler {
 public:
  explicit BatchScheduler(SchedulerLimits limits);

  // Queues a row.
  void add(const NewRow& row);

  // What to compute next: the decoding rows' tokens and at most `prefill_tokens_max` others; up to
  // `lone_tokens_max`, if that is more, where only one row has anything to compute. A step without
  // slices: no row has. Changes and scores are handed out once, whatever becomes of the step; the
  // slices are the same again until one of the next three methods says how it went.
  ScheduledStep next(int32_t prefill_tokens_max, int32_t lone_tokens_max = 0,
                     const BackgroundTokens& background = {});

  // The step ran. Rows whose last known token it computed have to be extended or removed.
  void step_ran(const ScheduledStep& step);

  // The step did not fit the model's memory although it fitted the accounting. Evicts a cached
  // prefix or preempts the youngest row (another one, if the step was one row alone). False when
  // there is neither: the row can never fit.
  bool step_had_no_space(const ScheduledStep& step);

  // The step failed and it is not known which row is to blame: its rows start over, each alone in
  // its steps until it has got past this point. True when the step was one row alone, which then is
  // to blame; the caller removes it.
  bool step_failed(const ScheduledStep& step);

  // The score of what follows the row's token at `position`, which a step that ran has computed, of
  // a row with `scores_top`. May be called again for a position that is computed again.
  void keep_score(RowId row, Position position, KeptScore score);

  // The row has `tokens_count` more known tokens, which are in its tokens already. Logits are
  // wanted of the last one, or (`all_outputs`) of all since those that it handed out.
  void extend(RowId row, int32_t tokens_count = 1, bool all_outputs = false);

  bool contains(RowId row) const { return rows_.contains(row); }

  // The row has ended, in whatever state it is.
  void remove(RowId row);

  // Prefixes to keep (KvMemory::hold), in whatever state their cells are.
  void hold(HoldId hold, std::vector<Token> tokens) { memory_.hold(hold, std::move(tokens)); }
  void release_hold(HoldId hold) { memory_.release_hold(hold); }

  // Evicts all cached prefixes.
  void evict_cached() { memory_.evict_all(); }

  SchedulerCounts counts() const;

 private:
  // Rows are queued and run in this order.
  using Order = std::pair<llm::Priority, RowId>;
  static Order order_of(const ScheduledRow& row) { return {row.rank, row.id}; }

  ScheduledRow& at(RowId row);

  // Admission.
  void admit();
  int64_t count_clients();
  RunningLoad load(llm::Priority rank) const;
  bool can_preempt_for(const ScheduledRow& row) const;
  bool make_room_for(const ScheduledRow& row);
  void start(ScheduledRow& row);
  void count_bypasses(const ScheduledRow& admitted);
  void count_bypass(ScheduledRow& row, int32_t count);

  // Preemption.
  void requeue(ScheduledRow& row);
  void preempt(ScheduledRow& row);
  void preempt_for_cells(ScheduledRow& row);
  ScheduledRow* youngest_but(const ScheduledRow& row) const;
  void make_room_for_decoding();

  ScheduledStep next_alone(ScheduledRow& row, int32_t prefill_tokens_max);
  bool waits_for_a_token() const;

  const SchedulerLimits limits_;
  KvMemory memory_;
  PrefixSharing sharing_;
  AdmissionPolicy admission_;
  StepComposer composer_;
  std::unordered_map<RowId, ScheduledRow> rows_;  // their addresses are stable
  std::set<Order> waiting_;
  std::vector<ScheduledRow*> running_;  // in Order
  std::set<RowId> suspects_;            // rows with is_suspect

  // From a preemption for cells until the next row ends: this rank and lower ones are not admitted.
  std::optional<llm::Priority> closed_to_;
  int64_t preemptions_ = 0;
  int64_t recomputed_tokens_ = 0;
};

}  // namespace windrow::engine
