// PrefixCache: which prefixes of prompts an upstream has computed already. Pure; one thread at a
// time.
//
// After vLLM's automatic prefix caching: prompts are cut into blocks, a block is identified by its
// text and all text before it, and the least recently used blocks are evicted. As there, blocks
// enter when their row starts; of one prompt the last block is evicted first.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <list>
#include <ranges>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace windrow::sim_upstream {

constexpr int64_t kBlockTokens = 16;
constexpr int64_t kTokenBytes = 4;  // a token stands for four bytes of text

class PrefixCache {
 public:
  explicit PrefixCache(int64_t blocks_max) : blocks_max_(blocks_max) {}

  // Tokens of the longest cached prefix of `prompt`; afterwards all its whole blocks are cached.
  int64_t use(std::string_view prompt);

  int64_t blocks() const { return static_cast<int64_t>(places_.size()); }

 private:
  using Order = std::list<uint64_t>;  // most recently used first

  const int64_t blocks_max_;
  Order order_;
  boost::unordered_flat_map<uint64_t, Order::iterator> places_;
};

inline int64_t PrefixCache::use(std::string_view prompt) {
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
