// JobCounters: the progress of a job. Written by the threads of a JobRunner, read by any thread at
// any time without blocking. Each number is exact, but two of them read one after the other may be
// of different moments.
#pragma once

#include <atomic>
#include <cstdint>

#include "batch/failure_kinds.h"

namespace windrow::batch {

enum class JobPhase : uint8_t {
  kOpening,   // takes locks and reads the files of an earlier run
  kWaiting,   // open; JobRunner::run has not been called: the model is loading
  kChecking,  // --strict reads the whole input, or a resumed job waits for its pre-scan
  kRunning,   // rows are read, answered and written
  kStopping,  // after stop(): running rows finish, no row starts
  kOrdering,  // --ordered rewrites the logs
  kEnded,
};

struct JobCounters {
  std::atomic<JobPhase> phase = JobPhase::kOpening;

  // --- the whole input ---

  // The rows of the job (at most rows_max), once the pre-scan has counted them; -1 before, and for
  // an input that can be read only once until its end is reached.
  std::atomic<int64_t> rows_total = -1;

  // Rows of this input that had an outcome before this run began, and how many of those are
  // failures. Set by the pre-scan of a resumed job before run() starts reading; they grow during
  // the run for an input that can be read only once.
  std::atomic<int64_t> rows_before = 0;
  std::atomic<int64_t> rows_before_failed = 0;

  // Bytes of the input as stored (compressed or not): read so far in this run, and in total; -1
  // when unknown.
  std::atomic<int64_t> input_bytes_read = 0;
  std::atomic<int64_t> input_bytes_total = -1;

  // --- this run; a row counts when its line is on disk ---

  std::atomic<int64_t> rows_succeeded = 0;
  std::atomic<int64_t> rows_failed = 0;   // bad lines and duplicates included
  std::atomic<int64_t> rows_skipped = 0;  // by the reader, as they have an outcome already
  std::atomic<int64_t> attempts = 0;      // of submitted rows, retries included

  // Sums of `usage` of the rows that succeeded in this run.
  std::atomic<int64_t> prompt_tokens = 0;
  std::atomic<int64_t> cached_tokens = 0;  // of the prompt tokens
  std::atomic<int64_t> completion_tokens = 0;
  std::atomic<int64_t> reasoning_tokens = 0;  // of the completion tokens

  // Rows that succeeded in this run whose endpoint generates nothing (embeddings, reranking), and
  // the texts in them.
  std::atomic<int64_t> rows_of_texts = 0;
  std::atomic<int64_t> texts = 0;

  // The rows of rows_failed; a reader waits for a lock that is held only to count.
  FailureKinds failures;

  // --- in progress ---

  std::atomic<int64_t> rows_queued = 0;  // read, but not submitted
  std::atomic<int64_t> rows_in_flight =
      0;  // without an outcome; one of them may wait for admission
  std::atomic<int64_t> rows_unwritten = 0;  // with an outcome that is not on disk

  // Bytes of both logs on disk, with those of earlier runs.
  std::atomic<int64_t> log_bytes = 0;

  // Rows with an outcome, of this run or earlier ones: the first number of "done/total".
  int64_t rows_done() const { return rows_before + rows_succeeded + rows_failed; }
};

}  // namespace windrow::batch
