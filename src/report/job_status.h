// JobStatus: the state of a job, from its files alone, as `windrow status` shows it. Reads the logs
// as a stream, also while a process is running the job, and changes nothing.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "batch/job_paths.h"
#include "batch/job_record.h"
#include "llm/prices.h"
#include "report/log_tally.h"
#include "report/progress_record.h"
#include "store/disk.h"

namespace windrow::report {

enum class JobState : uint8_t {
  kRunning,      // a process is running it
  kFinished,     // every row of the input has an outcome
  kIncomplete,   // the last run did what it was asked to, but left rows out
  kInterrupted,  // by a signal
  kFailed,       // see LastRun::error
  kCutShort,     // the last run was killed: the logs are longer than when a summary was written
};

std::string_view to_string(JobState state);

// The state of a job that no process is running, from its last summary and the lengths of its logs.
// Pure.
JobState judge_state(const std::optional<batch::LastRun>& last, int64_t results_bytes,
                     int64_t errors_bytes);

struct JobStatus {
  batch::JobPaths paths;
  JobState state = JobState::kCutShort;
  std::string holder;  // of a running job: "process 1234"
  std::string input;   // as the job record has it; empty when that is gone
  std::optional<batch::LastRun> last;

  // Of a running job, and how old it is; nothing while its rows do not run yet.
  std::optional<ProgressRecord> progress;
  int64_t progress_age_s = 0;

  std::unique_ptr<const LogTally> tally;
  uint64_t results_bytes = 0;
  uint64_t errors_bytes = 0;
  uint64_t results_torn_bytes = 0;  // behind the last line end: being written, or never completed
  uint64_t errors_torn_bytes = 0;

  // Failures that no longer count, because their rows have run again.
  int64_t superseded = 0;

  // There are too many failures to find the superseded ones.
  bool superseded_unknown = false;

  // Whether the summary of the last run describes the logs as they are now.
  bool last_holds() const {
    return last && state != JobState::kRunning && state != JobState::kCutShort;
  }
};

// How many failures are held in memory (16 bytes each) to find the superseded ones.
inline constexpr size_t kFailuresHeldMax = size_t{1} << 20;

// Reads the files of a job; a missing file counts as empty. kIo; kInvalid where the results are a
// file of requests.
Result<JobStatus> read_job_status(store::Disk& disk, const batch::JobPaths& paths,
                                  const Clock& clock, size_t failures_held_max = kFailuresHeldMax);

// The progress that a running job has written; nothing if there is none. Reads no log.
std::optional<ProgressRecord> read_progress_of(store::Disk& disk, const batch::JobPaths& paths);

// --- what is shown ---

// The cost of the answers of a job.
struct JobCost {
  double usd = 0;
  std::vector<std::string> unpriced;  // models without a price
  int64_t unpriced_rows = 0;
};
JobCost cost_of(const LogTally& tally, const llm::PriceTable& prices);

// `prices`: nullptr for none.
boost::json::object status_to_json(const JobStatus& status, const llm::PriceTable* prices);

// Rows of a table: progress, rate, time, retries and servers. `age_s`: how long ago it was written.
std::string progress_to_text(const ProgressRecord& progress, int64_t age_s);

// A table of two columns, and, where `histogram_width` is not 0, a drawing as wide as that.
std::string status_to_text(const JobStatus& status, const llm::PriceTable* prices,
                           size_t histogram_width);

}  // namespace windrow::report
