// --ordered: a log rewritten in the order of the input, by way of an index of 16 bytes a line.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "batch/log_scan.h"
#include "store/disk.h"

namespace windrow::batch {

// The name the new log has until it is whole.
std::string ordered_temporary(const std::string& path);

// Sorts the whole lines of the log at `path` by the line of the input they answer; lines of one
// number keep their order. The new log is written beside the old one, synced, and takes its name:
// at every moment the name holds one of the two, whole. Nothing happens when it is in order
// already. Nobody may have the log open to write. `interrupted` is asked now and then; once it says
// true the old log stays. True when the log is in order now.
//   kDiskFull, kIo, kInvalid (see scan_log): the old log stays
Result<bool> order_log(store::Disk& disk, const std::string& path, LogKind kind,
                       const std::function<bool()>& interrupted);

}  // namespace windrow::batch
