#include "batch/resume.h"

namespace windrow::batch {

Verdict judge_row(const std::optional<Known>& row, const KnownLine& line, Wanted wanted) {
  // A line at fault that was mended may hold a row that nobody heard of.
  const bool line_wanted = wanted == Wanted::kAll || line.retried;
  if (!row) return line_wanted ? Verdict::kRun : Verdict::kNotWanted;
  if (row->seen) {
    if (line.reported) return Verdict::kReportedBefore;
    return line_wanted ? Verdict::kDuplicate : Verdict::kNotWanted;
  }
  if (row->retried) return Verdict::kRun;
  if (!row->finished) return line_wanted ? Verdict::kRun : Verdict::kNotWanted;
  if (!row->same) return Verdict::kChanged;
  return row->succeeded ? Verdict::kSucceeded : Verdict::kFailed;
}

Verdict judge_line(const KnownLine& line, Wanted wanted) {
  if (line.reported) return Verdict::kReportedBefore;
  return wanted == Wanted::kAll || line.retried ? Verdict::kReport : Verdict::kNotWanted;
}

}  // namespace windrow::batch
