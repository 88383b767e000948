// PlannedRows: what lies between the reader and the submitter of a job: rows in the order of the
// input on one side, in the order of a RowPlanner on the other. The bound is the planner's
// look-ahead.
//
// The first rows wait until there is something to choose from: until the look-ahead is full, or as
// many lines were read as it has rows, or no row is left to come, or the reader is about to wait
// for a pipe. A row that is typed thus starts at once, and a file costs its first row the time to
// read some thousand lines. After that rows are handed out as they are wanted: the backend is idle
// whenever somebody waits here.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>

#include "batch/row_planner.h"

namespace windrow::batch {

// Every method may be called from any thread.
class PlannedRows {
 public:
  explicit PlannedRows(LookAhead limits = {})
      : lines_until_begun_(limits.rows_max), rows_(limits) {}

  // Blocks while there is no room. False, and the row is dropped, once this is closed: also for
  // those who were waiting.
  [[nodiscard]] bool push(Row row);

  // A line was read that is no row to run.
  void pass_over();

  // Whoever pushes is about to wait for something else than room: what is there is handed out.
  void hand_out();

  // Blocks until there is a row. Nothing once this is closed and empty.
  std::optional<Row> pop();

  // No more rows come in; those inside can still be taken.
  void close();

 private:
  void count_line();

  mutable std::mutex mutex_;
  std::condition_variable has_room_;
  std::condition_variable has_rows_;
  size_t lines_until_begun_;  // 0: rows are handed out
  RowPlanner rows_;
  bool closed_ = false;
};

}  // namespace windrow::batch
