#include "batch/resume.h"

namespace windrow::batch {

Verdict judge_row(const std::optional<Known>& row, bool line_reported) {
  if (!row) return Verdict::kRun;
  if (row->seen) return line_reported ? Verdict::kReportedBefore : Verdict::kDuplicate;
  if (!row->finished) return Verdict::kRun;
  if (!row->same) return Verdict::kChanged;
  return row->succeeded ? Verdict::kSucceeded : Verdict::kFailed;
}

Verdict judge_line(bool line_reported) {
  return line_reported ? Verdict::kReportedBefore : Verdict::kReport;
}

}  // namespace windrow::batch
