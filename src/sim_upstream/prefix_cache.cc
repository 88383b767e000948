#include "sim_upstream/prefix_cache.h"

#include <ranges>
#include <vector>

#include "base/hash.h"

namespace windrow::sim_upstream {

int64_t PrefixCache::use(std::string_view prompt) {
  if (blocks_max_ == 0) return 0;
  constexpr size_t kBlockBytes = kBlockTokens * kTokenBytes;
  std::vector<uint64_t> blocks;
  uint64_t before = 0;
  for (size_t at = 0; at + kBlockBytes <= prompt.size(); at += kBlockBytes) {
    before = hash64(prompt.substr(at, kBlockBytes), before);
    blocks.push_back(before);
  }
  int64_t known = 0;
  for (const uint64_t block : blocks) {
    if (!places_.contains(block)) break;
    ++known;
  }
  // From the last to the first, so that the first ends up as the one used last.
  for (const uint64_t block : std::views::reverse(blocks)) {
    if (const auto place = places_.find(block); place != places_.end()) {
      order_.splice(order_.begin(), order_, place->second);
    } else {
      order_.push_front(block);
      places_.emplace(block, order_.begin());
    }
  }
  while (blocks_max_ < this->blocks()) {
    places_.erase(order_.back());
    order_.pop_back();
  }
  return known * kBlockTokens;
}

}  // namespace windrow::sim_upstream
