#include "memory/recall/fusion.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace windrow::memory {

std::vector<Hit> fused(std::span<const Arm> arms) {
  constexpr double kRankOffset = 60;
  std::vector<Hit> all;
  std::map<MemoryId, size_t> places;
  for (const Arm& arm : arms) {
    for (size_t rank = 0; rank < arm.hits.size(); ++rank) {
      const auto [found, is_new] = places.try_emplace(arm.hits[rank].id, all.size());
      if (is_new) all.push_back({.id = arm.hits[rank].id});
      all[found->second].score += 1.0 / (kRankOffset + static_cast<double>(rank + 1));
    }
  }
  const double scale = (kRankOffset + 1) / static_cast<double>(std::max<size_t>(arms.size(), 1));
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&all](size_t one, size_t other) {
    if (all[one].score != all[other].score) return all[one].score > all[other].score;
    return one < other;
  });
  std::vector<Hit> sorted;
  sorted.reserve(all.size());
  for (const size_t place : order)
    sorted.push_back({.id = std::move(all[place].id), .score = all[place].score * scale});
  return sorted;
}

}  // namespace windrow::memory
