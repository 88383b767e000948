#include "batch/lost_results.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/format.h"
#include "batch/last_run.h"

namespace windrow::batch {
namespace {

Error lost_results_error(const std::string& what) {
  return Error{
      ErrorKind::kConflict,
      fmt::format("{}. Put the results back, so that their rows are not asked and paid for "
                  "again, or use --fresh, which keeps what is left under another name and "
                  "starts over",
                  what)};
}

}  // namespace

Result<int64_t> find_lost_results(store::Disk& disk, const JobPaths& paths, int64_t lines) {
  std::optional<LastRun> last;
  if (const auto summary = disk.read_all(paths.summary)) last = read_last_run(*summary);
  if (last && last->rows_succeeded > lines) {
    if (lines > 0) return last->rows_succeeded;
    return lost_results_error(fmt::format(
        "{} counts {} {} with a result, and {} {}", paths.summary,
        with_thousands(last->rows_succeeded), last->rows_succeeded == 1 ? "row" : "rows",
        paths.results, disk.exists(paths.results) ? "is empty" : "is not there"));
  }
  // A record is written once there are logs, and only a run that ends writes a summary.
  if (!last && disk.exists(paths.record) && !disk.exists(paths.results)) {
    return lost_results_error(fmt::format(
        "{} says that a job was begun here, and its results, {}, are not there; how many rows had "
        "one is not known",
        paths.record, paths.results));
  }
  return 0;
}

}  // namespace windrow::batch
