// OperationRunner: does the operations of banks in the background: retains and consolidations, each
// claimed with a lease that is renewed while it is worked at, so that the operation of a process
// that died is taken over and never blocks its bank.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "async/executor.h"
#include "base/clock.h"
#include "memory/bank/bank.h"
#include "memory/bank/operation.h"
#include "memory/models/memory_models.h"
#include "memory/service/bank_registry.h"

namespace windrow::memory {

struct RunnerOptions {
  BankConfig defaults;
  int32_t banks_max = 4;       // banks that are worked at at a time
  int32_t in_flight_max = 32;  // calls of consolidations, of all banks together
  int64_t lease_ms = 60'000;
  std::string worker;  // names this process in leases
  // No other process can be working at the banks: an operation that is in progress at the start is
  // that of a process that died, and its lease is not waited for.
  bool works_alone = false;
  std::function<void(std::string_view)> on_line;  // performance lines; any thread; may be empty
  std::function<void(const std::string&)> warn;
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

  // As stop().
  ~OperationRunner();
  OperationRunner(const OperationRunner&) = delete;
  OperationRunner& operator=(const OperationRunner&) = delete;

  // Begins to work: looks through all banks once, in the background, and then at those it is told
  // of. Once.
  void start();

  // This bank has a new operation, or one that was put back.
  void notify(const BankId& bank);

  // The operation was cancelled in its bank: what runs of it is ended.
  void cancel(const BankId& bank, const OperationId& operation);

  // Ends running ones within one call of a model; they are pending again. Blocks.
  void stop();

  RunnerReadings readings() const;

 private:
  // Operations of one type of one bank run one after the other; retains and the consolidation of a
  // bank run beside each other.
  using Work = std::pair<BankId, OperationType>;

  struct Running {
    OperationId operation;
    std::stop_source stops;
    std::shared_ptr<BankStore> store;
    int64_t renewed_ms = 0;
  };

  // On a worker:
  void look_through_banks();
  void end_leases(const BankId& bank);
  void work_at(const Work& work);
  void queue(const Work& work);  // with the lock
  bool do_next(const Work& work, const std::shared_ptr<BankStore>& store);
  void consolidate_bank(const BankId& bank, BankStore& store, Operation& operation,
                        const std::stop_token& cancel);
  void retain_items(const BankId& bank, BankStore& store, Operation& operation,
                    const std::stop_token& cancel);
  void put_back(Operation& operation, std::optional<Duration> wait, std::string why);
  void look_again(const Work& work);

  // On the thread of the timer:
  void watch_time();
  void renew_leases(int64_t now_ms);

  bool is_stopping() const;
  int64_t now_ms() const { return clock_.unix_seconds() * 1000; }

  BankRegistry& banks_;
  MemoryModels& models_;
  const Clock& clock_;
  const RunnerOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Work, bool> queued_;     // what is worked at, or will be; true: look again
  std::map<Work, int64_t> due_ms_;  // an operation waits for its time
  std::map<Work, Running> running_;
  RunnerReadings readings_;
  bool stopping_ = false;

  async::Executor steps_;    // of batches
  async::Executor workers_;  // a bank each
  std::thread timer_;
};

}  // namespace windrow::memory
