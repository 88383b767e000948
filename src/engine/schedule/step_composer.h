// StepComposer: divides one step among the rows that run already: how many tokens each brings.
// Which rows run is for BatchScheduler to decide. It evicts cached prefixes to make room, but
// preempts no row. Pure; used by one thread at a time.
//
// Invariants:
//  * Rows that decode come first; prompts fill what is left of the step's tokens and outputs.
//    (Iteration-level batching, Orca, OSDI 2022; chunked prefill, Sarathi, 2023.)
//  * Where the model does not mix the two in one pass, a step is one row's prefill or decodes all
//    rows that decode; prefills give way after a step's worth of tokens.
//  * A row that decodes may have several known tokens to compute (a forced run). They go together,
//    as far as every other decoding row has room for one. Where the model does not mix, they go
//    one by one beside those of others, or in a step of their own if that is less work.
//  * Of prompts, the higher priority has what it wants first, and of one priority the shortest
//    (SRPT, Schrage, 1968). The oldest of the highest priority has at least half of the step, and
//    the first of lower priority an eighth: no prompt starves.
//  * Rows with the effective priority kBatch bring no more than BackgroundTokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/schedule/kv_memory.h"
#include "engine/schedule/scheduled_row.h"
#include "engine/schedule/scheduled_step.h"

namespace windrow::engine {

struct StepLimits {
  int32_t tokens_max = 0;
  int32_t outputs_max = 0;
  bool mixes = true;  // RunnerLimits::mixes
};

class StepComposer {
 public:
  // `memory` must outlive it.
  StepComposer(const StepLimits& limits, KvMemory& memory) : limits_(limits), memory_(memory) {}

  // A step of the running rows: slices, background_tokens and clients_wait. Each decoding row must
  // have a free cell. It has no slices when prompts need cells that are not free. Parameters as
  // BatchScheduler::next.
  ScheduledStep compose(RunningRows running, int32_t prefill_tokens_max, int32_t lone_tokens_max,
                        const BackgroundTokens& background);

  // A step of this row alone: how many tokens, and the step, for which the cells must be free.
  int32_t tokens_alone(const ScheduledRow& row, int32_t prefill_tokens_max) const;
  ScheduledStep compose_alone(RunningRows running, const ScheduledRow& row, int32_t tokens);

  // The step ran.
  void step_ran(const ScheduledStep& step);

 private:
  using Prefills = std::span<const ScheduledRow* const>;  // by effective priority, then by age

  bool takes_part(const ScheduledRow& row) const {
    return row.begun && !(background_left_ <= 0 && row.is_background());
  }
  bool runs_alone(const ScheduledRow& row, RunningRows running) const;
  int32_t prefill_wanted(const ScheduledRow& row) const;
  void push_slice(ScheduledStep& step, const ScheduledRow& row, int32_t tokens);
  void push_decoding(ScheduledStep& step, RunningRows running);
  void push_prefills(ScheduledStep& step, RunningRows running, int32_t prefill_tokens_max);
  void push_one_prefill(ScheduledStep& step, RunningRows running, Prefills prefills,
                        int32_t tokens);
  std::vector<int32_t> shares(Prefills prefills, int32_t tokens, int32_t outputs) const;

  const StepLimits limits_;
  KvMemory& memory_;
  int32_t background_left_ = INT32_MAX;  // kBatch tokens left in the step being composed

  // Where the model does not mix: prefill tokens since rows last decoded, and prefills so far.
  int32_t prefilled_tokens_ = 0;
  int64_t prefill_turns_ = 0;
};

}  // namespace windrow::engine
