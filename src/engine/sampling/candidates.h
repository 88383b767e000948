// Tokens picked out of a row of logits: as a list (Candidate), as all tokens between two logits
// (LogitRange), or with their log-probabilities (TokenScore); and draws of one of them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/host/types.h"
#include "engine/sampling/logit_blocks.h"

namespace windrow::engine {

struct Candidate {
  Token token = 0;
  float logit = 0;
  double probability = 0;
};

// The order of all filters: the largest logit first; of equal logits the lowest token first.
inline bool more_likely(float logit_a, Token a, float logit_b, Token b) {
  return logit_a != logit_b ? logit_a > logit_b : a < b;
}
inline bool more_likely(const Candidate& a, const Candidate& b) {
  return more_likely(a.logit, a.token, b.logit, b.token);
}

// Sets `found` to the `count` most likely tokens, in order, or to all if there are fewer. By
// selection: only tokens that may belong to them are sorted. Probabilities are not set.
void find_most_likely(const LogitBlocks& blocks, size_t count, std::vector<Candidate>& found);

// Sets `found` to the tokens whose logit is at least `limit`, in the order of tokens.
void find_at_least(const LogitBlocks& blocks, float limit, std::vector<Candidate>& found);

// An end of a range: of the logits equal to it those up to `token` belong to the range.
struct Edge {
  float logit = 0;
  Token token = std::numeric_limits<Token>::max();
};

// All tokens whose logits lie between two edges.
struct LogitRange {
  float max = 0;  // the largest logit in the range
  Edge highest{.logit = std::numeric_limits<float>::infinity()};
  Edge lowest{.logit = -std::numeric_limits<float>::infinity()};

  bool has(float logit, Token token) const {
    return logit <= highest.logit && logit >= lowest.logit &&
           (logit != highest.logit || token <= highest.token) &&
           (logit != lowest.logit || token <= lowest.token);
  }
};

inline LogitRange all_of(const LogitBlocks& blocks) {
  return {.max = blocks.max()};
}

// LogitBlocks::weigh of a block, with 0 for tokens outside the range. The sum is exactly 0 where
// none of them is in it.
double weigh_range(const LogitBlocks& blocks, size_t block, const LogitRange& range,
                   float temperature, BlockWeights& weights);

// A number in [0, 1) for a draw: that of the n-th token of an answer.
//
// It is hash(seed, n), not the next number of a generator: so it depends on the row alone, whatever
// runs beside it and however often it was preempted. A distribution is walked in the order of
// tokens: where two logits are nearly equal and arithmetic swaps them, the draw stays the same.
double unit_draw(uint64_t seed, int32_t index);

// From the range of a whole vocabulary that the filters keep. `sums` is working memory.
Token draw_from(const LogitBlocks& blocks, const LogitRange& kept, float temperature, double unit,
                std::vector<double>& sums);

// From a list with probabilities, not empty. Sorts it by token.
Token draw_from(std::vector<Candidate>& candidates, double unit);

// Sets the probabilities of a list, not empty, at a temperature.
void set_probabilities(std::vector<Candidate>& candidates, float temperature);

struct TokenScore {
  Token token = 0;
  double logprob = 0;
};

struct TokenScores {
  double logprob = 0;           // of the given token
  int32_t rank = 1;             // 1 + how many tokens are more likely than it
  std::vector<TokenScore> top;  // the most likely, in order
};

// The log softmax of the logits as the model gave them, before biases, penalties, filters and
// temperature: of one token and of the `top_count` most likely ones.
TokenScores score_token(const LogitBlocks& blocks, Token token, int32_t top_count);

}  // namespace windrow::engine
