// LastRun: what the summary file says about the last run of a job, as far as later runs need it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "batch/job_paths.h"
#include "store/disk.h"

namespace windrow::batch {

struct LastRun {
  std::string end;  // "completed", "interrupted" or "failed"
  std::string error;
  int64_t rows_total = -1;  // -1: not known
  int64_t rows_left = -1;
  int64_t rows_succeeded = -1;

  // The lengths of the logs when it ended; -1 where the summary does not say.
  int64_t results_bytes = -1;
  int64_t errors_bytes = -1;
};

// Returns nothing if the text is not a summary. Pure.
std::optional<LastRun> read_last_run(std::string_view summary);

// Whether results of the last run were removed: their rows would be asked and paid for again.
// `lines` is the number of lines in the results file now. Returns how many rows with a result the
// last run counted, if that is more, else 0. kConflict where all are gone: the message says what to
// do.
Result<int64_t> find_lost_results(store::Disk& disk, const JobPaths& paths, int64_t lines);

}  // namespace windrow::batch
