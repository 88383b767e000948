// Filters: which tokens stay in the distribution. llama.cpp's, in its order: top_k, typical_p,
// top_p, min_p; temperature comes after them. Pure.
//
// Without top_k and typical_p what stays is everything down to some logit, and that logit is found
// without a list: it may be half of the vocabulary. The other two leave a list.
#pragma once

#include <limits>
#include <vector>

#include "engine/sampling/candidates.h"
#include "engine/sampling/logit_blocks.h"
#include "engine/types.h"
#include "llm/request.h"

namespace windrow::engine {

// Everything from the most likely token down to this one, in the order of more_likely.
struct Cut {
  float logit = -std::numeric_limits<float>::infinity();
  Token token = std::numeric_limits<Token>::max();
};

// Used by one thread at a time; keeps its memory from row to row.
class Filters {
 public:
  // Whether the request leaves a list.
  static bool lists(const llm::Sampling& sampling, size_t vocabulary_size);

  // What stays of a request that leaves none: top_p and min_p.
  Cut cut(const LogitBlocks& blocks, const llm::Sampling& sampling);

  // What stays of a request that does, in any order; probabilities are not set. Valid until the
  // next call.
  std::vector<Candidate>& list(const LogitBlocks& blocks, const llm::Sampling& sampling);

 private:
  struct Spread {
    double logit_max = 0;
    double sum = 0;  // of exp(logit - logit_max)
    double entropy = 0;
  };

  Cut top_p_cut(const LogitBlocks& blocks, float top_p);
  static Spread spread_of(const std::vector<Candidate>& candidates);
  Spread find_typical(const LogitBlocks& blocks, float typical_p);
  void keep_typical(const Spread& spread, float typical_p);
  void keep_top_p(float top_p);
  void keep_min_p(float min_p);

  std::vector<Candidate> candidates_;
  std::vector<double> buckets_;
};

}  // namespace windrow::engine
