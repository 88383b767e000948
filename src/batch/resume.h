// The decision what to do with a line of the input, given what the logs and this run know of it.
// Pure.
#pragma once

#include <cstdint>
#include <optional>

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

// The decision for a line with a custom_id. `row` is absent for a row that is met for the first
// time.
Verdict judge_row(const std::optional<RowStatus>& row, const LineStatus& line,
                  Wanted wanted = Wanted::kAll);

// The decision for a line without a usable custom_id.
Verdict judge_line(const LineStatus& line, Wanted wanted = Wanted::kAll);

}  // namespace windrow::batch
