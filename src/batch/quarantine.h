// Quarantine: lines of a job's logs that name a row and are yet none that Windrow wrote there, as
// after an edit by hand. They are no reason to pay for all rows again: each goes to a file beside
// the logs, so that nothing is lost, and its row runs again.
//
// Which lines those are is found while a job is opened, and changes nothing; they are moved when it
// begins. A process that dies in between finds them again: then a line may stand twice in that
// file.
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

// Used by one thread. 16 bytes a line.
class Quarantine {
 public:
  // A whole line of the log at `path`; the lines of one log in their order. `why`: "it is not ...".
  void add(const std::string& path, LogKind kind, const LogLine& line, std::string_view why);

  int64_t lines() const { return static_cast<int64_t>(results_.size() + errors_.size()); }
  int64_t lines(LogKind kind) const { return static_cast<int64_t>(of(kind).size()); }

  // The first of them: "r.jsonl: line 5 (custom_id "a"): it has no object "windrow"".
  const std::string& first() const { return first_; }

  // Whether it has lines of this log.
  bool has(LogKind kind) const { return !of(kind).empty(); }

  // Copies its lines of one log to `paths.quarantine` and syncs them, then gives the log's name to
  // a copy of its first `whole_bytes` bytes without them. How long that is.
  //   kDiskFull, kIo: the log stays
  Result<uint64_t> take_out(LogKind kind, store::Disk& disk, const JobPaths& paths,
                            uint64_t whole_bytes) const;

 private:
  struct Place {
    uint64_t offset;
    uint64_t size;
  };

  const std::vector<Place>& of(LogKind kind) const {
    return kind == LogKind::kResults ? results_ : errors_;
  }

  std::vector<Place> results_;
  std::vector<Place> errors_;
  std::string first_;
};

// The name a log without such lines has until it is whole.
std::string quarantined_temporary(const std::string& path);

}  // namespace windrow::batch
