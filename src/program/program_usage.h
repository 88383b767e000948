// ProgramUsage: what an instance of a program used, of all its calls together.
#pragma once

#include <cstdint>

#include "llm/answer.h"

namespace windrow::program {

struct ProgramUsage {
  llm::Usage tokens;
  int64_t calls = 0;
  int64_t passes = 0;         // forward passes with at least one of its rows; 0 for upstreams
  int64_t wasted_tokens = 0;  // computed or sampled by calls that were cancelled or failed
  int64_t contexts_peak = 0;
  int64_t memory_bytes_peak = 0;  // of its Lua state
};

}  // namespace windrow::program
