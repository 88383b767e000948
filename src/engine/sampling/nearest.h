// Nearest: of a row's tokens those whose logits lie nearest to one, as few as have a share of the
// weight. With the largest logit in the middle this is top_p; with the logit of the expected
// surprise it is typical_p. Pure.
//
// Nothing is sorted: the logits are dealt to narrow bands of distance with the weight of each, the
// bands are added up from the middle, and only the one where the share is reached is looked at
// token by token.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/sampling/candidates.h"
#include "engine/sampling/kept.h"
#include "engine/sampling/logit_blocks.h"

namespace windrow::engine {

struct Wanted {
  float middle = 0;
  float range = 0;      // what is farther away is never wanted
  double share = 0;     // of the weight of all that was kept before
  bool beyond = false;  // the share has to be passed, not just reached
};

// Used by one thread at a time; keeps its memory from row to row.
class Nearest {
 public:
  // What stays of `before`: at least one token. Of equally near ones the more likely come first.
  Kept find(const LogitBlocks& blocks, const Kept& before, const Wanted& wanted);

 private:
  double deal(const LogitBlocks& blocks, const Kept& before, const BandScale& scale, float floor);
  void list_band(const LogitBlocks& blocks, const Kept& before, uint16_t band, float floor);

  std::vector<double> sums_;     // of each band
  std::vector<uint16_t> bands_;  // of each token; blocks that lie too far away have none
  std::vector<Candidate> candidates_;
};

}  // namespace windrow::engine
