// JobCounters: what a job has done so far, for whoever shows it. Written by the threads of a
// JobRunner, read by anybody at any time without waiting; each number is exact, but two of them
// read one after the other may be of different moments.
#pragma once

#include <atomic>
#include <cstdint>

namespace windrow::batch {

enum class JobPhase : uint8_t {
  kOpening,   // locking, reading what an earlier run left
  kWaiting,   // open; JobRunner::run has not been called: the model is loading
  kChecking,  // --strict reads the whole input, or a resumed job waits for its pre-scan
  kRunning,   // rows are read, answered and written
  kStopping,  // told to stop: running rows finish, nothing new starts
  kOrdering,  // --ordered writes the logs anew
  kEnded,
};

struct JobCounters {
  std::atomic<JobPhase> phase = JobPhase::kOpening;

  // --- the whole input ---

  // Rows the job has (at most rows_max), once the pre-scan counted them; -1 before, and for an
  // input that can be read only once until its end was reached.
  std::atomic<int64_t> rows_total = -1;

  // Rows of this input that had a result before this run began, and how many of those are failures.
  // Set by the pre-scan of a resumed job before run() starts reading; for an input that can be read
  // only once they grow while it is read.
  std::atomic<int64_t> rows_before = 0;
  std::atomic<int64_t> rows_before_failed = 0;

  // Bytes of the input as it lies on disk (compressed when it is): read so far for this run, and in
  // all; -1 when unknown.
  std::atomic<int64_t> input_bytes_read = 0;
  std::atomic<int64_t> input_bytes_total = -1;

  // --- this run; a row counts when its line is on disk ---

  std::atomic<int64_t> rows_succeeded = 0;
  std::atomic<int64_t> rows_failed = 0;  // bad lines and duplicates included
  std::atomic<int64_t> rows_skipped =
      0;                              // passed over by the reader, as they have a result already
  std::atomic<int64_t> attempts = 0;  // of rows that were submitted; more than rows: retries

  // Sums of `usage` over the rows that succeeded in this run.
  std::atomic<int64_t> prompt_tokens = 0;
  std::atomic<int64_t> completion_tokens = 0;

  // --- on their way ---

  std::atomic<int64_t> rows_queued = 0;     // read, not yet submitted
  std::atomic<int64_t> rows_in_flight = 0;  // no outcome yet; one of them may wait to be admitted
  std::atomic<int64_t> rows_unwritten = 0;  // have an outcome, not yet on disk

  // Bytes of both logs that are on disk, those of earlier runs included.
  std::atomic<int64_t> log_bytes = 0;

  // Rows with a result, whenever it came: what "done/total" shows.
  int64_t rows_done() const { return rows_before + rows_succeeded + rows_failed; }
};

}  // namespace windrow::batch
