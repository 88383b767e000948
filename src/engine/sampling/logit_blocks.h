// LogitBlocks: one row of logits, read once. The vocabulary of a model has 150,000 entries and a
// row is sampled for each token of each answer, so all further work is done by blocks: the maximum
// of a block tells whether it has to be read again.
//
// The loops are written to be vectorised: fixed numbers of lanes, no branches. They add up in one
// order whatever the machine's vectors are and never fuse a product with a sum (CMakeLists.txt), so
// a draw does not depend on the machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace windrow::engine {

inline constexpr size_t kBlockSize = 256;

using BlockWeights = std::array<float, kBlockSize>;

// Which logits of a block count, and how.
struct Weighing {
  float max = 0;  // the largest that counts
  float temperature = 1;
  float lowest = -std::numeric_limits<float>::infinity();
  float highest = std::numeric_limits<float>::infinity();
};

// Logits are dealt to bands by their distance from `middle`, on both sides alike. Logits that are
// too far away go to the bands from kBands on in turns: in a steep row most of them are, and
// additions to a single sum would wait for each other.
inline constexpr size_t kBands = 2048;
inline constexpr size_t kBandsTooFar = 16;

struct BandScale {
  float middle = 0;
  float bands_per_logit = 1;

  // kBands when it is too far away.
  int32_t band_of(float logit) const {
    const float distance = logit > middle ? logit - middle : middle - logit;
    const float band = distance * bands_per_logit;
    constexpr auto kEnd = static_cast<float>(kBands);
    return static_cast<int32_t>(band < kEnd ? band : kEnd);
  }
};

class LogitBlocks {
 public:
  // Reads `logits`, which must stay unchanged while this is used. False when they are not usable:
  // one is not a number, or the largest is not finite. Weights that overflow their number format
  // give such logits; minus infinity for some tokens is no fault, they can just never come.
  bool scan(std::span<const float> logits);

  std::span<const float> logits() const { return logits_; }
  float max() const { return max_; }
  float min() const { return min_; }

  size_t count() const { return maxima_.size(); }
  size_t first_of(size_t block) const { return block * kBlockSize; }
  std::span<const float> maxima() const { return maxima_; }

  // The last block may be shorter.
  std::span<const float> block(size_t block) const;

  // Sets `weights` to exp((logit - max) / temperature) of the logits of a block, and to 0 for those
  // that do not count and behind a short block; returns their sum. Within 2e-7 of the true values.
  double weigh(size_t block, const Weighing& weighing, BlockWeights& weights) const;

  // The sum of weights times how far their logits lie below `max`.
  double energy(size_t block, float max, const BlockWeights& weights) const;

  // The band of each of the kBlockSize logits; behind a short block it is one for too far away.
  void deal(size_t block, const BandScale& scale, uint16_t* bands) const;

 private:
  std::span<const float> logits_;
  std::vector<float> maxima_;  // of each block
  float max_ = 0;
  float min_ = 0;
};

}  // namespace windrow::engine
