// Which observations of a scope the model is shown for a batch of facts. Pure; any thread.
//
// An exact scope has few observations, so all of them are ranked for each fact: by cosine and by
// words in common, the two rankings interleaved, cut at a number of tokens; the best one is always
// shown. Observations that have no embedding yet (they were written a moment ago) come first,
// because they might be missed else. A fact without an embedding ranks all by words. Where
// `shown_max` cuts, the facts take turns, so each fact's best observations are kept, of both kinds.
// There is no reranker: one was seen to move the nearest twin far down.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "memory/bank/memory.h"

namespace windrow::memory {

using CountTokens = std::function<int64_t(std::string_view)>;

// An observation, and for which facts of the batch it was recalled.
struct ShownObservation {
  Memory observation;
  std::vector<MemoryId> recalled_for;
};

struct ScopeRecallOptions {
  int64_t tokens_max = 512;  // of the observations shown for one fact
  int32_t shown_max = 100;   // observations of the whole batch
};

// In the order of first appearance over the facts. `observations` are all of the scope.
std::vector<ShownObservation> recall_in_scope(std::span<const Memory> facts,
                                              std::span<const Memory> observations,
                                              const ScopeRecallOptions& options,
                                              const CountTokens& count_tokens);

}  // namespace windrow::memory
