// LogitBlocks: one row of logits, looked at once. The vocabulary of a model has 150,000 entries and
// a row is sampled for each token of each answer, so all that follows works on blocks: what a block
// holds at most says whether it has to be looked at again.
//
// The loops are written for the compiler to vectorise: fixed numbers of lanes, no branches. They
// add up in one order whatever the machine's vectors are, so a draw does not depend on the machine.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace windrow::engine {

inline constexpr size_t kBlockSize = 256;

using BlockWeights = std::array<float, kBlockSize>;

class LogitBlocks {
 public:
  // Looks at `logits`, which must stay as they are while they are asked about. False when they are
  // not usable: one is no number, or the largest is not finite. Weights that overflow their number
  // format give such logits; minus infinity for some tokens is no fault, they can just never come.
  bool scan(std::span<const float> logits);

  std::span<const float> logits() const { return logits_; }
  float max() const { return max_; }
  float min() const { return min_; }

  size_t count() const { return maxima_.size(); }
  size_t first_of(size_t block) const { return block * kBlockSize; }
  std::span<const float> maxima() const { return maxima_; }

  // The last block may be shorter.
  std::span<const float> block(size_t block) const;

  // exp((logit - max) / temperature) of the logits of a block, 0 for those below `limit`; returns
  // their sum. Behind a short block there are zeros. Within 2e-7 of the true values.
  double weigh(size_t block, float temperature, float limit, BlockWeights& weights) const;

 private:
  std::span<const float> logits_;
  std::vector<float> maxima_;  // of each block
  float max_ = 0;
  float min_ = 0;
};

}  // namespace windrow::engine
