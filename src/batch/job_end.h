// How a job ends: its errors without what counts no more, its logs in order when that was asked
// for, and what is said when the disk failed.
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

// Puts both logs in the order of the input (ordered.h). False when `interrupted` became true first;
// then each log is as before or in order. kDiskFull, kIo.
Result<bool> order_logs(store::Disk& disk, const JobPaths& paths,
                        const std::function<bool()>& interrupted);

// The end of a run that tried failed rows again: takes out of the errors what counts no more
// (settle_errors.h), and what was at fault in a line that is none any more. When the run is
// completed, rows that the input did not have go into `report`. kDiskFull, kIo.
Result<void> settle_retried(store::Disk& disk, const JobOptions& options, const JobFiles& files,
                            JobReport& report);

// Why a retry does not start: of all rows that failed, the input has none.
Error none_left_error(const JobFiles& files, const std::string& input);

// The error of a disk, of logs that somebody changed, or of a backend that is gone, with what is on
// disk and what a person does next; of a job that is unattended as it is.
Error with_what_is_safe(const Error& error, const JobOptions& options, const JobFiles& files,
                        const JobCounters& counters);

}  // namespace windrow::batch
