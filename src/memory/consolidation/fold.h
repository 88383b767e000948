// Folding: facts that repeat another one are not shown to the model, and are sources all the same.
// Pure; any thread.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "memory/bank/bank_store.h"

namespace windrow::memory {

struct FoldedBatch {
  // One of each text, the last one: what was said in between may have changed what is true.
  std::vector<Memory> shown;
  std::map<MemoryId, std::vector<MemoryId>> folded;    // by the one that is shown
  std::map<MemoryId, std::vector<MemoryId>> repeated;  // by the observation that they join
};

// `repeated`: facts of this scope that say the same and have an observation
// (BankStore::repeated). They join it unseen as long as no fact before them is shown: that one
// might change what the observation says. Texts that differ only in white space are the same.
FoldedBatch fold(std::span<const Memory> facts, std::span<const BankStore::Repeated> repeated,
                 std::span<const Memory> repeated_facts);

// Of observations of one scope: the nearest other one to `observation` with a cosine of at least
// `threshold`, if any; of equally near ones the first. None without embeddings, or if `threshold`
// is 1 or more.
std::optional<MemoryId> twin_of(const Memory& observation, std::span<const Memory> observations,
                                double threshold);

}  // namespace windrow::memory
