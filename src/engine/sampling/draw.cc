#include "engine/sampling/draw.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace windrow::engine {

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

}  // namespace windrow::engine
