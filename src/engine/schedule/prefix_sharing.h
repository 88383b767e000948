// PrefixSharing: how a row comes to the prefix that it need not compute. It attaches what is
// computed already; or, where a running row is about to compute more of it, waits for that row. So
// a prefix that many rows begin with is computed once. Pure; used by one thread at a time.
//
// A row that waits keeps its slot and brings nothing to the steps. The row it waits for inherits
// its priority (ScheduledRow::inherited_priority).
//
// A row that scores its prompt wants logits of all of it. It shares only tokens whose scores are
// kept, and is given these; and it waits only for a row that computes the scores, too. The last
// token in common is computed again: its logits are wanted for another next token. No row computes
// more alternatives than it asks for: the rows of one job ask for equally many.
//
// Where the model shares only ends, the row that is waited for stops its chunk where the others
// take another way, and a snapshot of its state is cached there.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/host/model_runner.h"
#include "engine/schedule/kv_memory.h"
#include "engine/schedule/prefix_tree.h"
#include "engine/schedule/scheduled_row.h"
#include "engine/schedule/scheduled_step.h"

namespace windrow::engine {

class PrefixSharing {
 public:
  // What others have computed of a row's prefix, or are about to compute.
  struct Prefix {
    PrefixTree::Match computed;
    int32_t coming = 0;              // its size once `leader` has computed its known tokens
    ScheduledRow* leader = nullptr;  // null: nothing is coming

    bool is_worth_waiting() const { return coming >= computed.tokens + kPrefixTokensMin; }
  };

  // `memory` must outlive it.
  explicit PrefixSharing(KvMemory& memory) : memory_(memory) {}

  Prefix prefix_of(const ScheduledRow& row, RunningRows running) const;

  // The row has a sequence: it attaches what is computed, and begins.
  void begin(ScheduledRow& row);

  // Begins every running row that need not wait. In their order, so that of rows with the same
  // prefix the first computes it. Sets stop_at and inherited_priority of all of them.
  void begin_rows(RunningRows running);

  // Caches snapshots of the rows that have stopped for others. To be called before the next step is
  // planned, not earlier: a snapshot without its scores is of no use to a row that scores.
  void snapshot_stopped(RunningRows running);

  // The scores for rows that have begun since the last call.
  std::vector<TakenScores> take_scores() { return std::exchange(taken_scores_, {}); }

 private:
  void stop_for_waiting(ScheduledRow& row) const;

  KvMemory& memory_;
  std::vector<TakenScores> taken_scores_;
};

}  // namespace windrow::engine
