// Random: a small seeded generator (splitmix64, Steele et al. 2014). The same seed gives the same
// numbers on every machine, which <random>'s distributions do not promise.
#pragma once

#include <cstdint>

namespace windrow {

__extension__ using uint128 = unsigned __int128;

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  // In [0, bound); bound > 0. The bias is below bound / 2^64.
  uint64_t below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<uint128>(next()) * bound) >> 64);
  }

  // In [first, last], both included.
  int64_t between(int64_t first, int64_t last) {
    return first + static_cast<int64_t>(below(static_cast<uint64_t>(last - first) + 1));
  }

  // In [0, 1), 53 bits.
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  bool chance(double probability) { return unit() < probability; }

 private:
  uint64_t state_;
};

}  // namespace windrow
