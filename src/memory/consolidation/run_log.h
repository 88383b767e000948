// RunLog: what a consolidation tells people: a line as each batch ends, and a table at the end.
// Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"
#include "memory/bank/scopes.h"
#include "memory/consolidation/batch_result.h"

namespace windrow::memory {

// The parts of the time of a batch, and what it did.
struct BatchTimes {
  Duration recall{};  // reading the bank and ranking observations
  Duration model{};
  Duration embedding{};  // that the batch waited for
  Duration commit{};
};

struct BatchLine {
  int64_t number = 0;
  Scope scope;
  size_t facts = 0;
  size_t observations_shown = 0;
  BatchTimes times;
  ConsolidationCounts counts;  // of this batch
};

class RunLog {
 public:
  RunLog(std::string bank, int64_t total) : bank_(std::move(bank)), total_(total) {}

  // Adds a batch, and returns its line. `now`: since the start of the run.
  std::string add(const BatchLine& batch, Duration now);

  const ConsolidationCounts& counts() const { return counts_; }
  const BatchTimes& times() const { return times_; }

  // The table of the whole run; the longest scopes are named, because the longest one bounds what
  // more calls in flight can gain.
  std::string table(Duration wall, double mean_in_flight) const;

 private:
  struct ScopeShare {
    int64_t batches = 0;
    int64_t facts = 0;
    Duration busy{};
  };

  const std::string bank_;
  const int64_t total_;
  ConsolidationCounts counts_;
  BatchTimes times_;
  std::map<Scope, ScopeShare> scopes_;
};

// "[a, b]", or "[untagged]".
std::string name_of(const Scope& scope);

}  // namespace windrow::memory
