// Plan: which rows get which tokens in the next step. Pure: it counts tokens and never sees one.
//
// Rows wait in order of arrival, get a sequence when the memory has room for them, are prefilled in
// chunks, then decode one token a step beside each other until they are removed.
//
// Invariants:
//  * A step keeps to the limits: tokens, outputs, sequences, and cells after it has run.
//  * Positions of a row are computed once each and in order, from 0 again after a preemption.
//  * The logits that a row wants are handed out once each and in order, preempted or not.
//  * A sequence belongs to one row; between two owners it is forgotten.
//  * Decoding rows come first in a step; prefill fills what is left of its tokens and outputs.
//  * No row overtakes another on its way in, so none waits for ever; the oldest row is never
//    preempted, so there is always progress.
//
// Memory is given out optimistically: a row is admitted when its prompt and the answer expected of
// it fit beside what is expected of the others (the mean length of the answers so far). When the
// estimate was wrong and cells run out, the youngest row loses its place and is computed again
// later (preemption by recomputation: vLLM, SOSP 2023). None is admitted then until a running row
// has ended: the place a preemption made is for those who stayed.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/types.h"

namespace windrow::engine {

struct PlanLimits {
  int32_t cells_max = 0;
  int32_t sequences_max = 0;
  int32_t step_tokens_max = 0;   // at least sequences_max, so that every row can decode
  int32_t step_outputs_max = 0;  // the same
};

struct Slice {
  RowId row;
  SequenceId sequence;
  Position first = 0;
  int32_t tokens_count = 0;
  int32_t outputs_count = 0;  // of its last so many tokens the logits are wanted
};

struct StepPlan {
  std::vector<SequenceId> forgotten;  // to empty before the step runs
  std::vector<Slice> slices;          // empty: nothing to do
};

struct PlanCounts {
  int32_t rows_waiting = 0;
  int32_t rows_running = 0;
  int32_t cells_used = 0;
  int64_t preemptions = 0;
  int64_t recomputed_tokens = 0;
};

// Used by one thread at a time.
class Plan {
 public:
  explicit Plan(PlanLimits limits);

  // A new row with that many known tokens, which may grow by that many more. Together they must fit
  // the cells. Logits are wanted of its tokens from `outputs_from` on: of the last one for an
  // answer, of all to score a prompt.
  void add(RowId row, int32_t prompt_tokens, int32_t output_tokens_max, Position outputs_from);

  // What to compute next, with at most `prefill_tokens_max` tokens besides the decoding rows'. Says
  // the same again until told how it went.
  StepPlan next(int32_t prefill_tokens_max);

  // The step ran. Rows whose last known token it computed are then extended or removed.
  void step_ran(const StepPlan& step);

  // The step did not fit the model's memory although it fitted the count: the youngest row gives
  // way, of the others when the step was one row alone. False when there is only one row, which
  // then can never fit.
  bool step_had_no_space(const StepPlan& step);

  // The step failed and nobody knows which row is to blame: its rows start over, each alone in its
  // steps until it has got past this point. True when the step was one row alone: it is to blame.
  bool step_failed(const StepPlan& step);

  // The row has one more known token.
  void extend(RowId row);

  bool contains(RowId row) const { return rows_.contains(row); }

  // The row is over, in whatever state it is.
  void remove(RowId row);

  PlanCounts counts() const;

 private:
  struct Row {
    int32_t tokens = 0;      // known: prompt and what was sampled
    int32_t tokens_max = 0;  // where it must end
    int32_t prompt_tokens = 0;
    Position outputs_from = 0;    // the first token whose logits were not handed out yet
    int32_t computed = 0;         // in the cells of its sequence
    int32_t computed_before = 0;  // the most it ever had there
    int32_t sequence = -1;        // -1: waiting
    bool alone = false;           // suspected of making steps fail
  };

  Row& at(RowId row);
  bool decoding(const Row& row) const { return row.computed + 1 == row.tokens; }
  int32_t expected_cells(const Row& row) const;
  int32_t cells_free() const { return limits_.cells_max - cells_used_; }

  void admit_waiting();
  void start(RowId row);
  void stop(Row& row);
  void preempt(RowId row);
  std::optional<RowId> youngest_but(RowId row) const;
  void make_room_for_decoding();
  StepPlan alone_step(RowId row, int32_t prefill_tokens_max);

  // So many of the row's next tokens bring no more outputs than that.
  static int32_t tokens_for_outputs(const Row& row, int32_t outputs_max);
  static int32_t outputs_of(const Row& row, int32_t tokens_count);
  void push_slice(StepPlan& step, RowId row, int32_t tokens_count);

  PlanLimits limits_;
  std::unordered_map<RowId, Row> rows_;
  std::deque<RowId> waiting_;
  std::vector<RowId> running_;  // oldest first
  std::vector<SequenceId> sequences_free_;
  std::vector<SequenceId> forgotten_;  // given back since the last step that ran
  int32_t cells_used_ = 0;
  bool admitting_ = true;  // not between a preemption and the next row that ends
  double output_tokens_expected_;
  int64_t preemptions_ = 0;
  int64_t recomputed_tokens_ = 0;
};

}  // namespace windrow::engine
