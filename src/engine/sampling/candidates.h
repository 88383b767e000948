// Candidates: a few tokens of a vocabulary, picked out of a row of logits.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/host/types.h"
#include "engine/sampling/logit_blocks.h"

namespace windrow::engine {

struct Candidate {
  Token token = 0;
  float logit = 0;
  double probability = 0;
};

// The order all filters mean: the largest logit first, the lowest token first of equal ones.
inline bool more_likely(float logit_a, Token a, float logit_b, Token b) {
  return logit_a != logit_b ? logit_a > logit_b : a < b;
}
inline bool more_likely(const Candidate& a, const Candidate& b) {
  return more_likely(a.logit, a.token, b.logit, b.token);
}

// The `count` most likely tokens, in order; all when there are no more. By selection: no more of
// the vocabulary is sorted than may belong to them. Probabilities are not set.
void find_most_likely(const LogitBlocks& blocks, size_t count, std::vector<Candidate>& found);

// Those whose logit is at least `limit`, in the order of tokens.
void find_at_least(const LogitBlocks& blocks, float limit, std::vector<Candidate>& found);

}  // namespace windrow::engine
