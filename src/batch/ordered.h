// --ordered: rewriting a log in the order of the input, with an index of 16 bytes a line.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "batch/log_scan.h"
#include "store/disk.h"

namespace windrow::batch {

// The name of the new log until it is complete.
std::string ordered_temporary(const std::string& path);

// Sorts the whole lines of the log at `path` by the input line they answer; equal ones keep their
// order. The new log is written to another name, synced, and renamed: at every moment the name has
// one of the two, complete. Does nothing when the log is in order already. The log must not be open
// for writing. Calls `interrupted` now and then; once that is true, the old log stays. Returns
// whether the log is in order.
//   kDiskFull, kIo, kInvalid (see scan_log): the old log stays
Result<bool> order_log(store::Disk& disk, const std::string& path, LogKind kind,
                       const std::function<bool()>& interrupted);

}  // namespace windrow::batch
