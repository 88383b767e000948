#include "batch/planned_rows.h"

#include <utility>

namespace windrow::batch {

bool PlannedRows::push(Row row) {
  PromptKey key = prompt_key(row);
  const size_t cost = RowPlanner::cost_of(row, key);
  std::unique_lock lock(mutex_);
  if (!closed_ && !rows_.has_room(cost)) {
    lines_until_begun_ = 0;
    has_rows_.notify_all();
    has_room_.wait(lock, [&] { return closed_ || rows_.has_room(cost); });
  }
  if (closed_) return false;
  rows_.add(std::move(row), std::move(key));
  count_line();
  if (lines_until_begun_ == 0) has_rows_.notify_one();
  return true;
}

void PlannedRows::pass_over() {
  const std::scoped_lock lock(mutex_);
  count_line();
}

// No wake-up for a line without a row: millions of those may follow each other.
void PlannedRows::count_line() {
  if (lines_until_begun_ > 0 && --lines_until_begun_ == 0) has_rows_.notify_all();
}

void PlannedRows::release() {
  const std::scoped_lock lock(mutex_);
  if (rows_.size() == 0) return;
  lines_until_begun_ = 0;
  has_rows_.notify_one();
}

std::optional<Row> PlannedRows::pop() {
  std::unique_lock lock(mutex_);
  has_rows_.wait(lock, [&] { return closed_ || (lines_until_begun_ == 0 && rows_.size() > 0); });
  std::optional<Row> row = rows_.next();
  if (rows_.has_much_room()) has_room_.notify_all();
  return row;
}

void PlannedRows::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  has_room_.notify_all();
  has_rows_.notify_all();
}

}  // namespace windrow::batch
