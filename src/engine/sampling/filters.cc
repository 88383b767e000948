#include "engine/sampling/filters.h"

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

bool by_likelihood(const Candidate& a, const Candidate& b) {
  return more_likely(a, b);
}

// Orders the candidates until `enough(sum of probabilities so far)`; returns how many that took.
// A nucleus rarely holds 100 of 150,000, so they are ordered piece by piece.
template <class Before, class Enough>
size_t sort_until(std::vector<Candidate>& candidates, Before before, Enough enough) {
  size_t sorted = 0;
  double sum = 0;
  for (size_t end = 256; sorted < candidates.size(); end *= 8) {
    end = std::min(end, candidates.size());
    const auto at = [&](size_t i) { return candidates.begin() + static_cast<ptrdiff_t>(i); };
    if (end < candidates.size())
      std::nth_element(at(sorted), at(end), at(candidates.size()), before);
    std::sort(at(sorted), at(end), before);
    for (; sorted < end; ++sorted) {
      sum += candidates[sorted].probability;
      if (enough(sum)) return sorted + 1;
    }
  }
  return sorted;
}

// Sets probabilities as of temperature 1, relative to `logit_max`; returns their sum.
double set_weights(std::vector<Candidate>& candidates, float logit_max) {
  double sum = 0;
  for (Candidate& candidate : candidates) {
    candidate.probability = std::exp(static_cast<double>(candidate.logit) - logit_max);
    sum += candidate.probability;
  }
  return sum;
}

}  // namespace

// Returns the weight of all.
double NearestFilter::deal(const LogitBlocks& blocks, const LogitRange& before,
                           const BandScale& scale, float floor) {
  sums_.assign((kBands + kBandsTooFar) * kTurns, 0.0);
  bands_.resize(blocks.count() * kBlockSize);
  BlockWeights weights;
  double sum = 0;
  for (size_t block = 0; block < blocks.count(); ++block) {
    sum += weigh_range(blocks, block, before, 1.0F, weights);
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

void NearestFilter::list_band(const LogitBlocks& blocks, const LogitRange& before, uint16_t band,
                              float floor) {
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

LogitRange NearestFilter::find(const LogitBlocks& blocks, const LogitRange& before,
                               const NearestShare& wanted) {
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
  LogitRange kept = before;
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

bool Filters::lists(const llm::Sampling& sampling, size_t vocabulary_size) {
  return sampling.top_k > 0 && static_cast<size_t>(sampling.top_k) < vocabulary_size;
}

LogitRange Filters::keep(const LogitBlocks& blocks, const llm::Sampling& sampling) {
  LogitRange kept = all_of(blocks);
  if (sampling.typical_p < 1.0F) kept = typical_of(blocks, sampling.typical_p);
  if (sampling.top_p < 1.0F) kept = top_p_of(blocks, kept, sampling.top_p);
  // At least min_p times as likely as the most likely one (Nguyen et al., 2024).
  if (sampling.min_p > 0.0F) {
    const float limit = kept.max + std::log(sampling.min_p);
    if (limit > kept.lowest.logit) kept.lowest = {.logit = limit};
  }
  return kept;
}

// The fewest most likely tokens that together reach top_p (Holtzman et al., 2020).
LogitRange Filters::top_p_of(const LogitBlocks& blocks, const LogitRange& before, float top_p) {
  // What is less likely than this is never in the nucleus: it and all that is less likely would
  // have to make up 1 - top_p, and there are not enough tokens for that. The sum of all weights is
  // at least 1, that of the most likely token.
  const double rest = std::max(1.0 - static_cast<double>(top_p), 1e-9);
  const auto depth = static_cast<float>(std::log(static_cast<double>(blocks.logits().size())) -
                                        std::log(rest) + 1e-3);
  return nearest_.find(blocks, before,
                       {.middle = before.max,
                        .range = std::min(depth, before.max - blocks.min()),
                        .share = static_cast<double>(top_p)});
}

std::vector<Candidate>& Filters::list(const LogitBlocks& blocks, const llm::Sampling& sampling) {
  find_most_likely(blocks, static_cast<size_t>(sampling.top_k), candidates_);
  if (sampling.typical_p < 1.0F) keep_typical(sampling.typical_p);
  if (sampling.top_p < 1.0F) {
    std::sort(candidates_.begin(), candidates_.end(), by_likelihood);
    keep_top_p(sampling.top_p);
  }
  if (sampling.min_p > 0.0F) keep_min_p(sampling.min_p);
  return candidates_;
}

Filters::Spread Filters::spread_of(const std::vector<Candidate>& candidates) {
  const double logit_max = candidates.front().logit;
  Spread spread;
  double energy = 0;  // of weights times how far they lie below the largest logit
  for (const Candidate& candidate : candidates) {
    const double below = logit_max - static_cast<double>(candidate.logit);
    const double weight = std::exp(-below);
    spread.sum += weight;
    if (weight > 0) energy += weight * below;
  }
  spread.logit_max = logit_max;
  spread.entropy = std::log(spread.sum) + energy / spread.sum;
  return spread;
}

Filters::Spread Filters::spread_of(const LogitBlocks& blocks) {
  BlockWeights weights;
  Spread spread{.logit_max = blocks.max()};
  double energy = 0;
  for (size_t block = 0; block < blocks.count(); ++block) {
    spread.sum += blocks.weigh(block, {.max = blocks.max()}, weights);
    energy += blocks.energy(block, blocks.max(), weights);
  }
  spread.entropy = std::log(spread.sum) + energy / spread.sum;
  return spread;
}

// The fewest tokens that reach typical_p, those first whose surprise is nearest to what is to be
// expected, the entropy (Meister et al., 2022). Of the whole vocabulary: the logit of that surprise
// is rounded to a float, and the sums it is made of are no more exact than that.
LogitRange Filters::typical_of(const LogitBlocks& blocks, float typical_p) {
  const Spread spread = spread_of(blocks);
  const double middle = spread.logit_max + std::log(spread.sum) - spread.entropy;
  // Nothing likely lies as far from the entropy as a token of more than twice its surprise, so what
  // is as far or farther is at most as likely as that token; and all of it together has to make up
  // 1 - typical_p.
  const double rest = std::max(1.0 - static_cast<double>(typical_p), 1e-9);
  const double probability_min =
      std::min(std::exp(-2 * spread.entropy), rest / static_cast<double>(blocks.logits().size()));
  const double lowest = std::max(spread.logit_max + std::log(probability_min * spread.sum) - 1e-3,
                                 static_cast<double>(blocks.min()));
  return nearest_.find(
      blocks, all_of(blocks),
      {.middle = static_cast<float>(middle),
       .range = static_cast<float>(std::max(middle - lowest, spread.logit_max - middle)),
       .share = static_cast<double>(typical_p),
       .beyond = true});
}

// The same of a list.
void Filters::keep_typical(float typical_p) {
  const Spread spread = spread_of(candidates_);
  const double log_sum = std::log(spread.sum);
  for (Candidate& candidate : candidates_) {
    candidate.probability =
        std::exp(static_cast<double>(candidate.logit) - spread.logit_max - log_sum);
  }
  const auto distance = [&](const Candidate& candidate) {
    return std::abs(log_sum - (static_cast<double>(candidate.logit) - spread.logit_max) -
                    spread.entropy);
  };
  const auto before = [&](const Candidate& a, const Candidate& b) {
    const double distance_a = distance(a);
    const double distance_b = distance(b);
    return distance_a != distance_b ? distance_a < distance_b : more_likely(a, b);
  };
  const auto wanted = static_cast<double>(typical_p);
  candidates_.resize(
      sort_until(candidates_, before, [&](double so_far) { return so_far > wanted; }));
}

void Filters::keep_top_p(float top_p) {
  const double wanted =
      static_cast<double>(top_p) * set_weights(candidates_, candidates_.front().logit);
  double reached = 0;
  size_t kept = 0;
  while (kept < candidates_.size() && reached < wanted)
    reached += candidates_[kept++].probability;
  candidates_.resize(std::max<size_t>(kept, 1));
}

void Filters::keep_min_p(float min_p) {
  const float logit_max =
      std::min_element(candidates_.begin(), candidates_.end(), by_likelihood)->logit;
  const float limit = logit_max + std::log(min_p);
  std::erase_if(candidates_, [&](const Candidate& candidate) { return candidate.logit < limit; });
}

}  // namespace windrow::engine
