// ScheduledStep: what BatchScheduler decides for one forward pass, and the limits it is given.
// Values.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/host/model_runner.h"
#include "engine/host/types.h"
#include "engine/schedule/kv_cells.h"

namespace windrow::engine {

// The tokens that one row brings to a step.
struct Slice {
  RowId row;
  SequenceId sequence;
  Position first = 0;  // in a row's first slice: how many tokens it shares
  int32_t tokens_count = 0;
  int32_t outputs_count = 0;  // logits are wanted of its last so many tokens
};

// Kept scores for a row, in place of logits that it wants of tokens it shares.
struct TakenScores {
  RowId row;
  std::vector<KeptScore> scores;  // in order; they continue the scores the row has
};

struct ScheduledStep {
  std::vector<MemoryChange> changes;  // to be applied in this order before the step runs
  std::vector<TakenScores> scores;    // to be given to rows before the step runs
  std::vector<Slice> slices;          // empty: nothing to compute
  int32_t background_tokens = 0;      // tokens of rows with the effective priority kBatch
  bool clients_wait = false;  // rows of higher priority have tokens to compute, now or later
};

// How many tokens rows with the effective priority kBatch may bring to a step. Fewer make the step
// shorter for clients whose rows are in it, or arrive while it runs.
struct BackgroundTokens {
  int32_t beside_clients_max = INT32_MAX;   // clients have something to compute; 0: none
  int32_t between_clients_max = INT32_MAX;  // they have nothing; more than 0
};

}  // namespace windrow::engine
