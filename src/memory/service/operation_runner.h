// OperationRunner: does the operations of banks in the background: retains and consolidations, each
// claimed with a lease that is renewed while it is worked at, so that the operation of a process
// that died is taken over and never blocks its bank.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "async/executor.h"
#include "base/clock.h"
#include "memory/bank/bank.h"
#include "memory/models/memory_models.h"
#include "memory/service/bank_registry.h"

namespace windrow::memory {

struct RunnerOptions {
  BankConfig defaults;
  int32_t banks_max = 4;          // banks that are worked at at a time
  int32_t in_flight_max = 32;     // calls of consolidations, of all banks together
  int64_t lease_ms = 60'000;
  std::string worker;             // names this process in leases
  std::function<void(std::string_view)> on_line;  // performance lines; any thread; may be empty
  std::function<void(const std::string&)> warn;
  uint64_t seed = 0;
};

struct RunnerReadings {
  int64_t operations_completed = 0;
  int64_t operations_failed = 0;
  int64_t operations_taken_over = 0;
  int32_t running = 0;
  int64_t observations_created = 0;
  int64_t observations_updated = 0;
  int64_t observations_deleted = 0;
  int64_t facts_consolidated = 0;
  int64_t facts_failed = 0;
  int64_t llm_calls = 0;
};

// Thread-safe.
class OperationRunner {
 public:
  // All arguments outlive it.
  OperationRunner(BankRegistry& banks, MemoryModels& models, const Clock& clock,
                  RunnerOptions options);
  ~OperationRunner();

  // Begins to work: looks through all banks once, in the background, and then at those it is told
  // of. Once.
  void start();

  // This bank has a new operation, or one that was put back.
  void notify(const BankId& bank);

  // Ends running ones within one call of a model; they are pending again. Blocks.
  void stop();

  RunnerReadings readings() const;
};

}  // namespace windrow::memory
