#include "engine/sampling/kept.h"

#include <cmath>

namespace windrow::engine {
namespace {

constexpr float kKeptInfinity = std::numeric_limits<float>::infinity();

}  // namespace

double weigh_kept(const LogitBlocks& blocks, size_t block, const Kept& kept, float temperature,
                  BlockWeights& weights) {
  const auto first = static_cast<Token>(blocks.first_of(block));
  const std::span<const float> logits = blocks.block(block);
  const Token end = first + static_cast<Token>(logits.size());
  Weighing weighing{.max = kept.max,
                    .temperature = temperature,
                    .lowest = kept.lowest.logit,
                    .highest = kept.highest.logit};
  // Behind the edge's token its logit is not kept either.
  if (kept.lowest.token < first) weighing.lowest = std::nextafter(weighing.lowest, kKeptInfinity);
  if (kept.highest.token < first)
    weighing.highest = std::nextafter(weighing.highest, -kKeptInfinity);
  const double sum = blocks.weigh(block, weighing, weights);
  const auto inside = [&](const Edge& edge) { return edge.token >= first && edge.token < end - 1; };
  if (!inside(kept.lowest) && !inside(kept.highest)) return sum;
  // Added up again rather than taken off: what rounding leaves of nothing could be drawn.
  double exact = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!kept.has(logits[i], first + static_cast<Token>(i))) weights[i] = 0;
    exact += static_cast<double>(weights[i]);
  }
  return exact;
}

}  // namespace windrow::engine
