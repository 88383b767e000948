#include "engine/sampling/candidates.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace windrow::engine {

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
  // The count-th largest of the blocks' maxima: so many logits are at least that, so no smaller one
  // is wanted.
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

}  // namespace windrow::engine
