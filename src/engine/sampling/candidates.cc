#include "engine/sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace windrow::engine {
namespace {

constexpr float kRangeInfinity = std::numeric_limits<float>::infinity();

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

TokenScores score_token(const LogitBlocks& blocks, Token token, int32_t top_count) {
  BlockWeights weights;
  double sum = 0;
  for (size_t block = 0; block < blocks.count(); ++block)
    sum += blocks.weigh(block, {.max = blocks.max()}, weights);
  const double log_sum = std::log(sum) + blocks.max();
  TokenScores scores{.logprob = static_cast<double>(blocks.logits()[static_cast<size_t>(token)]) -
                                log_sum};
  std::vector<Candidate> top;
  if (top_count > 0) find_most_likely(blocks, static_cast<size_t>(top_count), top);
  for (const Candidate& one : top)
    scores.top.push_back({one.token, static_cast<double>(one.logit) - log_sum});
  return scores;
}

}  // namespace windrow::engine
