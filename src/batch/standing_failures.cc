#include "batch/standing_failures.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "batch/log_scan.h"
#include "batch/standing_failures.h"

namespace windrow::batch {

namespace {

constexpr size_t kWriteBytes = size_t{1} << 20;

using File = std::unique_ptr<store::ReadFile>;

// Nothing where there is no such file.
Result<File> open_log(store::Disk& disk, const std::string& path) {
  auto file = disk.open_read(path);
  if (!file && file.error().kind == ErrorKind::kNotFound) return File();
  return file;
}

Result<StandingFailures> standing_failures(store::ReadFile& errors, store::Disk& disk,
                                           const JobPaths& paths, uint64_t results_begin) {
  StandingFailures standing;
  const auto failures =
      scan_log(errors, paths.errors, LogKind::kErrors, [&](const LogLine& line) -> Result<void> {
        standing.add_failure(line.identity);
        return {};
      });
  if (!failures) return failures.error();
  const Result<File> results = open_log(disk, paths.results);
  if (!results) return results.error();
  if (*results == nullptr || standing.size() == 0) return standing;
  const auto answered = scan_log(
      **results, paths.results, LogKind::kResults,
      [&](const LogLine& line) -> Result<void> {
        standing.add_result(line.identity);
        return {};
      },
      results_begin);
  if (!answered) return answered.error();
  return standing;
}

Result<void> write_kept(store::Disk& disk, store::ReadFile& errors, const std::vector<bool>& kept,
                        const std::string& temporary) {
  auto file = disk.open_append(temporary);
  if (!file) return file.error();
  if (auto done = (*file)->truncate(0); !done) return done;
  LogLines lines(errors);
  std::string block;
  for (const bool keep : kept) {
    const auto line = lines.next();
    if (!line) return line.error();
    if (!*line) return Error{ErrorKind::kIo, "the errors file became shorter while it was read"};
    if (!keep) continue;
    block += **line;
    block += '\n';
    if (block.size() < kWriteBytes) continue;
    if (auto done = (*file)->append(block); !done) return done;
    block.clear();
  }
  if (auto done = (*file)->append(block); !done) return done;
  return (*file)->sync();
}

}  // namespace

std::string settled_temporary(const std::string& path) {
  return path + ".settled.tmp";
}

Result<int64_t> settle_errors(store::Disk& disk, const JobPaths& paths, uint64_t results_begin,
                              const std::function<bool(const LogLine&)>& keep) {
  const Result<File> errors = open_log(disk, paths.errors);
  if (!errors) return errors.error();
  if (*errors == nullptr) return 0;
  Result<StandingFailures> standing = standing_failures(**errors, disk, paths, results_begin);
  if (!standing) return standing.error();

  std::vector<bool> kept;
  int64_t dropped = 0;
  const auto scan =
      scan_log(**errors, paths.errors, LogKind::kErrors, [&](const LogLine& line) -> Result<void> {
        kept.push_back(standing->take(line.identity) && keep(line));
        if (!kept.back()) ++dropped;
        return {};
      });
  if (!scan) return scan.error();
  if (dropped == 0) return 0;

  const std::string temporary = settled_temporary(paths.errors);
  Result<void> done = write_kept(disk, **errors, kept, temporary);
  if (done) {
    done = disk.rename(temporary, paths.errors);
    // Once the new log has the name, the next run syncs that.
    if (done) {
      done = disk.sync_folder_of(paths.errors);
      if (!done) return done.error();
      return dropped;
    }
  }
  (void)disk.remove(temporary);
  return done.error();
}

}  // namespace windrow::batch
