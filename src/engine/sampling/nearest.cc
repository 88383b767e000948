#include "engine/sampling/nearest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace windrow::engine {
namespace {

constexpr float kNearestInfinity = std::numeric_limits<float>::infinity();

// So many sums of each band, used in turns: neighbours that fall into one band do not wait for each
// other.
constexpr size_t kTurns = 2;

// Bands are looked through in such pieces.
constexpr size_t kPiece = 64;
static_assert(kBlockSize % kPiece == 0);

// Floats as whole numbers in their order.
int64_t rank_of(float value) {
  const auto bits = std::bit_cast<int32_t>(value);
  return bits < 0 ? static_cast<int64_t>(std::numeric_limits<int32_t>::min()) - bits : bits;
}

float of_rank(int64_t rank) {
  const int64_t bits = rank < 0 ? std::numeric_limits<int32_t>::min() - rank : rank;
  return std::bit_cast<float>(static_cast<int32_t>(bits));
}

// The float farthest from the middle towards `end` whose band is less than `band`; the middle when
// there is none. By bisection, because a border computed from the scale is rounded.
float border(const BandScale& scale, size_t band, float end) {
  const auto within = [&](float logit) {
    return scale.band_of(logit) < static_cast<int32_t>(band);
  };
  if (within(end)) return end;
  int64_t inner = rank_of(scale.middle);
  int64_t outer = rank_of(end);
  while (std::abs(outer - inner) > 1) {
    const int64_t between = inner + (outer - inner) / 2;
    (within(of_rank(between)) ? inner : outer) = between;
  }
  return of_rank(inner);
}

float largest_up_to(const LogitBlocks& blocks, float limit) {
  float largest = -kNearestInfinity;
  for (size_t block = 0; block < blocks.count(); ++block) {
    const float max = blocks.maxima()[block];
    if (max <= limit) {
      largest = std::max(largest, max);
      continue;
    }
    for (const float logit : blocks.block(block))
      largest = logit <= limit ? std::max(largest, logit) : largest;
  }
  return largest;
}

}  // namespace

// Returns the weight of all.
double Nearest::deal(const LogitBlocks& blocks, const Kept& before, const BandScale& scale,
                     float floor) {
  sums_.assign((kBands + kBandsTooFar) * kTurns, 0.0);
  bands_.resize(blocks.count() * kBlockSize);
  BlockWeights weights;
  double sum = 0;
  for (size_t block = 0; block < blocks.count(); ++block) {
    sum += weigh_kept(blocks, block, before, 1.0F, weights);
    if (blocks.maxima()[block] < floor) continue;
    uint16_t* const bands = &bands_[block * kBlockSize];
    blocks.deal(block, scale, bands);
    for (size_t i = 0; i < kBlockSize; i += kTurns) {
      for (size_t turn = 0; turn < kTurns; ++turn)
        sums_[bands[i + turn] * kTurns + turn] += static_cast<double>(weights[i + turn]);
    }
  }
  return sum;
}

void Nearest::list_band(const LogitBlocks& blocks, const Kept& before, uint16_t band, float floor) {
  candidates_.clear();
  for (size_t block = 0; block < blocks.count(); ++block) {
    if (blocks.maxima()[block] < floor) continue;
    const std::span<const float> logits = blocks.block(block);
    const size_t first = blocks.first_of(block);
    for (size_t piece = 0; piece < logits.size(); piece += kPiece) {
      const uint16_t* const bands = &bands_[first + piece];
      uint16_t found = 0;
      for (size_t i = 0; i < kPiece; ++i)
        found |= static_cast<uint16_t>(bands[i] == band ? 1 : 0);
      if (found == 0) continue;
      const size_t end = std::min(kPiece, logits.size() - piece);
      for (size_t i = 0; i < end; ++i) {
        const auto token = static_cast<Token>(first + piece + i);
        const float logit = logits[piece + i];
        if (bands[i] == band && before.has(logit, token))
          candidates_.push_back({.token = token, .logit = logit});
      }
    }
  }
}

Kept Nearest::find(const LogitBlocks& blocks, const Kept& before, const Wanted& wanted) {
  // Never so narrow that adding it changes nothing, and a little wider than what it is to hold.
  const float smallest =
      std::nextafter(std::abs(wanted.middle), kNearestInfinity) - std::abs(wanted.middle);
  const float range = 1.001F * std::max({wanted.range, smallest, 1e-6F});
  const BandScale scale{.middle = wanted.middle,
                        .bands_per_logit = static_cast<float>(kBands) / range};
  const float floor = wanted.middle - range;
  const double weight = wanted.share * deal(blocks, before, scale, floor);
  const auto enough = [&](double sum) { return wanted.beyond ? sum > weight : sum >= weight; };
  double reached = 0;
  size_t band = 0;
  for (; band < kBands; ++band) {
    const double sum = reached + sums_[band * kTurns] + sums_[band * kTurns + 1];
    if (enough(sum)) break;
    reached = sum;
  }
  // Rounding may leave a share of nearly everything just out of reach: then all bands are kept.
  candidates_.clear();
  if (band < kBands) list_band(blocks, before, static_cast<uint16_t>(band), floor);
  const auto distance = [&](const Candidate& candidate) {
    return std::abs(static_cast<double>(candidate.logit) - static_cast<double>(wanted.middle));
  };
  std::sort(candidates_.begin(), candidates_.end(), [&](const Candidate& a, const Candidate& b) {
    const double distance_a = distance(a);
    const double distance_b = distance(b);
    return distance_a != distance_b ? distance_a < distance_b : more_likely(a, b);
  });
  const Candidate* last_above = nullptr;
  const Candidate* last_below = nullptr;
  for (const Candidate& candidate : candidates_) {
    (candidate.logit > wanted.middle ? last_above : last_below) = &candidate;
    reached += std::exp(static_cast<double>(candidate.logit) - static_cast<double>(before.max));
    if (enough(reached)) break;
  }
  Kept kept = before;
  if (last_below != nullptr) {
    kept.lowest = {.logit = last_below->logit, .token = last_below->token};
  } else {
    const float limit = border(scale, band, std::numeric_limits<float>::lowest());
    if (limit > kept.lowest.logit) kept.lowest = {.logit = limit};
  }
  if (before.max <= wanted.middle) return kept;
  if (last_above != nullptr) {
    kept.highest = {.logit = last_above->logit, .token = last_above->token};
    kept.max = last_above->logit;
  } else {
    const float limit = border(scale, band, std::numeric_limits<float>::max());
    if (limit >= kept.max) return kept;
    kept.highest = {.logit = limit};
    kept.max = largest_up_to(blocks, limit);
  }
  return kept;
}

}  // namespace windrow::engine
