#include "batch/resume.h"

namespace windrow::batch {

Verdict judge_row(const std::optional<RowStatus>& row, const LineStatus& line, Wanted wanted) {
  // A corrected line may have a row that no log knows.
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

Verdict judge_line(const LineStatus& line, Wanted wanted) {
  if (line.reported) return Verdict::kReportedBefore;
  return wanted == Wanted::kAll || line.retried ? Verdict::kReport : Verdict::kNotWanted;
}

}  // namespace windrow::batch
