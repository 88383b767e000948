// Filters: which tokens stay in the distribution. llama.cpp's filters in its order: top_k,
// typical_p, top_p, min_p; temperature comes after them. Pure.
//
// top_k leaves a list. Without it the tokens that stay lie between two logits, which are found
// without a list: it could be half of the vocabulary. Nothing is sorted for that: the logits are
// dealt to narrow bands of distance with the weight of each, the bands are added up from the
// middle, and only the band where the share is reached is looked at token by token.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/sampling/candidates.h"
#include "engine/sampling/logit_blocks.h"
#include "llm/request.h"

namespace windrow::engine {

// Which logits to keep: those nearest to `middle`, as few as have the share of the weight.
struct NearestShare {
  float middle = 0;
  float range = 0;      // logits farther away are never kept
  double share = 0;     // of the weight of the range before
  bool beyond = false;  // the share has to be exceeded, not just reached
};

// With the largest logit in the middle this is top_p; with the logit of the expected surprise it is
// typical_p. Used by one thread at a time; keeps its memory from row to row.
class NearestFilter {
 public:
  // The part of `before` that stays: at least one token. Of equally near ones the more likely stay.
  LogitRange find(const LogitBlocks& blocks, const LogitRange& before, const NearestShare& wanted);

 private:
  double deal(const LogitBlocks& blocks, const LogitRange& before, const BandScale& scale,
              float floor);
  void list_band(const LogitBlocks& blocks, const LogitRange& before, uint16_t band, float floor);

  std::vector<double> sums_;     // of each band
  std::vector<uint16_t> bands_;  // of each token, but for blocks that lie too far away
  std::vector<Candidate> candidates_;
};

// Used by one thread at a time; keeps its memory from row to row.
class Filters {
 public:
  // Whether the request has a filter that leaves a list.
  static bool lists(const llm::Sampling& sampling, size_t vocabulary_size);

  // The range that stays, of a request for which lists() is false.
  LogitRange keep(const LogitBlocks& blocks, const llm::Sampling& sampling);

  // The tokens that stay, of a request for which lists() is true: in any order, without
  // probabilities. Valid until the next call.
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
  LogitRange typical_of(const LogitBlocks& blocks, float typical_p);
  LogitRange top_p_of(const LogitBlocks& blocks, const LogitRange& before, float top_p);
  void keep_typical(float typical_p);
  void keep_top_p(float top_p);
  void keep_min_p(float min_p);

  NearestFilter nearest_;
  std::vector<Candidate> candidates_;
};

}  // namespace windrow::engine
