// RowIndex: the status of every row, in 16 bytes each (row_table.h), and the decision what to do
// with a line of the input. The index is filled from the logs, the results first, and is then asked
// about the lines of the input.
//
// It stores 80 bits of a row's identity and 28 of its fingerprint, and no text. A row is skipped
// only where all 108 bits agree: the probability that one row among 10 million is taken for another
// and lost is 2 in 10^19. Where two rows agree in the 80 bits alone (4 in 10^11), the job reports a
// duplicate or a changed row that is none, which is noticed. One in 270 million changed rows is
// taken for unchanged.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/hash.h"
#include "batch/row.h"
#include "batch/row_table.h"

namespace windrow::batch {

// What the logs and this run know of a row.
struct RowStatus {
  bool finished = false;   // a log has a line of it
  bool succeeded = false;  // that line is in the results
  bool retried = false;    // it failed before and runs again; then it is not finished
  bool seen = false;       // an earlier line of this pass over the input has the same custom_id
  bool same = false;       // its fingerprint is the one in the log
};

// What the logs and this run know of a line of the input, whatever it contains.
struct LineStatus {
  bool reported = false;  // the errors log has this very line, as a duplicate or as malformed
  bool retried = false;   // the errors log had a line of its number, and it is read again
};

// Which rows without a result run.
enum class Wanted : uint8_t {
  kAll,
  kRetried,  // only those that failed before
};

enum class Verdict : uint8_t {
  kRun,             // no result yet: run it
  kSucceeded,       // has a result: skip
  kFailed,          // has a final failure: skip
  kChanged,         // has a result, but its request has changed: the job must stop
  kDuplicate,       // an earlier line has its custom_id: report this one
  kReport,          // a line without a usable custom_id: report it
  kReportedBefore,  // a faulty line that an earlier run reported: skip
  kNotWanted,       // no result, and none is wanted in this run: skip
};

// The decision for a line with a custom_id; `row` is absent for a row that is met for the first
// time. Pure, as the next one.
Verdict judge_row(const std::optional<RowStatus>& row, const LineStatus& line,
                  Wanted wanted = Wanted::kAll);

// The decision for a line without a usable custom_id.
Verdict judge_line(const LineStatus& line, Wanted wanted = Wanted::kAll);

// Passes over the input that are independent of each other: each meets every line for the first
// time.
enum class Pass : uint8_t { kCheck, kRun };

// Used by one thread at a time.
class RowIndex {
 public:
  // --- from the logs ---

  // Adds a result. False when the row has one already.
  [[nodiscard]] bool add_result(const Hash128& identity, uint64_t fingerprint);

  // Adds a failure. `retried`: the row runs again. A result has precedence over failures, and a
  // later failure replaces an earlier one; false when there was either.
  bool add_failure(const Hash128& identity, uint64_t fingerprint, bool retried = false);

  // Adds a faulty line of the input that is read again, whatever it contains now.
  void retry_line(uint64_t line);

  // From now on only retried rows and lines run.
  void want_only_retried() { wanted_ = Wanted::kRetried; }

  struct Totals {
    int64_t succeeded = 0;
    int64_t failed = 0;  // without those that run again
    int64_t retried = 0;
  };
  Totals totals() const;

  // --- from the input ---

  // Decides about a line with a custom_id, and records that this pass has seen it. Lines come in
  // the order of the input; `raw_fingerprint` is the line_fingerprint.
  Verdict lookup_row(Pass pass, const RowKey& key, uint64_t raw_fingerprint);

  // The same for a line that was only scanned (fast_row_scanner.h): kSucceeded or kFailed, and the
  // line is recorded, if that is all there is to decide. Otherwise nothing, and it is not recorded.
  std::optional<Verdict> pass_over(Pass pass, const Hash128& identity, uint64_t fingerprint);

  // Decides about a line without a usable custom_id.
  Verdict lookup_line(Pass pass, const RowKey& key);

  // Whether a row that lookup_row called changed had succeeded.
  bool succeeded(const Hash128& identity) const;

  // Whether a line was added by retry_line, and whether the pass kRun has met it.
  bool retries_line(uint64_t line) const { return lines_.contains(line); }
  bool met_line(uint64_t line) const;

  // The number of rows and lines, finished or not.
  size_t size() const { return rows_.size(); }

  // Frees the memory of all rows. The status of lines stays.
  void forget_rows() { rows_ = {}; }

 private:
  LineStatus line_status(Pass pass, uint64_t line, const Hash128& identity, uint64_t fingerprint);

  RowTable rows_;
  boost::unordered_flat_map<uint64_t, bool> lines_;  // retried ones: whether kRun has met them
  Wanted wanted_ = Wanted::kAll;
};

}  // namespace windrow::batch
