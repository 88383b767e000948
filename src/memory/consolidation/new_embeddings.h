// NewEmbeddings: embeddings of observations that were just written, computed beside the next call
// of their scope, and the twins that they reveal: two observations of one scope that say nearly the
// same.
//
// An observation without an embedding is always shown to the model (scope_recall.h), so a scope may
// have only so many of them: a batch of a scope with more waits for embeddings first.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/executor.h"
#include "async/in_flight_counter.h"
#include "base/result.h"
#include "memory/bank/bank.h"
#include "memory/bank/bank_store.h"
#include "memory/models/fitting_texts.h"
#include "memory/models/memory_models.h"

namespace windrow::memory {

// The code of failures that are the bank's and not the model's.
inline constexpr std::string_view kBankFailureCode = "storage_error";

struct Twins {
  MemoryId newer;
  MemoryId older;
};

// Thread-safe.
class NewEmbeddings {
 public:
  // How many texts of a scope may be without an embedding when a batch of it begins.
  static constexpr int64_t kPendingMax = 24;

  // Everything outlives it. `changed` is called after each change of idle(), has_room() or
  // failed(), without a lock, on any thread. Without an embedding model (`active` false) it does
  // nothing.
  NewEmbeddings(BankStore& store, MemoryModels& models, async::Executor& executor,
                const BankConfig& config, ModelCaller caller, bool active, std::stop_token unwanted,
                std::function<void()> changed);

  // Waits until nothing is being computed.
  ~NewEmbeddings();
  NewEmbeddings(const NewEmbeddings&) = delete;
  NewEmbeddings& operator=(const NewEmbeddings&) = delete;

  // These observations of a scope were written: reads them and computes what is missing. Without a
  // scope they are facts: of no scope's business, but vectors shall find them.
  void add(const std::optional<Scope>& scope, const std::vector<MemoryId>& memories);

  bool has_room(const Scope& scope) const;
  bool idle() const;  // nothing is being computed

  // The twins that were found in this scope, taken. A pair is returned once in a run.
  std::vector<Twins> take_twins(const Scope& scope);
  std::vector<Scope> scopes_with_twins() const;

  // The first failure; nothing more is computed after it.
  std::optional<llm::Failure> failure() const;

 private:
  struct Job {
    std::optional<Scope> scope;
    std::vector<Memory> memories;
    FittingTexts texts;  // of these memories
  };

  void embed(const std::shared_ptr<Job>& job);
  void store_all(const Job& job, EmbedOutcome outcome);
  void look_for_twins(const Job& job);
  void ended(const std::optional<Scope>& scope, int64_t texts, std::optional<llm::Failure> failure);

  BankStore& store_;
  MemoryModels& models_;
  async::Executor& executor_;
  const BankConfig& config_;
  const ModelCaller caller_;
  const bool active_;
  const std::stop_token unwanted_;
  const std::function<void()> changed_;

  async::InFlightCounter jobs_;
  mutable std::mutex mutex_;
  std::map<std::optional<Scope>, int64_t> pending_;
  std::map<Scope, std::vector<Twins>> twins_;
  std::set<std::pair<MemoryId, MemoryId>> seen_;
  std::optional<llm::Failure> failure_;
};

}  // namespace windrow::memory
