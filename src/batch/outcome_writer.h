// OutcomeWriter: outcomes of rows from any thread, appended to the logs in groups: all that is
// waiting is one write and one sync per file. A row counts only after that.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "async/bounded_queue.h"
#include "base/clock.h"
#include "base/result.h"
#include "batch/job_counters.h"
#include "batch/result_log.h"
#include "batch/row_outcome.h"

namespace windrow::batch {

// How long outcomes gather before they are written: a sync costs the same for one and for hundreds.
// A process that is killed loses what gathered, and what the group before it, which is being
// written, holds: those rows are asked again. docs/formats.md promises 50 ms for both on a disk
// that syncs in less than 20 ms.
inline constexpr std::chrono::milliseconds kGroupGather(10);

class OutcomeWriter {
 public:
  struct Out {
    // Called on the writing thread, as often as it happens. kUnavailable: the backend can answer
    // nothing any more. Else of the disk: nothing is written from then on.
    std::function<void(const Error&)> failed;
  };

  struct Options {
    size_t unwritten_bytes_max = 0;
    bool keep_truncated = false;  // JobOptions::keep_truncated
  };

  // `clock` and `counters` outlive it.
  OutcomeWriter(const Clock& clock, JobCounters& counters, const Options& options, Out out);

  // Any thread. Blocks while the writer is far behind; what comes after the end is dropped.
  void finish(RowOutcome outcome);

  // Any thread: what was finished so far is the last there is.
  void close() { outcomes_.close(); }

  // On a thread of its own, once: until it is closed and all is written.
  void write(ResultLog log);

 private:
  bool write_group(ResultLog& log, std::vector<RowOutcome> outcomes);

  const Clock& clock_;
  JobCounters& counters_;
  const bool keep_truncated_;
  const Out out_;
  async::BoundedQueue<RowOutcome> outcomes_;
};

}  // namespace windrow::batch
