// Seeds that derive from the path of forks, so that what a branch samples depends on where it is in
// its program and not on when it runs. Pure; any thread.
#pragma once

#include <cstdint>

namespace windrow::program {

// A source of seeds: those it gives depend on the first one and on their number. Used by one
// thread.
class SeedPath {
 public:
  explicit SeedPath(uint64_t seed) : seed_(seed) {}

  uint64_t seed() const { return seed_; }

  // The next seed: for a branch, a context or an answer. Two paths of different seeds give
  // different ones.
  uint64_t next();

  // The seed of part `index` of what `seed` is for: of the contexts of one fork(n), for example.
  static uint64_t part_of(uint64_t seed, uint64_t index);

 private:
  uint64_t seed_ = 0;
  uint64_t given_ = 0;
};

}  // namespace windrow::program
