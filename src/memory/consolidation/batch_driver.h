// BatchDriver: does batches: reads the bank, asks the model, and applies the decision of a
// BatchFlow. First it folds the twins that were found in the scope of a batch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "async/executor.h"
#include "async/in_flight_counter.h"
#include "base/clock.h"
#include "base/result.h"
#include "memory/bank/bank.h"
#include "memory/bank/bank_store.h"
#include "memory/consolidation/acceptance.h"
#include "memory/consolidation/batch_flow.h"
#include "memory/consolidation/batch_result.h"
#include "memory/consolidation/failure_policy.h"
#include "memory/consolidation/new_embeddings.h"
#include "memory/consolidation/run_log.h"
#include "memory/consolidation/scope_schedule.h"
#include "memory/models/memory_models.h"

namespace windrow::memory {

// Why a batch failed.
struct BatchFault {
  BatchFailure failure = BatchFailure::kRetry;
  std::string why;
  std::optional<Duration> wait = {};  // kStop: until when, if that is known
  bool is_of_store = false;           // kStop: the bank cannot be read or written
  bool is_of_facts = false;           // kHalve: the facts are the cause, whatever happens to others
};

BatchFault fault_of(const llm::Failure& failure);

struct BatchOutcome {
  enum class End : uint8_t {
    kApplied,
    kStale,  // what the response was made from has changed: `fault.why`; nothing was applied
    kFailed,
  };

  ScopeBatch batch;            // without facts: only twins were folded
  std::vector<Witness> facts;  // of the batch, as they were read last
  End end = End::kApplied;
  BatchFault fault;
  BatchTimes times;
  ConsolidationCounts counts;
  size_t observations_shown = 0;
  bool is_answered = false;  // the model replied, so it works
  std::vector<Rejected> rejected;
};

// Thread-safe.
class BatchDriver {
 public:
  // What batches are done with; all of it outlives the driver.
  struct World {
    BankStore& store;
    MemoryModels& models;
    async::Executor& executor;
    const Clock& clock;
    const BankConfig& config;
    const ModelCaller& caller;
    NewEmbeddings& embeddings;
    std::function<MemoryId()> new_id;
    std::stop_token unwanted;                      // ends calls of the model
    std::function<void(int32_t change)> on_calls;  // one more, or one less, is in flight
  };

  explicit BatchDriver(World world) : world_(std::move(world)) {}

  // Waits until every Done has returned.
  ~BatchDriver() { tasks_.wait_for_none(); }
  BatchDriver(const BatchDriver&) = delete;
  BatchDriver& operator=(const BatchDriver&) = delete;

  // Called once, on the executor.
  using Done = std::function<void(BatchOutcome)>;
  void start(ScopeBatch batch, Done done);

 private:
  // One batch on its way. Its steps run one after the other.
  struct Work {
    BatchOutcome outcome;
    Done done;
    std::vector<Twins> twins;
    std::optional<BatchFlow> flow;
    TimePoint asked;
  };
  using WorkPtr = std::shared_ptr<Work>;
  using Step = void (BatchDriver::*)(const WorkPtr&, ChatOutcome);

  void fold_twins(const WorkPtr& work);
  void fold_answered(const WorkPtr& work, ChatOutcome outcome);
  void read(const WorkPtr& work);
  Result<BatchRead> read_bank(const ScopeBatch& batch);
  Result<void> keep_pending(const Scope& scope, std::vector<Memory>& facts);
  void ask(const WorkPtr& work, ChatCall call, Step then);
  void answered(const WorkPtr& work, ChatOutcome outcome);
  void apply(const WorkPtr& work, BatchDecision decision);
  void fail(const WorkPtr& work, BatchFault fault);
  void fail_of_store(const WorkPtr& work, const Error& error);
  void end(const WorkPtr& work, BatchOutcome::End end);
  int64_t now_ms() const { return world_.clock.unix_seconds() * 1000; }

  const World world_;
  async::InFlightCounter tasks_;
};

}  // namespace windrow::memory
