// OutcomeWriter: takes outcomes of rows from any thread and appends them to the logs in groups
// (group commit): one write and one sync per file for all that are queued. A row counts as done
// only then.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "async/bounded_queue.h"
#include "base/clock.h"
#include "base/result.h"
#include "batch/failure_watch.h"
#include "batch/job_counters.h"
#include "batch/result_line.h"
#include "batch/result_log.h"

namespace windrow::batch {

// How long outcomes are collected before they are written: a sync costs the same for one and for
// hundreds. A process that is killed loses the outcomes collected and the group being written;
// those rows are asked again. docs/formats.md promises 50 ms for both on a disk that syncs in less
// than 20 ms.
inline constexpr std::chrono::milliseconds kGroupGather(10);

class OutcomeWriter {
 public:
  struct Out {
    // Called on the writing thread, possibly more than once. kUnavailable: the backend cannot
    // answer any more. Any other error is one of the disk: nothing is written from then on.
    std::function<void(const Error&)> failed;

    // Called once on the writing thread, with FailureWatch::stop: the job is to stop.
    std::function<void(const FailureStop&)> too_many_failed;
  };

  struct Options {
    size_t unwritten_bytes_max = 0;
    bool keep_truncated = false;  // JobOptions::keep_truncated
    FailureLimit failure_limit;
    bool succeeded_before = false;  // as for FailureWatch
  };

  // `clock` and `counters` outlive it.
  OutcomeWriter(const Clock& clock, JobCounters& counters, const Options& options, Out out);

  // Any thread. Blocks while too many bytes are unwritten. Outcomes after close() are dropped.
  void finish(RowOutcome outcome);

  // Any thread. No more outcomes come in; those queued are still written.
  void close() { outcomes_.close(); }

  // The body of the writing thread; once. Returns when this is closed and all is written.
  void write(ResultLog log);

 private:
  bool write_group(ResultLog& log, std::vector<RowOutcome> outcomes);
  bool is_surplus(const RowOutcome& row, const llm::Failure& failure);

  const Clock& clock_;
  JobCounters& counters_;
  const bool keep_truncated_;
  const Out out_;
  FailureWatch failures_;  // the writing thread's
  async::BoundedQueue<RowOutcome> outcomes_;
};

}  // namespace windrow::batch
