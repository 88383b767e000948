// AdmissionPolicy: whether a waiting row has room beside the rows that run. Pure; it learns from
// the rows that ended. Used by one thread at a time.
//
// Memory is given out optimistically: a row has room when its prompt and the answer expected of it
// fit beside what is expected of the others. (An answer is expected to be as long as answers were
// on average.) When the estimate was too low and cells run out, rows are preempted.
//
// Slots and cells may be reserved for higher priorities (queueing::Reserve). Beyond that, as many
// slots as interactive and normal rows held lately stay free of kBatch rows for a short while after
// they end: the next turn of a chat usually follows, and would preempt the kBatch row at once.
#pragma once

#include <array>
#include <cstdint>

#include "engine/schedule/scheduled_row.h"
#include "llm/priority.h"
#include "queueing/reserve.h"

namespace windrow::engine {

// What running rows take.
struct RunningLoad {
  std::array<int32_t, 3> rows = {};  // by rank
  int64_t cells = 0;                 // held, and expected on top of that
};

class AdmissionPolicy {
 public:
  AdmissionPolicy(int32_t rows_max, int32_t cells_max, const queueing::ReserveOptions& reserve);

  // The load of running rows of this rank and lower ones; kInteractive: of all. `cells_live`: cells
  // held by all running rows.
  RunningLoad load(RunningRows running, int32_t cells_live, llm::Priority rank) const;

  // The load that would be left if every row of this rank were preempted.
  RunningLoad load_without(RunningRows running, int32_t cells_live, llm::Priority rank) const;

  // Whether the row has a slot beside this load; and whether it has a slot and cells.
  bool has_slot(const ScheduledRow& row, const RunningLoad& load) const;
  bool has_room(const ScheduledRow& row, const RunningLoad& load) const;

  // To be called for every step: so many rows of a higher priority than kBatch run or could.
  void observe_clients(int64_t rows);

  // The free slots are kept for clients that are expected back, and the row is none of theirs.
  bool is_kept_for_clients(const ScheduledRow& row, RunningRows running) const;

  // The row has ended, or was preempted because cells ran out: both correct the estimate.
  void row_ended(const ScheduledRow& row);
  void row_outgrew_memory(const ScheduledRow& row);

 private:
  int32_t expected_cells(const ScheduledRow& row) const;
  int64_t expected_growth(const ScheduledRow& row) const;

  const int32_t rows_max_;
  const int32_t cells_max_;
  const queueing::Reserve reserve_;
  double output_tokens_expected_;
  double clients_expected_ = 0;
};

}  // namespace windrow::engine
