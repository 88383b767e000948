#include "engine/sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/random.h"

namespace windrow::engine {
namespace {

constexpr float kRangeInfinity = std::numeric_limits<float>::infinity();

// How many logits are above `logit`.
int32_t count_above(const LogitBlocks& blocks, float logit) {
  std::ptrdiff_t count = 0;
  for (size_t block = 0; block < blocks.count(); ++block) {
    if (blocks.maxima()[block] > logit)
      count += std::ranges::count_if(blocks.block(block), [&](float one) { return one > logit; });
  }
  return static_cast<int32_t>(count);
}

}  // namespace

void find_at_least(const LogitBlocks& blocks, float limit, std::vector<Candidate>& found) {
  found.clear();
  for (size_t block = 0; block < blocks.count(); ++block) {
    if (blocks.maxima()[block] < limit) continue;
    auto token = static_cast<Token>(blocks.first_of(block));
    for (const float logit : blocks.block(block)) {
      if (logit >= limit) found.push_back({.token = token, .logit = logit});
      ++token;
    }
  }
}

void find_most_likely(const LogitBlocks& blocks, size_t count, std::vector<Candidate>& found) {
  found.clear();
  count = std::min(count, blocks.logits().size());
  if (count == 0) return;
  // The count-th largest of the blocks' maxima: at least `count` logits are not smaller, so no
  // smaller one can be among the most likely.
  float limit = -std::numeric_limits<float>::infinity();
  if (count <= blocks.count()) {
    std::vector<float> maxima(blocks.maxima().begin(), blocks.maxima().end());
    const auto nth = maxima.begin() + static_cast<ptrdiff_t>(count) - 1;
    std::nth_element(maxima.begin(), nth, maxima.end(), std::greater<>());
    limit = *nth;
  }
  find_at_least(blocks, limit, found);
  const auto end = found.begin() + static_cast<ptrdiff_t>(count);
  const auto by_likelihood = [](const Candidate& a, const Candidate& b) {
    return more_likely(a, b);
  };
  if (end != found.end()) std::nth_element(found.begin(), end, found.end(), by_likelihood);
  found.resize(count);
  std::sort(found.begin(), found.end(), by_likelihood);
}

double weigh_range(const LogitBlocks& blocks, size_t block, const LogitRange& range,
                   float temperature, BlockWeights& weights) {
  const auto first = static_cast<Token>(blocks.first_of(block));
  const std::span<const float> logits = blocks.block(block);
  const Token end = first + static_cast<Token>(logits.size());
  Weighing weighing{.max = range.max,
                    .temperature = temperature,
                    .lowest = range.lowest.logit,
                    .highest = range.highest.logit};
  // Behind the edge's token a logit equal to it is outside.
  if (range.lowest.token < first) weighing.lowest = std::nextafter(weighing.lowest, kRangeInfinity);
  if (range.highest.token < first)
    weighing.highest = std::nextafter(weighing.highest, -kRangeInfinity);
  const double sum = blocks.weigh(block, weighing, weights);
  const auto inside = [&](const Edge& edge) { return edge.token >= first && edge.token < end - 1; };
  if (!inside(range.lowest) && !inside(range.highest)) return sum;
  // Added up again, not subtracted: a rest of rounding could be drawn.
  double exact = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!range.has(logits[i], first + static_cast<Token>(i))) weights[i] = 0;
    exact += static_cast<double>(weights[i]);
  }
  return exact;
}

double unit_draw(uint64_t seed, int32_t index) {
  Random mixed(seed ^ (static_cast<uint64_t>(index) * uint64_t{0xD1B54A32D192ED03}));
  mixed.next();
  return mixed.unit();
}

Token draw_from(const LogitBlocks& blocks, const LogitRange& kept, float temperature, double unit,
                std::vector<double>& sums) {
  BlockWeights weights;
  sums.resize(blocks.count());
  double total = 0;
  for (size_t block = 0; block < blocks.count(); ++block) {
    sums[block] = blocks.maxima()[block] < kept.lowest.logit
                      ? 0.0
                      : weigh_range(blocks, block, kept, temperature, weights);
    total += sums[block];
  }
  double left = unit * total;
  size_t chosen = 0;
  for (size_t block = 0; block < blocks.count(); ++block) {
    if (sums[block] <= 0) continue;
    chosen = block;  // the last one with weight, should rounding take us past the end
    if (left < sums[block]) break;
    left -= sums[block];
  }
  weigh_range(blocks, chosen, kept, temperature, weights);
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    last = i;
    left -= static_cast<double>(weights[i]);
    if (left < 0) break;
  }
  return static_cast<Token>(blocks.first_of(chosen) + last);
}

Token draw_from(std::vector<Candidate>& candidates, double unit) {
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
  double left = unit;
  Token last = -1;
  for (const Candidate& candidate : candidates) {
    if (candidate.probability <= 0) continue;
    last = candidate.token;
    left -= candidate.probability;
    if (left < 0) break;
  }
  return last;
}

void set_probabilities(std::vector<Candidate>& candidates, float temperature) {
  const float logit_max =
      std::max_element(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
        return a.logit < b.logit;
      })->logit;
  double sum = 0;
  for (Candidate& candidate : candidates) {
    candidate.probability = std::exp((static_cast<double>(candidate.logit) - logit_max) /
                                     static_cast<double>(temperature));
    sum += candidate.probability;
  }
  for (Candidate& candidate : candidates)
    candidate.probability /= sum;
}

TokenScores score_token(const LogitBlocks& blocks, Token token, int32_t top_count) {
  BlockWeights weights;
  double sum = 0;
  for (size_t block = 0; block < blocks.count(); ++block)
    sum += blocks.weigh(block, {.max = blocks.max()}, weights);
  const double log_sum = std::log(sum) + blocks.max();
  const float logit = blocks.logits()[static_cast<size_t>(token)];
  TokenScores scores{.logprob = static_cast<double>(logit) - log_sum,
                     .rank = 1 + count_above(blocks, logit),
                     .top = {}};
  std::vector<Candidate> top;
  if (top_count > 0) find_most_likely(blocks, static_cast<size_t>(top_count), top);
  for (const Candidate& one : top)
    scores.top.push_back({one.token, static_cast<double>(one.logit) - log_sum});
  return scores;
}

}  // namespace windrow::engine
