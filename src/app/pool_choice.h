// What `windrow serve` was told of models that come and go: which are loaded at the start, which
// stay, and in how much memory. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/settings.h"
#include "base/result.h"
#include "engine/manager/model_cache_policy.h"

namespace windrow::app {

struct PoolChoice {
  uint64_t memory_bytes = 0;  // --memory; 0: nothing was said
  std::vector<bool> kept;     // of each model
  std::vector<bool> first;    // --load; empty: nothing was said
};

// `names`: of the models, in the order they were given. kInvalid for a name that is no model's, and
// for a size that is none.
Result<PoolChoice> pool_choice(const Settings& settings, std::span<const std::string> names);

// Which to load at the start, in the order given. kInvalid when what was named does not fit
// together.
Result<std::vector<engine::PooledModelId>> models_to_load_first(
    const PoolChoice& choice, std::span<const engine::PooledModelFacts> models,
    std::span<const std::string> names, uint64_t memory_bytes);

// By what memory the contexts of the index-th model are chosen, where --ctx does not say how large
// they are: such that all models fit together where that leaves room for contexts, else such that
// others fit beside it. A context takes less than half of it. `least_bytes`: what each takes with
// the smallest contexts.
uint64_t context_memory(std::span<const uint64_t> least_bytes, size_t index, uint64_t memory_bytes);

}  // namespace windrow::app
