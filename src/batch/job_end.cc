#include "batch/job_end.h"

#include <fmt/format.h>

#include <utility>

#include "base/format.h"
#include "batch/log_rewrite.h"
#include "batch/prescan.h"

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

Result<void> settle_retried(store::Disk& disk, const JobOptions& options, const JobFiles& files,
                            JobReport& report) {
  const bool completed = report.end == JobEnd::kCompleted;
  const auto keep = [&](const LogLine& line) {
    const bool retried = options.retry_failed && line.offset < files.errors_bytes &&
                         options.retried.takes(line.status, line.code);
    if (!completed || !retried) return true;
    // The line was read and said something else.
    if (line.of_line && files.index.met_line(line.input_line)) return false;
    if (options.rows_max) return true;  // there may be more of the input
    ++report.rows_gone;
    if (report.gone.size() < kNamedMax) {
      report.gone.push_back({.line = line.input_line, .custom_id = std::string(line.custom_id)});
    }
    return true;
  };
  const auto settled =
      settle_errors(disk, files.paths, files.unsettled ? 0 : files.results_bytes, keep);
  if (settled) return {};
  return Error{settled.error().kind,
               fmt::format("what came of the failed rows is safe in {} and {}, but taking what "
                           "counts no more out of the latter failed: {}; the same command tries "
                           "again",
                           files.paths.results, files.paths.errors, settled.error().message)};
}

Error none_left_error(const JobFiles& files, const std::string& input) {
  return Error{
      ErrorKind::kInvalid,
      fmt::format("{} {}; nothing was changed. Name the input they came from with --input", input,
                  files.start.retried == 1 ? std::string("does not have the row that failed")
                                           : fmt::format("has none of the {} rows that failed",
                                                         with_thousands(files.start.retried)))};
}

Error with_what_is_safe(const Error& error, const JobOptions& options, const JobFiles& files,
                        const JobCounters& counters) {
  if (options.unattended) return error;
  if (error.kind == ErrorKind::kUnavailable) {
    return Error{error.kind,
                 // Some errors say themselves how to go on, and that is not by the same command.
                 error.message.find("--fresh") != std::string::npos
                     ? error.message
                     : error.message +
                           "; rows that were written are safe: remove the cause, then run the "
                           "same command again to continue"};
  }
  if (error.kind == ErrorKind::kConflict) {
    return Error{error.kind, error.message +
                                 "; the job stopped, so that no further rows are answered for "
                                 "nothing. Put back what was there, then run the same command "
                                 "again: rows whose lines are gone are asked again"};
  }
  const int64_t rows = files.start.results_before + files.start.errors_before +
                       counters.rows_succeeded + counters.rows_failed;
  return Error{error.kind,
               fmt::format("{}; {} rows ({}) are safe in {} and {}. {}, then run the same command "
                           "again: it continues",
                           error.message, with_thousands(rows),
                           human_bytes(static_cast<uint64_t>(counters.log_bytes.load())),
                           files.paths.results, files.paths.errors,
                           error.kind == ErrorKind::kDiskFull ? "Make room on the disk"
                                                              : "Remove the cause")};
}

}  // namespace windrow::batch
