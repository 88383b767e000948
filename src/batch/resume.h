// What becomes of one line of the input, given what is known of it: the decision alone, pure.
#pragma once

#include <cstdint>
#include <optional>

namespace windrow::batch {

// What the logs and this run know of a row.
struct Known {
  bool finished = false;   // it has a line in a log
  bool succeeded = false;  // ... in the results
  bool retried = false;    // it failed before and is to run again; then it is not finished
  bool seen = false;       // an earlier line of this pass over the input has the same custom_id
  bool same = false;       // its fingerprint is the one in the log
};

// What the logs and this run know of a line of the input, whatever it holds.
struct KnownLine {
  bool reported = false;  // this very line is in the errors log, as a duplicate or as no row at all
  bool retried = false;   // a line of its number was, and is looked at again
};

// Which rows without a result are wanted.
enum class Wanted : uint8_t {
  kAll,
  kRetried,  // only those that failed before
};

enum class Verdict : uint8_t {
  kRun,             // no result: do it
  kSucceeded,       // has its result: pass over
  kFailed,          // has its failure, which is final: pass over
  kChanged,         // has a result, and now asks something else: the job must not go on
  kDuplicate,       // an earlier line has its custom_id: report this one
  kReport,          // a line that cannot be named: report it
  kReportedBefore,  // a line at fault that an earlier run reported: pass over
  kNotWanted,       // no result, and none is wanted now: pass over
};

// A line with a custom_id; nothing is known of a row that is met for the first time.
Verdict judge_row(const std::optional<Known>& row, const KnownLine& line,
                  Wanted wanted = Wanted::kAll);

// A line that cannot be named.
Verdict judge_line(const KnownLine& line, Wanted wanted = Wanted::kAll);

}  // namespace windrow::batch
