// Consolidation as a bank file sees it: which facts are pending, what their observations are, and
// the effects of a batch with its passes and stamps. All functions as the methods of BankStore.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/bank/bank_store.h"
#include "memory/bank/sqlite/queries.h"

namespace windrow::memory {

Result<std::vector<PendingFact>> read_pending_facts(const Queries& queries);
Result<std::vector<Memory>> read_observations_of(const Queries& queries, const Scope& scope);
Result<std::vector<BankStore::Repeated>> read_repeated(const Queries& queries, const Scope& scope,
                                                       std::span<const std::string> texts);
Result<void> mark_facts_failed(BankChange& change, std::span<const Witness> facts,
                               std::string_view reason);
Result<int64_t> recover_failed_facts(BankChange& change);
Result<std::vector<Memory>> read_without_embedding(const Queries& queries, int64_t limit);
Result<void> embed_memory(BankChange& change, const Witness& memory,
                          std::span<const float> embedding);

}  // namespace windrow::memory
