// The cells of a model's KV memory: which are taken (CellMap), and the log-probabilities kept
// beside them (KeptScores). Pure; used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "engine/host/types.h"

namespace windrow::engine {

// Which cells are taken. It mirrors how libllama assigns cells (pinned by tests/facts): the lowest
// free ones, in the order of a step's tokens. A step reads all cells up to the highest taken one,
// free or not: end() is what a step costs, used() what it could cost after compaction.
class CellMap {
 public:
  // Takes the lowest free cell. The map has no capacity: the caller keeps to the model's.
  int32_t take();

  // `cell` must be taken.
  void give_back(int32_t cell);

  int32_t used() const { return used_; }

  // One past the highest taken cell.
  int32_t end() const { return static_cast<int32_t>(taken_.size()); }

 private:
  std::vector<bool> taken_;  // its last element is true

  // All free cells below end(), and possibly outdated ones above it.
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> free_;
  int32_t used_ = 0;
};

struct KeptAlternative {
  Token token = 0;
  float logprob = 0;

  friend bool operator==(const KeptAlternative&, const KeptAlternative&) = default;
};

// The log-probability of the one token that followed a cell's token when its logits were computed.
// Stored as reported, in 32-bit floats, so a score that is returned again is bit-identical.
struct KeptScore {
  Token next = 0;
  float logprob = 0;
  int32_t rank = 0;                  // llm::ScoredToken::rank
  int32_t top_asked = 0;             // alternatives requested; a small vocabulary may have fewer
  std::vector<KeptAlternative> top;  // the most likely first

  friend bool operator==(const KeptScore&, const KeptScore&) = default;
};

// The scores beside one run of tokens (a node of PrefixTree), by index into the run. A later row
// with the same prefix takes them over instead of computing logits again. A run without scores
// allocates nothing; a score takes 40 bytes and 8 for each alternative, little beside its cell.
class KeptScores {
 public:
  // Keeps the first score at an index; replaces it only by one of the same token with more
  // alternatives.
  void keep(size_t index, KeptScore score);

  // Null when there is none.
  const KeptScore* at(size_t index) const;

  // Whether there is a score of `next` with at least `top` alternatives.
  bool has(size_t index, Token next, int32_t top) const;

  // Removes and returns the scores from `index` on: the run is split there.
  KeptScores split(size_t index);

  // Appends `behind`, the scores of a run that is joined to this one of `size` tokens.
  void join(size_t size, KeptScores behind);

 private:
  std::vector<KeptScore> scores_;  // of the run's first tokens; `next` is -1 where there is none
};

}  // namespace windrow::engine
