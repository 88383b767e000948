// What clients do with facts: add, edit and remove them. Observations that come from a fact that
// changes or goes are removed, and their other sources are consolidated again in that scope.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/bank/bank_store.h"
#include "memory/bank/sqlite/queries.h"

namespace windrow::memory {

// All functions as the methods of BankStore.
Result<std::vector<MemoryId>> retain_facts(BankChange& change, const Retained& retained,
                                           const std::function<std::string()>& new_uuid);
Result<Memory> edit_fact(BankChange& change, const MemoryId& id,
                         const std::function<Result<void>(Memory&)>& edit);
Result<int64_t> clear_memories(BankChange& change, std::optional<MemoryType> type);
Result<int64_t> clear_observations_of_fact(BankChange& change, const MemoryId& fact);
Result<int64_t> remove_document(BankChange& change, std::string_view id);

// Removes observations with their history; their sources lose the pass of that scope and their
// stamps.
Result<void> remove_observations(BankChange& change, std::span<const int64_t> rows);

}  // namespace windrow::memory
