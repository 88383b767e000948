// Numbers that plans are made of.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/random.h"

namespace windrow::simulate {

inline Duration between(Random& random, Duration from, Duration to) {
  return Duration(random.between(from.count(), to.count()));
}

// From 1 to about `max`, small numbers as often as large ones: a process may die in its first steps
// or in its last.
inline int64_t any_size(Random& random, int64_t max) {
  int64_t bits = 0;
  while ((int64_t{1} << bits) < max)
    ++bits;
  return random.between(1, int64_t{1} << random.between(1, bits));
}

}  // namespace windrow::simulate
