// Kept: what filters leave of a vocabulary when they make no list: all logits between two. Pure.
#pragma once

#include <limits>

#include "engine/host/types.h"
#include "engine/sampling/logit_blocks.h"

namespace windrow::engine {

// The last one that is kept: of equal logits those up to this token.
struct Edge {
  float logit = 0;
  Token token = std::numeric_limits<Token>::max();
};

struct Kept {
  float max = 0;  // the largest logit that is kept
  Edge highest{.logit = std::numeric_limits<float>::infinity()};
  Edge lowest{.logit = -std::numeric_limits<float>::infinity()};

  bool has(float logit, Token token) const {
    return logit <= highest.logit && logit >= lowest.logit &&
           (logit != highest.logit || token <= highest.token) &&
           (logit != lowest.logit || token <= lowest.token);
  }
};

inline Kept all_of(const LogitBlocks& blocks) {
  return {.max = blocks.max()};
}

// LogitBlocks::weigh of a block, 0 for what is not kept. The sum is exactly 0 where nothing is.
double weigh_kept(const LogitBlocks& blocks, size_t block, const Kept& kept, float temperature,
                  BlockWeights& weights);

}  // namespace windrow::engine
