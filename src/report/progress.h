// Progress: from counters to the numbers people watch. Pure: fed with readings and their times, it
// decides nothing and knows no screen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "batch/failure_kinds.h"
#include "batch/job_counters.h"
#include "dispatch/item_table.h"
#include "llm/backend.h"
#include "report/upstream_figures.h"

namespace windrow::report {

// Everything that is known about a job at one moment.
struct ProgressReading {
  TimePoint at;
  batch::JobPhase phase = batch::JobPhase::kOpening;
  int64_t rows_done = 0;      // with a result, whenever it came
  int64_t rows_total = -1;    // -1: not known
  int64_t rows_failed = 0;    // of rows_done
  int64_t rows_this_run = 0;  // of rows_done, those of this run

  // Of this run: rows that succeeded and generate nothing (embeddings, reranking), and their texts.
  int64_t rows_of_texts = 0;
  int64_t texts = 0;

  std::vector<batch::FailureKind> failures = {};  // of this run
  llm::BackendStats backend;
  dispatch::RetryReading retries = {};
  std::vector<llm::UpstreamStatus> upstreams;
};

ProgressReading read_progress(const batch::JobCounters& counters, const llm::BackendStats& backend,
                              TimePoint now);

struct ProgressNumbers {
  batch::JobPhase phase = batch::JobPhase::kOpening;
  int64_t rows_done = 0;
  int64_t rows_total = -1;
  int64_t rows_failed = 0;
  std::vector<batch::FailureKind> failures = {};  // of this run, the most frequent first
  int32_t rows_running = 0;
  dispatch::RetryReading retries = {};
  double rows_per_s = 0;
  double texts_per_s = 0;  // embedded or ranked
  double prompt_tokens_per_s = 0;
  double generated_tokens_per_s = 0;
  bool prompts_only = false;       // nothing was generated so far: embeddings, scores
  bool texts_only = false;         // and all rows so far were texts to embed or to rank
  bool one_text_a_row = false;     // with texts_only
  double prompt_reused = 0;        // part of the prompts that need not be computed, from 0 to 1
  uint64_t device_bytes_used = 0;  // 0: not known
  uint64_t device_bytes_max = 0;
  Duration elapsed{};            // since the first reading
  std::optional<Duration> left;  // nothing while it would be a guess
  std::vector<llm::UpstreamStatus> upstreams;
};

// Used by one thread. Memory is bounded however long the job is.
class Progress {
 public:
  // Times do not go back. Rates begin with the first reading in which rows run.
  void observe(const ProgressReading& reading);

  ProgressNumbers numbers() const;

 private:
  struct Sample {
    TimePoint at;
    int64_t rows = 0;
    int64_t texts = 0;
    int64_t prompt_tokens = 0;
    int64_t cached_tokens = 0;
    int64_t generated_tokens = 0;
  };

  const Sample& start_of_window(Duration span_min, int64_t rows_min) const;
  void thin_out();

  ProgressReading last_;
  std::optional<TimePoint> begin_;
  std::vector<Sample> samples_;  // oldest first; dense in the last minute, sparse before
};

// One number of the live line, as text.
struct ProgressPiece {
  std::string text;
  bool alarming = false;  // worth a colour
  int32_t rank = 0;       // where room is short those with the highest go first
};

// In the order of the line.
std::vector<ProgressPiece> progress_pieces(const ProgressNumbers& numbers);

// At most `width` columns of plain ASCII: whole pieces are left out before one is cut.
std::string fit_pieces(const std::vector<ProgressPiece>& pieces, size_t width, bool colour);

// For a log file: one sentence.
std::string progress_sentence(const ProgressNumbers& numbers);

// "1,204 of 170,000", or "1,204" where the total is unknown; and "0.7 %", which is 100 only when
// all are done.
std::string rows_done_text(const ProgressNumbers& numbers);
std::string percent_done(int64_t part, int64_t whole);

// "3.61 rows/s, 2,130 prompt and 412 output tokens/s".
std::string rates_text(const ProgressNumbers& numbers);

// "3 trying again, 2 of 3"; empty where nothing is.
std::string retries_text(const dispatch::RetryReading& retries);

}  // namespace windrow::report
