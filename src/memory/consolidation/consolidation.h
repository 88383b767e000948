// Consolidation: one run over the pending facts of a bank, in batches, in the order of a
// ScopeSchedule. For each batch the observations of its scope are ranked, the model is asked, and
// its response is judged (acceptance.h) and applied in one transaction together with the stamps.
// While a model works, no connection to the database is held.
//
// Embeddings of new observations are computed beside the next call of the scope: until then such an
// observation is always shown. A twin that this finds is folded by a call of its own, which takes
// its turn in the scope like a batch.
//
// A failed batch is halved, tried again or stops the run, as failure_policy.h says; one fact that
// fails alone is marked and stops no other one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "async/executor.h"
#include "base/clock.h"
#include "base/result.h"
#include "memory/bank/bank.h"
#include "memory/bank/bank_store.h"
#include "memory/consolidation/batch_result.h"
#include "memory/models/memory_models.h"

namespace windrow::memory {

struct ConsolidationOptions {
  BankConfig config;
  ModelCaller caller;
  int32_t in_flight_max = 8;
  std::string bank;                  // its name in lines
  std::function<MemoryId()> new_id;  // of an observation; empty: random ones
};

struct ConsolidationProgress {
  int64_t processed = 0;
  int64_t total = 0;
  ConsolidationCounts counts;
  int32_t in_flight = 0;
};

enum class ConsolidationEnd : uint8_t {
  kNoNewMemories,
  kCompleted,
  kCancelled,
  kStopped,  // a failure that stops the run: see `error` and `retry_after`
  kFailed,   // the database, or a batch failed
};

struct ConsolidationReport {
  ConsolidationEnd end = ConsolidationEnd::kCompleted;
  ConsolidationCounts counts;
  std::string error;        // the first one, with its cause
  bool is_of_bank = false;  // kStopped, kFailed: the bank could not be read or written
  // kFailed: the next run would fail alike, because the vectors of the bank are not those of the
  // embedding model.
  bool is_final = false;
  std::optional<Duration> retry_after;
  double wall_s = 0;
  double mean_in_flight = 0;

  // The sums over batches of the time for reading and ranking, for the model, and for the commit.
  double recall_s = 0;
  double model_s = 0;
  double commit_s = 0;
  std::string table;  // for people: facts, observations, calls, tokens, time
};

// What a run tells while it goes on. Called by one thread at a time; must not block for long.
struct ConsolidationListener {
  // After each batch; false ends the run as cancelled (the operation is gone).
  std::function<bool(const ConsolidationProgress&)> on_progress;
  std::function<void(std::string_view line)> on_line;  // performance lines, warnings
};

// Blocks until the run has ended; calls of models and the database work on `executor` (and this
// thread). `store`, `models`, `clock` outlive it. Cancelled within one call of the model when
// `cancel` is stopped.
ConsolidationReport consolidate(BankStore& store, MemoryModels& models, async::Executor& executor,
                                const Clock& clock, const ConsolidationOptions& options,
                                const ConsolidationListener& listener, std::stop_token cancel);

}  // namespace windrow::memory
