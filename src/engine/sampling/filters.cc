#include "engine/sampling/filters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace windrow::engine {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Where the nucleus ends is looked for among so many bands of logits.
constexpr size_t kBuckets = 4096;
constexpr auto kBucketsEnd = static_cast<float>(kBuckets);

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

bool Filters::lists(const llm::Sampling& sampling, size_t vocabulary_size) {
  return (sampling.top_k > 0 && static_cast<size_t>(sampling.top_k) < vocabulary_size) ||
         sampling.typical_p < 1.0F;
}

Cut Filters::cut(const LogitBlocks& blocks, const llm::Sampling& sampling) {
  Cut cut;
  if (sampling.top_p < 1.0F) cut = top_p_cut(blocks, sampling.top_p);
  // At least min_p times as likely as the most likely one (Nguyen et al., 2024).
  if (sampling.min_p > 0.0F) {
    const Cut other{.logit = blocks.max() + std::log(sampling.min_p)};
    if (more_likely(other.logit, other.token, cut.logit, cut.token)) cut = other;
  }
  return cut;
}

// The fewest most likely tokens that together reach top_p (Holtzman et al., 2020). The logits are
// sorted into narrow bands with the probability of each; the bands are added up from the top, and
// only the one where the sum is reached is looked at token by token.
Cut Filters::top_p_cut(const LogitBlocks& blocks, float top_p) {
  // What is less likely than this is never in the nucleus: it and all that is less likely would
  // have to make up 1 - top_p, and there are not enough tokens for that. The sum of all weights is
  // at least 1, that of the most likely token.
  const double rest = std::max(1.0 - static_cast<double>(top_p), 1e-9);
  const auto depth = static_cast<float>(std::log(static_cast<double>(blocks.logits().size())) -
                                        std::log(rest) + 1e-3);
  const float extent = std::max(blocks.max() - blocks.min(), 1e-6F);
  // Never so narrow that subtracting it changes nothing, and a little wider than what it is to
  // hold.
  const float range = 1.001F * std::max(std::min(depth, extent),
                                        blocks.max() - std::nextafter(blocks.max(), -kInfinity));
  const float floor = blocks.max() - range;
  const float scale = static_cast<float>(kBuckets) / range;
  const auto bucket_of = [scale, max = blocks.max()](float logit) {
    const float bucket = (max - logit) * scale;
    return static_cast<int32_t>(bucket < kBucketsEnd ? bucket : kBucketsEnd);
  };
  buckets_.assign(kBuckets, 0.0);
  BlockWeights weights;
  std::array<int32_t, kBlockSize> bucket_at;
  double sum = 0;
  for (size_t block = 0; block < blocks.count(); ++block) {
    sum += blocks.weigh(block, 1.0F, -kInfinity, weights);
    if (blocks.maxima()[block] < floor) continue;
    const std::span<const float> logits = blocks.block(block);
    // Two loops: the first has no branch and is vectorised.
    for (size_t i = 0; i < logits.size(); ++i)
      bucket_at[i] = bucket_of(logits[i]);
    for (size_t i = 0; i < logits.size(); ++i) {
      const auto at = static_cast<size_t>(bucket_at[i]);
      if (at < kBuckets) buckets_[at] += static_cast<double>(weights[i]);
    }
  }
  const double wanted = static_cast<double>(top_p) * sum;
  double reached = 0;
  size_t bucket = 0;
  while (bucket < kBuckets && reached + buckets_[bucket] < wanted)
    reached += buckets_[bucket++];
  if (bucket == kBuckets) return {.logit = floor};
  // A little wider than the band, whose borders are rounded; then exactly it.
  const float highest = blocks.max() - (static_cast<float>(bucket) - 0.5F) / scale;
  const float lowest = blocks.max() - (static_cast<float>(bucket) + 1.5F) / scale;
  candidates_.clear();
  for (size_t block = 0; block < blocks.count(); ++block) {
    if (blocks.maxima()[block] < lowest) continue;
    auto token = static_cast<Token>(blocks.first_of(block));
    for (const float logit : blocks.block(block)) {
      if (logit >= lowest && logit <= highest && bucket_of(logit) == static_cast<int32_t>(bucket))
        candidates_.push_back({.token = token, .logit = logit});
      ++token;
    }
  }
  if (candidates_.empty()) return {.logit = floor};
  set_weights(candidates_, blocks.max());
  const size_t kept = sort_until(candidates_, by_likelihood,
                                 [&](double so_far) { return reached + so_far >= wanted; });
  return {.logit = candidates_[kept - 1].logit, .token = candidates_[kept - 1].token};
}

std::vector<Candidate>& Filters::list(const LogitBlocks& blocks, const llm::Sampling& sampling) {
  const bool top_k =
      sampling.top_k > 0 && static_cast<size_t>(sampling.top_k) < blocks.logits().size();
  if (top_k) find_most_likely(blocks, static_cast<size_t>(sampling.top_k), candidates_);
  if (sampling.typical_p < 1.0F) {
    keep_typical(top_k ? spread_of(candidates_) : find_typical(blocks, sampling.typical_p),
                 sampling.typical_p);
  }
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

// Lists what typical_p may keep of the whole vocabulary.
Filters::Spread Filters::find_typical(const LogitBlocks& blocks, float typical_p) {
  BlockWeights weights;
  Spread spread{.logit_max = blocks.max()};
  double energy = 0;
  for (size_t block = 0; block < blocks.count(); ++block) {
    spread.sum += blocks.weigh(block, 1.0F, -kInfinity, weights);
    const std::span<const float> logits = blocks.block(block);
    for (size_t i = 0; i < logits.size(); ++i) {
      if (weights[i] > 0)
        energy += static_cast<double>(weights[i]) * static_cast<double>(blocks.max() - logits[i]);
    }
  }
  spread.entropy = std::log(spread.sum) + energy / spread.sum;
  // Nothing likely lies as far from the entropy as a token of more than twice its surprise, so what
  // is as far or farther is at most as likely as that token; and all of it together has to make up
  // 1 - typical_p.
  const double rest = std::max(1.0 - static_cast<double>(typical_p), 1e-9);
  const double probability_min =
      std::min(std::exp(-2 * spread.entropy), rest / static_cast<double>(blocks.logits().size()));
  const double limit = spread.logit_max + std::log(probability_min * spread.sum) - 1e-3;
  find_at_least(blocks, std::max(static_cast<float>(limit), std::numeric_limits<float>::lowest()),
                candidates_);
  return spread;
}

// The fewest tokens that reach typical_p, those first whose surprise is nearest to what is to be
// expected, the entropy (Meister et al., 2022).
void Filters::keep_typical(const Spread& spread, float typical_p) {
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
