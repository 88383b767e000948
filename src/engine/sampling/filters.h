// Filters: which tokens stay in the distribution. llama.cpp's, in its order: top_k, typical_p,
// top_p, min_p; temperature comes after them. Pure.
//
// Without top_k what stays lies between two logits, and those are found without a list: it may be
// half of the vocabulary. top_k leaves a list.
#pragma once

#include <vector>

#include "engine/sampling/candidates.h"
#include "engine/sampling/kept.h"
#include "engine/sampling/logit_blocks.h"
#include "engine/sampling/nearest.h"
#include "llm/request.h"

namespace windrow::engine {

// Used by one thread at a time; keeps its memory from row to row.
class Filters {
 public:
  // Whether the request leaves a list.
  static bool lists(const llm::Sampling& sampling, size_t vocabulary_size);

  // What stays of a request that leaves none.
  Kept keep(const LogitBlocks& blocks, const llm::Sampling& sampling);

  // What stays of a request that does, in any order; probabilities are not set. Valid until the
  // next call.
  std::vector<Candidate>& list(const LogitBlocks& blocks, const llm::Sampling& sampling);

 private:
  // The logits of a row or list as a distribution.
  struct Spread {
    double logit_max = 0;
    double sum = 0;  // of exp(logit - logit_max)
    double entropy = 0;
  };

  static Spread spread_of(const std::vector<Candidate>& candidates);
  static Spread spread_of(const LogitBlocks& blocks);
  Kept typical_of(const LogitBlocks& blocks, float typical_p);
  Kept top_p_of(const LogitBlocks& blocks, const Kept& before, float top_p);
  void keep_typical(float typical_p);
  void keep_top_p(float top_p);
  void keep_min_p(float min_p);

  Nearest nearest_;
  std::vector<Candidate> candidates_;
};

}  // namespace windrow::engine
