// The invariants of a job, whatever happened to it. They are judged by its files, its counters, the
// requests that its servers got and its input, and by nothing else of Windrow's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "batch/job_counters.h"
#include "batch/job_runner.h"
#include "simulate/job_files.h"
#include "simulate/job_input.h"
#include "simulate/job_plan.h"
#include "simulate/ledger.h"
#include "simulate/virtual_threads.h"
#include "store/testing/memory_disk.h"

namespace windrow::simulate {

// The outcomes in the logs. They count as for Windrow: a result whatever failed before it, and of
// the failures of a row the last one.
struct JobState {
  std::map<std::string, std::string> results;  // custom_id -> answer
  std::map<std::string, LogEntry> errors;      // by custom_id
  std::set<int64_t> lines;                     // of the input, that are reported as lines
  bool settled = true;                         // no line of the errors counts no more
  bool torn = false;                           // behind the last whole line there is more
  bool ordered = true;                         // by the lines of the input
  std::string text;                            // of both files

  int64_t failures() const { return static_cast<int64_t>(errors.size() + lines.size()); }
  bool has(const std::string& custom_id) const {
    return results.contains(custom_id) || errors.contains(custom_id);
  }
};

// The files: as programs see them, and the part that at least would be left after a power failure.
struct JobDisk {
  JobState seen;
  JobState safe;
};

// How a process ended.
struct ProcessEnd {
  RunEnd end = RunEnd::kEnded;
  std::optional<Result<batch::JobReport>> result;  // of open or run; nothing: it was killed
  std::optional<TimePoint> stopped_at;             // the first stop() or stop_now()
  std::optional<TimePoint> stopped_now_at;
  TimePoint returned_at{};
};

class JobChecks {
 public:
  // `input` outlives it.
  JobChecks(const JobInput& input, const ThreadOptions& threads);

  // Reads the files. Every result is there once, with the answer of its row; every failure is one
  // that its row or line can have; logs are whole lines but, with `may_be_torn`, the last.
  JobDisk read(const store::testing::MemoryDisk& disk) const;

  // A process came to its end: what it found, what it left, and what is there now that the power
  // went or did not.
  void process_ended(const Generation& generation, const JobDisk& found, const JobDisk& left,
                     const JobDisk& now, const ProcessEnd& end, const batch::JobCounters& counters,
                     const Ledger& ledger) const;

  // Every row has its answer, every line at fault its report.
  void complete(const JobState& state) const;

  // Rows that failed and need not have.
  bool has_passing_failures(const JobState& state) const;

 private:
  JobState read_state(const store::testing::MemoryDisk& disk) const;
  void check_result(const LogEntry& entry, JobState& state) const;
  void check_error(const LogEntry& entry, JobState& state) const;
  void check_end(const Generation& generation, const JobDisk& found, const JobDisk& left,
                 const ProcessEnd& end) const;
  void check_counters(const Generation& generation, const JobDisk& found, const JobDisk& left,
                      const ProcessEnd& end, const batch::JobCounters& counters) const;
  void check_safety(const Generation& generation, const JobDisk& found, const JobDisk& now,
                    const batch::JobCounters& counters) const;
  void check_bill(const Generation& generation, const JobState& found, const JobState& left,
                  const ProcessEnd& end, const Ledger& ledger) const;
  void check_failures(const Generation& generation, const JobState& found,
                      const JobState& left) const;
  void check_order(const Generation& generation, const Ledger& ledger) const;

  const JobInput& input_;
  const Interleaving interleaving_;
  const Duration stop_time_max_;
  std::map<std::string, const InputLine*> rows_;                // by custom_id
  std::map<std::string, std::set<std::string>> rows_of_words_;  // word -> custom_ids
  std::map<std::string, int64_t> lines_of_words_;               // words that only one row asks
};

}  // namespace windrow::simulate
