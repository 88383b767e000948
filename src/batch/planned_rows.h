// PlannedRows: the queue between the reader and the submitter of a job: rows come in the order of
// the input and leave in the order of a RowPlanner. Its bound is the planner's look-ahead.
//
// The first rows wait until there is something to choose from: until the look-ahead is full, or as
// many lines were read as it has rows, or the input has ended, or the reader is about to block on a
// pipe. So a row that is typed starts at once, and a file costs its first row the time to read some
// thousand lines. After that pop() returns a row whenever there is one.
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

  // Blocks while the queue is full. False, and the row is dropped, once this is closed; that also
  // ends a call that blocks.
  [[nodiscard]] bool push(Row row);

  // Counts a line that does not run.
  void pass_over();

  // The producer is about to block for another reason: rows may leave from now on.
  void release();

  // Blocks until there is a row. Nothing once this is closed and empty.
  std::optional<Row> pop();

  // No more rows come in; those queued can still be popped.
  void close();

 private:
  void count_line();

  mutable std::mutex mutex_;
  std::condition_variable has_room_;
  std::condition_variable has_rows_;
  size_t lines_until_begun_;  // 0: rows may leave
  RowPlanner rows_;
  bool closed_ = false;
};

}  // namespace windrow::batch
