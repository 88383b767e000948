#include "batch/result_log.h"

#include <fmt/format.h>

#include <utility>

#include "base/ensure.h"

namespace windrow::batch {

AppendLog::AppendLog(std::unique_ptr<store::AppendFile> file, std::string path,
                     uint64_t whole_bytes)
    : file_(std::move(file)), path_(std::move(path)), whole_bytes_(whole_bytes) {}

Result<AppendLog> AppendLog::open(store::Disk& disk, const std::string& path,
                                  uint64_t whole_bytes) {
  auto file = disk.open_append(path);
  if (!file) return file.error();
  const auto size = (*file)->size();
  if (!size) return size.error();
  if (*size < whole_bytes) {
    return Error{ErrorKind::kConflict,
                 fmt::format("{} was cut by something else since it was read: it has {} bytes and "
                             "had {}; put back what was there and run the same command again",
                             path, *size, whole_bytes)};
  }
  if (*size > whole_bytes) {
    if (auto done = (*file)->truncate(whole_bytes); !done) return done.error();
  }
  // Lines that an earlier process wrote but did not sync count as done now, so they must be synced.
  if (*size > 0) {
    if (auto done = (*file)->sync(); !done) return done.error();
  }
  return AppendLog(*std::move(file), path, whole_bytes);
}

Result<void> AppendLog::append_group(std::string_view lines) {
  if (poison_) return *poison_;
  ENSURE(lines.ends_with('\n'), "a group of {} must end with its last line", path_);
  // After a change by another program, neither its end nor the result of a cut is known.
  if (auto still = file_->check_in_place(whole_bytes_); !still) {
    poison_ = still.error();
    return *poison_;
  }
  auto done = file_->append(lines);
  if (done) done = file_->sync();
  if (!done) {
    poison_ = done.error();
    // Best effort: whole lines or a torn one may remain, and the next scan handles both.
    if (file_->truncate(whole_bytes_)) (void)file_->sync();
    return *poison_;
  }
  whole_bytes_ += lines.size();
  return {};
}

Result<void> AppendLog::check_in_place() const {
  if (poison_ || whole_bytes_ == 0) return {};
  return file_->check_in_place(whole_bytes_);
}

ResultLog::ResultLog(AppendLog results, AppendLog errors)
    : results_(std::move(results)), errors_(std::move(errors)) {}

Result<ResultLog> ResultLog::open(store::Disk& disk, const std::string& results_path,
                                  uint64_t results_bytes, const std::string& errors_path,
                                  uint64_t errors_bytes) {
  auto results = AppendLog::open(disk, results_path, results_bytes);
  if (!results) return results.error();
  auto errors = AppendLog::open(disk, errors_path, errors_bytes);
  if (!errors) return errors.error();
  if (auto done = disk.sync_folder_of(results_path); !done) return done.error();
  return ResultLog(*std::move(results), *std::move(errors));
}

Result<void> ResultLog::check_in_place() const {
  if (auto still = results_.check_in_place(); !still) return still;
  return errors_.check_in_place();
}

Result<void> ResultLog::commit(const Group& group, const std::function<void(LogKind)>& on_safe) {
  if (!group.results.empty()) {
    if (auto done = results_.append_group(group.results); !done) return done;
    on_safe(LogKind::kResults);
  }
  if (!group.errors.empty()) {
    if (auto done = errors_.append_group(group.errors); !done) return done;
    on_safe(LogKind::kErrors);
  }
  return {};
}

}  // namespace windrow::batch
