// Rewriting logs that no run has open: without the failures that no longer count, or in the order
// of the input. The new log is written to another name, synced, and renamed: at every moment the
// name has one of the two, complete.
//
// Which failures count: while failed rows are tried again, the line of the failure stays, so that
// nothing is lost when the process is killed; the new outcome is appended. So a row with a result
// has not failed, and of two failures of one row the later one counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/hash.h"
#include "base/result.h"
#include "batch/job_paths.h"
#include "batch/log_scan.h"
#include "batch/row_table.h"
#include "store/disk.h"

namespace windrow::batch {

// Decides which failures count. Pure; 16 bytes for each failed row (row_table.h). Used by one
// thread.
//
// Two rows that agree in 80 bits of their identities are taken for one, and the failure of one of
// them for superseded: then that row is in no log, and the next run runs it.
class StandingFailures {
 public:
  // To be called for every line of the errors log, and then for every line of the results.
  void add_failure(const Hash128& identity) {
    const auto [row, added] = rows_.find_or_add(identity, kOneLine);
    if (!added) rows_.set(row, rows_.value(row) + kOneLine);
  }
  void add_result(const Hash128& identity) {
    if (const auto row = rows_.find(identity)) rows_.set(*row, rows_.value(*row) | kHasResult);
  }

  // To be called for every line of the errors log once more, in its order: whether it counts. False
  // for a row that was not added.
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
  // The value of a row: twice the number of lines left, plus whether it has a result.
  static constexpr uint32_t kHasResult = 1;
  static constexpr uint32_t kOneLine = 2;

  RowTable rows_;
};

// The names of new logs until they are complete.
std::string settled_temporary(const std::string& path);
std::string ordered_temporary(const std::string& path);

// Rewrites the errors log without the lines that no longer count; the others keep their order.
// `keep` is asked about each line that counts, and may drop it. Reads the results from
// `results_begin` on: 0, or their length at a time when no row had both a result and a failure.
// Writes nothing when no line is dropped. The logs must not be open for writing. Returns how many
// lines were dropped.
//   kDiskFull, kIo, kInvalid (see scan_log): the old log stays
Result<int64_t> settle_errors(store::Disk& disk, const JobPaths& paths, uint64_t results_begin,
                              const std::function<bool(const LogLine&)>& keep);

// --ordered: sorts the whole lines of the log at `path` by the input line they answer, with an
// index of 16 bytes a line; equal ones keep their order. Does nothing when the log is in order
// already. Calls `interrupted` now and then; once that is true, the old log stays. Returns whether
// the log is in order.
//   kDiskFull, kIo, kInvalid (see scan_log): the old log stays
Result<bool> order_log(store::Disk& disk, const std::string& path, LogKind kind,
                       const std::function<bool()>& interrupted);

}  // namespace windrow::batch
