// ResultLog: the results and errors of a job as append-only logs. A row is done when its line is
// synced; the lines of one group are written and synced together.
//
// Invariants:
//   before and after every call, each file is a sequence of whole lines, or the log is poisoned;
//   a poisoned log accepts no more writes until it is opened again, which reads what is on disk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "batch/log_scan.h"
#include "store/disk.h"

namespace windrow::batch {

// One of the two files. Used by one thread.
class AppendLog {
 public:
  // Truncates the file to `whole_bytes` (see LogScan) and appends from there; a missing file is
  // begun. kConflict where the file is shorter; kDiskFull, kIo. `disk` outlives it.
  static Result<AppendLog> open(store::Disk& disk, const std::string& path, uint64_t whole_bytes);

  // Appends `lines`, which are whole lines, and syncs. On failure the file is cut back to the last
  // group, if the disk allows it, and the log is poisoned: every later call fails with the same
  // error, because only a scan can tell which part of the group is on disk. Blocks on the disk.
  //   kConflict, with nothing written: another program has changed the file since the last group
  //   kDiskFull, kIo
  Result<void> append_group(std::string_view lines);

  // kConflict where another program has changed the file since the last group; kIo. Writes nothing,
  // and always succeeds for an empty file.
  Result<void> check_in_place() const;

  const std::string& path() const { return path_; }
  uint64_t whole_bytes() const { return whole_bytes_; }
  bool poisoned() const { return poison_.has_value(); }

 private:
  AppendLog(std::unique_ptr<store::AppendFile> file, std::string path, uint64_t whole_bytes);

  std::unique_ptr<store::AppendFile> file_;
  std::string path_;
  uint64_t whole_bytes_;
  std::optional<Error> poison_;
};

// Used by one thread.
class ResultLog {
 public:
  struct Group {
    std::string results;  // whole lines
    std::string errors;
  };

  // Opens both files, each whole up to the given size, and syncs their names. Fails as
  // AppendLog::open.
  static Result<ResultLog> open(store::Disk& disk, const std::string& results_path,
                                uint64_t results_bytes, const std::string& errors_path,
                                uint64_t errors_bytes);

  // Writes one file after the other: when the errors cannot be written, the results of the group
  // are safe. Calls `on_safe` after each file of which lines were synced. Fails as append_group.
  Result<void> commit(const Group& group, const std::function<void(LogKind)>& on_safe);

  // kConflict where another program has removed, renamed or cut one of the files since the last
  // group.
  Result<void> check_in_place() const;

  uint64_t bytes() const { return results_.whole_bytes() + errors_.whole_bytes(); }

 private:
  ResultLog(AppendLog results, AppendLog errors);

  AppendLog results_;
  AppendLog errors_;
};

}  // namespace windrow::batch
