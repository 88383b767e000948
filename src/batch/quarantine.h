// Quarantine: log lines that have a custom_id but are not as Windrow writes them, for example after
// an edit by hand. Each is moved to a file beside the logs, so that nothing is lost, and its row
// runs again; the other rows need not be paid for again.
//
// Such lines are found while a job is opened, which changes nothing, and moved when it begins. If
// the process is killed in between, they are found again, and may then be in that file twice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "batch/job_paths.h"
#include "batch/log_scan.h"
#include "store/disk.h"

namespace windrow::batch {

// Used by one thread. Takes 16 bytes a line.
class Quarantine {
 public:
  // Adds a whole line of the log at `path`; lines of one log are added in order. `why`: "it is not
  // ...".
  void add(const std::string& path, LogKind kind, const LogLine& line, std::string_view why);

  int64_t lines() const { return static_cast<int64_t>(results_.size() + errors_.size()); }
  int64_t lines(LogKind kind) const { return static_cast<int64_t>(of(kind).size()); }

  // About the first line: "r.jsonl: line 5 (custom_id "a"): it has no object "windrow"".
  const std::string& first() const { return first_; }

  // Whether there are lines of this log.
  bool has(LogKind kind) const { return !of(kind).empty(); }

  // Copies the lines of one log to `paths.quarantine` and syncs them; then replaces the log with
  // its first `whole_bytes` bytes without these lines. Returns the new length. kDiskFull, kIo: the
  // log stays.
  Result<uint64_t> take_out(LogKind kind, store::Disk& disk, const JobPaths& paths,
                            uint64_t whole_bytes) const;

 private:
  struct Extent {
    uint64_t offset;
    uint64_t size;
  };

  const std::vector<Extent>& of(LogKind kind) const {
    return kind == LogKind::kResults ? results_ : errors_;
  }

  std::vector<Extent> results_;
  std::vector<Extent> errors_;
  std::string first_;
};

// The name of the new log until it is complete.
std::string quarantined_temporary(const std::string& path);

}  // namespace windrow::batch
