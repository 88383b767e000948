#include "engine/sampling/probabilities.h"

#include <cmath>

#include "engine/sampling/candidates.h"

namespace windrow::engine {

TokenScores score_token(const LogitBlocks& blocks, Token token, int32_t top_count) {
  BlockWeights weights;
  double sum = 0;
  for (size_t block = 0; block < blocks.count(); ++block)
    sum += blocks.weigh(block, {.max = blocks.max()}, weights);
  const double log_sum = std::log(sum) + blocks.max();
  TokenScores scores{.logprob = static_cast<double>(blocks.logits()[static_cast<size_t>(token)]) -
                                log_sum};
  std::vector<Candidate> top;
  if (top_count > 0) find_most_likely(blocks, static_cast<size_t>(top_count), top);
  for (const Candidate& one : top)
    scores.top.push_back({one.token, static_cast<double>(one.logit) - log_sum});
  return scores;
}

}  // namespace windrow::engine
