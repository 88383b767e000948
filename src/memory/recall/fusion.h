// Fusion: several rankings of memories become one. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "memory/bank/bank_store.h"

namespace windrow::memory {

// A ranking that one way of searching found, best first.
struct Arm {
  std::string name;  // "semantic", "keyword"
  std::vector<Hit> hits;
};

// Reciprocal rank fusion (Cormack et al., 2009) with k = 60: the score of a memory is the sum over
// arms of 1 / (60 + rank), scaled so that the first of every arm has 1. Best first; of equal scores
// the one that an earlier arm ranks higher.
std::vector<Hit> fused(std::span<const Arm> arms);

}  // namespace windrow::memory
