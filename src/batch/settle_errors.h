// Taking out of an errors log what no longer counts (standing_failures.h): the end of a run in
// which failed rows were tried again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "batch/job_paths.h"
#include "batch/log_scan.h"
#include "store/disk.h"

namespace windrow::batch {

// The name the new log has until it is whole.
std::string settled_temporary(const std::string& path);

// Rewrites the errors log without the lines that count no more, the rest in its order. `keep` is
// asked about each that does, and may drop it. Only results from `results_begin` on are looked at:
// 0, or where they ended when no row had both a result and a failure. The new log is written beside
// the old one, synced, and takes its name: at every moment the name holds one of the two, whole.
// Nothing is written when nothing goes. Nobody may have the logs open to write. How many lines
// went.
//   kDiskFull, kIo, kInvalid (see scan_log): the old log stays
Result<int64_t> settle_errors(store::Disk& disk, const JobPaths& paths, uint64_t results_begin,
                              const std::function<bool(const LogLine&)>& keep);

}  // namespace windrow::batch
