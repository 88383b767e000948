// The end of a job: superseded failures are taken out of the errors, the logs are put in order if
// that was asked for, and errors say what is safe.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "batch/job_counters.h"
#include "batch/job_files.h"
#include "batch/job_options.h"
#include "batch/job_paths.h"
#include "batch/job_runner.h"
#include "store/disk.h"

namespace windrow::batch {

// Puts both logs in the order of the input (order_log). False when `interrupted` became true first;
// each log is then unchanged or in order. kDiskFull, kIo.
Result<bool> order_logs(store::Disk& disk, const JobPaths& paths,
                        const std::function<bool()>& interrupted);

// The end of a run that tried failed rows again: takes out of the errors the lines that no longer
// count (settle_errors), and those of faulty lines that have been corrected. Once the run is
// completed, adds failed rows that the input does not have any more to `report`. kDiskFull, kIo.
Result<void> settle_retried(store::Disk& disk, const JobOptions& options, const JobFiles& files,
                            JobReport& report);

// Why a retry does not start: the input has none of the failed rows.
Error none_left_error(const JobFiles& files, const std::string& input);

// An error of the disk, of logs that another program changed, or of a backend that is gone, with
// what is on disk and what to do next. Unchanged for an unattended job.
Error with_what_is_safe(const Error& error, const JobOptions& options, const JobFiles& files,
                        const JobCounters& counters);

}  // namespace windrow::batch
