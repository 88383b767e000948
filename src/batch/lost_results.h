// Results that an earlier run counted and that are not there any more: removed, or put somewhere
// else. Their rows would be asked and paid for again, so somebody hears of it before.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "batch/job_paths.h"
#include "store/disk.h"

namespace windrow::batch {

// `lines`: how many the results hold now. How many rows with a result the last run counted, where
// that is more; else 0. kConflict where none is left of them: the message says what to do.
Result<int64_t> find_lost_results(store::Disk& disk, const JobPaths& paths, int64_t lines);

}  // namespace windrow::batch
