// StatusWatch: shows the progress of a running job again and again until it ends. Reads only the
// lock and the progress record, no log.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "batch/job_paths.h"
#include "report/progress_record.h"
#include "store/disk.h"

namespace windrow::app {

enum class WatchForm : uint8_t {
  kRedrawn,  // a terminal: a block of lines, drawn anew every second
  kLines,    // a sentence every ten seconds, and in each new phase
  kJson,     // the same as JSON: the members of the event `progress`
};

struct WatchOptions {
  WatchForm form = WatchForm::kLines;
  std::function<size_t()> width;  // kRedrawn: columns of the terminal

  std::function<void(std::string_view)> write;

  // Waits for so long; false: the user wants no more.
  std::function<bool(Duration)> wait;
};

enum class WatchEnd : uint8_t {
  kJobEnded,  // no process runs the job
  kStopped,   // wait() returned false
};

// Blocks. At once where no process runs the job. kIo.
Result<WatchEnd> watch_job(store::Disk& disk, const batch::JobPaths& paths, const Clock& clock,
                           const WatchOptions& options);

}  // namespace windrow::app
