// MemoryService: the memory banks of a server, in the words of its API: whose bank it is, what a
// request may do, and the failure for clients. Endpoints translate JSON and call this.
//
// Methods may be called on any thread but the event loop: they wait for the disk, and retain,
// recall and reflect for models.
#pragma once

#include <atomic>
#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "memory/bank/bank_store.h"
#include "memory/models/memory_models.h"
#include "memory/recall/recall.h"
#include "memory/reflect/reflect.h"
#include "memory/retain/retain.h"
#include "memory/service/bank_registry.h"
#include "memory/service/operation_runner.h"
#include "memory/service/reply.h"

namespace windrow::memory {

struct MemoryServiceOptions {
  std::string folder;
  BankConfig defaults;
  RunnerOptions runner;      // its defaults are those above
  int32_t items_max = 1000;  // of one retain
};

struct BankView {
  Bank bank;
  int64_t memory_count = 0;
};

struct RetainReceipt {
  std::vector<MemoryId> memories;        // synchronous
  std::optional<OperationId> operation;  // in the background
  llm::Usage usage;
};

class MemoryService {
 public:
  // All arguments outlive it. kIo, kDiskFull, kConflict.
  static Result<std::unique_ptr<MemoryService>> open(store::Disk& disk, const Clock& clock,
                                                     MemoryServiceOptions options);

  // As stop().
  ~MemoryService();
  MemoryService(const MemoryService&) = delete;
  MemoryService& operator=(const MemoryService&) = delete;

  // Until then nothing that needs a model works (503). Once. `models` outlives stop().
  void start(MemoryModels& models);

  // Ends what runs in the background; it goes on after the next start. Blocks.
  void stop();

  // --- banks: 404 if there is none or the viewer may not see it ---
  Reply<std::vector<BankView>> banks(const Viewer& viewer, std::string_view text, int64_t limit,
                                     int64_t offset, int64_t* total);
  Reply<BankView> bank(const Viewer& viewer, const BankId& id);
  // Creates it if there is none. `change` has the members name, mission, background, disposition
  // and overrides of the configuration that are to change.
  Reply<BankView> put_bank(const Viewer& viewer, const BankId& id,
                           const boost::json::object& change);
  Reply<BankView> patch_bank(const Viewer& viewer, const BankId& id,
                             const boost::json::object& change);
  Reply<int64_t> delete_bank(const Viewer& viewer, const BankId& id);  // how many memories it had
  // The configuration as it counts, and the overrides alone.
  struct ConfigView {
    BankConfig config;
    boost::json::object overrides;
  };
  Reply<ConfigView> config(const Viewer& viewer, const BankId& id);
  Reply<ConfigView> patch_config(const Viewer& viewer, const BankId& id,
                                 const boost::json::object& updates);
  Reply<ConfigView> reset_config(const Viewer& viewer, const BankId& id);

  const Clock& clock() const { return clock_; }
  int64_t now_ms() const { return clock_.unix_seconds() * 1000; }  // since 1970

  // The settings of a bank that has none of its own.
  const BankConfig& defaults() const { return options_.defaults; }

  // --- memories ---
  Reply<RetainReceipt> retain(const Viewer& viewer, const BankId& id, std::vector<RetainItem> items,
                              bool in_background, std::optional<OperationId> operation);
  Reply<RecallResult> recall(const Viewer& viewer, const BankId& id, const RecallQuery& query);
  Reply<ReflectAnswer> reflect(const Viewer& viewer, const BankId& id, const ReflectQuery& query);

  // The bank's store, for lists, edits and statistics, which need no rule of this class.
  Reply<std::shared_ptr<BankStore>> store(const Viewer& viewer, const BankId& id);

  // --- consolidation and operations ---
  Reply<BankStore::Submitted> consolidate(const Viewer& viewer, const BankId& id);
  Reply<int64_t> recover(const Viewer& viewer, const BankId& id);  // how many facts; queues them
  Reply<Operation> cancel(const Viewer& viewer, const BankId& id, const OperationId& operation);
  Reply<Operation> retry(const Viewer& viewer, const BankId& id, const OperationId& operation);

  // Computes the vector of a memory whose text was edited. Where there is no embedding model only
  // words find it; where the model fails, the next consolidation computes it.
  void embed_edited(const Viewer& viewer, const BankId& id, const Memory& memory);

  // Runs a consolidation of this bank if one is pending: after an edit of its memories.
  void notify(const BankId& id);

  // Whether models can be asked: start() was called.
  bool is_started() const;
  RunnerReadings readings() const;

 private:
  MemoryService(std::unique_ptr<BankRegistry> banks, const Clock& clock,
                MemoryServiceOptions options);

  // A bank that the viewer sees, with its settings.
  struct OpenBank {
    std::shared_ptr<BankStore> store;
    Bank bank;
  };
  // The same for calls of models, with the configuration as it counts.
  struct ReadyBank : OpenBank {
    BankConfig config;
  };
  Reply<OpenBank> open_bank(const Viewer& viewer, const BankId& id) const;
  Reply<ReadyBank> ready_bank(const Viewer& viewer, const BankId& id) const;  // also 503
  Reply<Operation> operation_of(const OpenBank& open, const OperationId& operation) const;
  llm::Failure unopened(const BankId& id, const Error& error) const;
  Reply<OpenBank> open_or_create(const Viewer& viewer, const BankId& id) const;
  Reply<BankView> edit(const BankId& id, const OpenBank& open, const boost::json::object& change);
  Reply<ConfigView> config_of(const Bank& bank) const;
  ModelCaller caller_of(const OpenBank& open, llm::Priority priority) const;

  const std::unique_ptr<BankRegistry> banks_;
  const Clock& clock_;
  const MemoryServiceOptions options_;
  std::atomic<MemoryModels*> models_ = nullptr;
  std::unique_ptr<OperationRunner> runner_;  // set by start(), before models_
};

}  // namespace windrow::memory
