// ResultLog: the two files a job leaves, results and errors, as append-only logs. A row exists when
// its line is synced; lines of one group are written and synced together.
//
// Invariants:
//   before and after every call, each file is a sequence of whole lines, or the log is poisoned;
//   a poisoned log takes nothing more until it is opened anew, which reads what is really there.
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

// One file of the two. Used by one thread.
class AppendLog {
 public:
  // Cuts what is behind `whole_bytes` (the torn end scan_log found) and goes on from there.
  // kConflict where the file is shorter than that.
  static Result<AppendLog> open(store::Disk& disk, const std::string& path, uint64_t whole_bytes);

  // Appends `lines`, which are whole lines, and syncs. When this fails, the file is cut back to the
  // last whole group as far as the disk lets it, and every later call fails with the same error:
  // what of the group is on disk is known only to a scan. kConflict, and nothing is written: the
  // file is not as the last group left it.
  Result<void> append_group(std::string_view lines);

  // The same question without a group; a file without a line may be what it wants.
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

  // The sizes are those up to which each file is whole. Their names are synced.
  static Result<ResultLog> open(store::Disk& disk, const std::string& results_path,
                                uint64_t results_bytes, const std::string& errors_path,
                                uint64_t errors_bytes);

  // Each file by itself: when the errors cannot be written, the results of the group are safe.
  // `on_safe` is called after each file that had lines was synced.
  Result<void> commit(const Group& group, const std::function<void(LogKind)>& on_safe);

  // kConflict where one of the files is not as the last group left it: removed, renamed, cut.
  Result<void> check_in_place() const;

  uint64_t bytes() const { return results_.whole_bytes() + errors_.whole_bytes(); }

 private:
  ResultLog(AppendLog results, AppendLog errors);

  AppendLog results_;
  AppendLog errors_;
};

}  // namespace windrow::batch
