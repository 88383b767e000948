#include "batch/job_end.h"

#include <fmt/format.h>

#include <utility>

#include "base/format.h"
#include "batch/ordered.h"

namespace windrow::batch {

Result<bool> order_logs(store::Disk& disk, const JobPaths& paths,
                        const std::function<bool()>& interrupted) {
  bool ordered = true;
  for (const auto& [path, kind] :
       {std::pair(paths.results, LogKind::kResults), std::pair(paths.errors, LogKind::kErrors)}) {
    const auto done = order_log(disk, path, kind, interrupted);
    if (!done) {
      return Error{done.error().kind,
                   fmt::format("every row has its result in {}, but putting them in order failed: "
                               "{}; the same command tries again",
                               paths.results, done.error().message)};
    }
    ordered = ordered && *done;
  }
  return ordered;
}

Error with_what_is_safe(const Error& error, const JobFiles& files, const JobCounters& counters) {
  const int64_t rows = files.start.results_before + files.start.errors_before +
                       counters.rows_succeeded + counters.rows_failed;
  return Error{error.kind,
               fmt::format("{}; {} rows ({}) are safe in {} and {}. {}, then run the same command "
                           "again: it continues",
                           error.message, with_thousands(rows),
                           human_bytes(static_cast<uint64_t>(counters.log_bytes.load())),
                           files.paths.results, files.paths.errors,
                           error.kind == ErrorKind::kDiskFull ? "Make room on the disk"
                                                              : "See to the disk")};
}

}  // namespace windrow::batch
