// JobStatus: how a job stands, from its files alone: what `windrow status` shows. Reads the logs as
// a stream, while a run may be at work on them, and changes nothing.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "batch/job_paths.h"
#include "batch/last_run.h"
#include "llm/prices.h"
#include "report/log_tally.h"
#include "store/disk.h"

namespace windrow::report {

enum class JobState : uint8_t {
  kRunning,      // a process is at work on it
  kFinished,     // every row of the input has its line
  kIncomplete,   // the last run did what it was asked, but rows were left out
  kInterrupted,  // by a signal
  kFailed,       // see JobStatus::error
  kCutShort,     // it was killed, or lost its machine: the logs are not those of the summary
};

std::string_view to_string(JobState state);

// Of a job on which nobody is at work, with logs as long as they are now. Pure.
JobState judge_state(const std::optional<batch::LastRun>& last, int64_t results_bytes,
                     int64_t errors_bytes);

struct JobStatus {
  batch::JobPaths paths;
  JobState state = JobState::kCutShort;
  std::string holder;  // of a running job: "process 1234"
  std::string input;   // as the job record has it; empty when that is gone
  std::optional<batch::LastRun> last;

  std::unique_ptr<const LogTally> tally;
  uint64_t results_bytes = 0;
  uint64_t errors_bytes = 0;
  uint64_t results_torn_bytes = 0;  // behind the last line end: being written, or never finished
  uint64_t errors_torn_bytes = 0;

  // Lines of failures that count no more, as their rows have run again.
  int64_t superseded = 0;
  // There were too many failures to look for such lines.
  bool superseded_unknown = false;

  // What the summary says of the last run holds for the logs as they are.
  bool last_holds() const {
    return last && state != JobState::kRunning && state != JobState::kCutShort;
  }
};

// How many failures are held in memory (16 bytes each) to find those that count no more.
inline constexpr size_t kFailuresHeldMax = size_t{1} << 20;

// kIo. Files that are not there are empty.
Result<JobStatus> read_job_status(store::Disk& disk, const batch::JobPaths& paths,
                                  size_t failures_held_max = kFailuresHeldMax);

// --- what is shown ---

// What the answers of a job cost.
struct JobCost {
  double usd = 0;
  std::vector<std::string> unpriced;  // models that the table does not have
  int64_t unpriced_rows = 0;
};
JobCost cost_of(const LogTally& tally, const llm::PriceTable& prices);

// `prices`: nullptr for none.
boost::json::object status_to_json(const JobStatus& status, const llm::PriceTable* prices);

// A table of two columns, and, where `histogram_width` is not 0, a drawing as wide as that.
std::string status_to_text(const JobStatus& status, const llm::PriceTable* prices,
                           size_t histogram_width);

}  // namespace windrow::report
