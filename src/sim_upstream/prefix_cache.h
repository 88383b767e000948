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
#include <string_view>

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

}  // namespace windrow::sim_upstream
