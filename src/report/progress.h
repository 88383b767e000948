// Progress: from counters to the numbers people watch. Pure: fed with readings and their times, it
// decides nothing and knows no screen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "batch/job_counters.h"
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
  llm::BackendStats backend;
  std::vector<llm::UpstreamStatus> upstreams;
};

ProgressReading read_progress(const batch::JobCounters& counters, const llm::BackendStats& backend,
                              TimePoint now);

struct ProgressNumbers {
  batch::JobPhase phase = batch::JobPhase::kOpening;
  int64_t rows_done = 0;
  int64_t rows_total = -1;
  int64_t rows_failed = 0;
  int32_t rows_running = 0;
  double rows_per_s = 0;
  double prompt_tokens_per_s = 0;
  double generated_tokens_per_s = 0;
  bool prompts_only = false;       // nothing was generated so far: embeddings, scores
  double prompt_reused = 0;        // part of the prompts that need not be computed, from 0 to 1
  uint64_t device_bytes_used = 0;  // 0: not known
  uint64_t device_bytes_max = 0;
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
    int64_t prompt_tokens = 0;
    int64_t cached_tokens = 0;
    int64_t generated_tokens = 0;
  };

  const Sample& start_of_window(Duration span_min, int64_t rows_min) const;
  void thin_out();

  ProgressReading last_;
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

}  // namespace windrow::report
