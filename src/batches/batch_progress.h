// BatchProgress: how fast the rows of a batch run, for clients that watch it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "batch/failure_kinds.h"
#include "batches/batch_record.h"

namespace windrow::batches {

// Of a batch whose rows run now.
struct BatchProgress {
  double rows_per_s = 0;
  double output_tokens_per_s = 0;
  Duration elapsed{};            // since its rows began to run, in this process
  std::optional<Duration> left;  // nothing while it would be a guess
  BatchUsage usage;              // of the rows answered so far, in earlier processes too
  std::vector<batch::FailureKind> failures;  // of the rows failed so far; the most frequent first

  friend bool operator==(const BatchProgress&, const BatchProgress&) = default;
};

// The batch whose rows run, as /v1/windrow/requests lists it.
struct RunningBatch {
  std::string id;
  std::string owner;  // the name of a key; empty: none
  std::string url;    // that its rows have
  std::vector<std::string> models;
  RequestCounts counts;
  BatchProgress progress;
};

}  // namespace windrow::batches
