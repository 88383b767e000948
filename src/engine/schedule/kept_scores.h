// KeptScores: log-probabilities that lie beside the cells of one run of tokens (prefix_tree.h), so
// that a later row that begins with these tokens is given them instead of having the model compute
// logits again. Pure.
//
// A cell's score is of the one token that followed it when its logits were computed. Numbers are
// kept as they are reported, as 32-bit floats, so a score that is handed out again is the same bit
// for bit.
//
// Memory: a run without scores holds none. A score takes 40 bytes and 8 for each alternative, the
// cell beside it at least some thousand in the model's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/host/types.h"

namespace windrow::engine {

struct KeptAlternative {
  Token token = 0;
  float logprob = 0;

  friend bool operator==(const KeptAlternative&, const KeptAlternative&) = default;
};

struct KeptScore {
  Token next = 0;  // the token behind the cell's own
  float logprob = 0;
  int32_t top_asked = 0;  // so many alternatives were asked for; a vocabulary may be smaller
  std::vector<KeptAlternative> top;  // the most likely first

  friend bool operator==(const KeptScore&, const KeptScore&) = default;
};

// Used by one thread at a time. Places are those of the run's tokens, from 0.
class KeptScores {
 public:
  // The first score of a place stays, unless the new one is of the same token and has more
  // alternatives.
  void keep(size_t place, KeptScore score);

  // Null: there is none.
  const KeptScore* at(size_t place) const;

  // At this place lies the score of `next` with at least `top` alternatives.
  bool has(size_t place, Token next, int32_t top) const;

  // The run is cut in two: what lies from `place` on is returned.
  KeptScores split(size_t place);

  // The run, of `places` tokens, goes on with another.
  void join(size_t places, KeptScores behind);

 private:
  std::vector<KeptScore> scores_;  // of the first so many places; `next` is -1 where there is none
};

}  // namespace windrow::engine
