// Probabilities: log softmax of the logits as the model gave them: what the model thinks, before
// biases, penalties, filters and temperature. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/host/types.h"
#include "engine/sampling/logit_blocks.h"

namespace windrow::engine {

struct TokenScore {
  Token token = 0;
  double logprob = 0;
};

struct TokenScores {
  double logprob = 0;           // of the token asked about
  std::vector<TokenScore> top;  // the most likely, in order
};

TokenScores score_token(const LogitBlocks& blocks, Token token, int32_t top_count);

}  // namespace windrow::engine
