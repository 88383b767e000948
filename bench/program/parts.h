// The measurements. Each runs in a process of its own, prints what it finds beside its target, and
// returns whether all targets were kept.
#pragma once

#include <cstdint>

namespace windrow::program_bench {

struct Shape {
  int32_t tokens = 64;       // of an answer in `width`
  int32_t context = 2000;    // tokens in `fork`
  int32_t forks = 32;        // in `fork`
  int32_t rounds = 20;       // of `fork`
  int32_t instances = 1000;  // in `many`
  int32_t steps = 20;        // of each instance in `many`
};

bool measure_width(const Shape& shape);
bool measure_fork(const Shape& shape);
bool measure_many(const Shape& shape);

}  // namespace windrow::program_bench
