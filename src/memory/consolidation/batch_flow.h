// BatchFlow: one batch of facts of one scope, from what was read of the bank to the effects of the
// model's response. It decides; the driver (consolidation.h) reads, asks and writes. Pure; one
// thread at a time.
//
//   BatchFlow flow(batch, read, options, count_tokens);
//   if (flow.needs_model()) { ask(flow.question()); decision = flow.decide(response); }
//   else decision = flow.decide_without_model();
//   store.apply(decision.effects)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "memory/bank/bank.h"
#include "memory/bank/bank_store.h"
#include "memory/consolidation/acceptance.h"
#include "memory/consolidation/batch_result.h"
#include "memory/consolidation/fold.h"
#include "memory/consolidation/prompts.h"
#include "memory/consolidation/scope_recall.h"
#include "memory/consolidation/scope_schedule.h"
#include "memory/models/memory_models.h"

namespace windrow::memory {

// What was read for a batch, after the last commit of its scope.
struct BatchRead {
  std::vector<Memory> facts;         // those of the batch that are still pending and valid
  std::vector<Memory> observations;  // all of the scope
  std::vector<BankStore::Repeated> repeated;
  std::vector<Memory> repeated_facts;  // those that `repeated` names
};

struct BatchDecision {
  BatchEffects effects;
  std::map<MemoryId, FactResult> results;  // of each fact that was read
  ConsolidationCounts counts;              // what it adds once it is applied
  std::vector<Rejected> rejected;
};

class BatchFlow {
 public:
  // `new_id` makes the id of an observation. `config` outlives it.
  BatchFlow(Scope scope, BatchRead read, const BankConfig& config, const CountTokens& count_tokens,
            std::function<MemoryId()> new_id);

  // Whether any fact is left after folding.
  bool needs_model() const { return !folded_.shown.empty(); }

  // The call for the facts that are left.
  ChatCall question(const ModelCaller& caller,
                    std::map<MemoryId, std::vector<Memory>> source_facts = {});

  // Facts whose text is to be shown beside an observation: the sources of observations shown.
  std::vector<MemoryId> sources_shown() const;

  // kInvalid: the response is malformed.
  Result<BatchDecision> decide(std::string_view response) const;
  BatchDecision decide_without_model() const;

  size_t observations_shown() const { return shown_.size(); }

 private:
  BatchDecision decision_of(Accepted accepted) const;
  void add_repeated(Accepted& accepted) const;
  std::vector<Witness> witnesses_of(const Accepted& accepted) const;

  const Scope scope_;
  const BatchRead read_;
  const BankConfig& config_;
  const std::function<MemoryId()> new_id_;
  const int64_t observations_max_;  // of the scope; -1: no limit
  FoldedBatch folded_;
  std::vector<ShownObservation> shown_;
  BatchPrompt prompt_;
};

}  // namespace windrow::memory
