#include "engine/sampling/filters.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace windrow::engine {
namespace {

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
  return sampling.top_k > 0 && static_cast<size_t>(sampling.top_k) < vocabulary_size;
}

Kept Filters::keep(const LogitBlocks& blocks, const llm::Sampling& sampling) {
  Kept kept = all_of(blocks);
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
Kept Filters::top_p_of(const LogitBlocks& blocks, const Kept& before, float top_p) {
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
Kept Filters::typical_of(const LogitBlocks& blocks, float typical_p) {
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
