// How a job ends: its logs in order when that was asked for, and what is said when the disk failed.
#pragma once

#include <functional>

#include "base/result.h"
#include "batch/job_counters.h"
#include "batch/job_files.h"
#include "batch/job_paths.h"
#include "store/disk.h"

namespace windrow::batch {

// Puts both logs in the order of the input (ordered.h). False when `interrupted` became true first;
// then each log is as before or in order. kDiskFull, kIo.
Result<bool> order_logs(store::Disk& disk, const JobPaths& paths,
                        const std::function<bool()>& interrupted);

// The error with what is on disk and what to do next.
Error with_what_is_safe(const Error& error, const JobFiles& files, const JobCounters& counters);

}  // namespace windrow::batch
