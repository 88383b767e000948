// What becomes of one line of the input, given what is known of it: the decision alone, pure.
#pragma once

#include <cstdint>
#include <optional>

namespace windrow::batch {

// What the logs and this run know of a row or line.
struct Known {
  bool finished = false;   // it has a line in a log
  bool succeeded = false;  // ... in the results
  bool seen = false;       // an earlier line of this pass over the input has the same custom_id
  bool same = false;       // its fingerprint is the one in the log
};

enum class Verdict : uint8_t {
  kRun,             // no result: do it
  kSucceeded,       // has its result: pass over
  kFailed,          // has its failure, which is final: pass over
  kChanged,         // has a result, and now asks something else: the job must not go on
  kDuplicate,       // an earlier line has its custom_id: report this one
  kReport,          // a line that cannot be named: report it
  kReportedBefore,  // a line at fault that an earlier run reported: pass over
};

// A line with a custom_id. `line_reported`: this very line is in the errors log as a duplicate.
Verdict judge_row(const std::optional<Known>& row, bool line_reported);

// A line that cannot be named.
Verdict judge_line(bool line_reported);

}  // namespace windrow::batch
