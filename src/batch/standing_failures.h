// StandingFailures: which lines of an errors log still count. While failed rows are tried again,
// the line of the failure stays where it is, so that nothing is lost when the process is killed;
// what comes of the row is appended. So a row that has a result has not failed, and of two failures
// of one row the later one counts. Pure, 16 bytes a row that failed (row_table.h).
//
// Two rows that agree in 80 bits of their identities pass for one here, and the failure of one of
// them for settled: then that row is in no log, and the next run runs it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/hash.h"
#include "batch/row_table.h"

namespace windrow::batch {

class StandingFailures {
 public:
  // Every line of the errors log, and then every line of the results.
  void add_failure(const Hash128& identity) {
    const auto [row, added] = rows_.find_or_add(identity, kOneLine);
    if (!added) rows_.set(row, rows_.value(row) + kOneLine);
  }
  void add_result(const Hash128& identity) {
    if (const auto row = rows_.find(identity)) rows_.set(*row, rows_.value(*row) | kHasResult);
  }

  // Every line of the errors log once more, in its order: whether it counts. False for one that was
  // not added.
  bool take(const Hash128& identity) {
    const auto row = rows_.find(identity);
    if (!row) return false;
    const uint32_t left = rows_.value(*row) - kOneLine;
    if (left < kOneLine) {
      // Its last line. Another one was not added.
      rows_.set(*row, kOneLine | kHasResult);
      return (left & kHasResult) == 0;
    }
    rows_.set(*row, left);
    return false;
  }

  size_t size() const { return rows_.size(); }

 private:
  // The value of a row: how many lines are left, twice, and whether it has a result.
  static constexpr uint32_t kHasResult = 1;
  static constexpr uint32_t kOneLine = 2;

  RowTable rows_;
};

}  // namespace windrow::batch
