// The two sides of bench_engine, each measured in the same way: a new context, a row to warm up,
// then the rows once or several times.
#pragma once

#include <llama.h>

#include <cstdint>
#include <vector>

#include "engine/llama/llama_model.h"
#include "engine/workload.h"

namespace windrow::bench {

struct Limits {
  int at_once = 16;
  int cells = 0;
  int threads = 2;
  int step_ms = 2000;  // what `windrow run` aims at
  int rounds = 1;      // the same rows so many times
  bool split = false;  // the engine's cache
};

struct Round {
  double rows_per_second = 0;
  int64_t prefilled_tokens = 0;  // whatever was computed of prompts, and again
  int64_t generated_tokens = 0;
};

// The first finds an empty context, the others whatever the contender keeps.
using Rounds = std::vector<Round>;

// Both throw std::runtime_error when a contender fails or answers something else than was asked.
Rounds measure_engine(const engine::LlamaModel& model, const Shape& shape, const Limits& limits);
Rounds measure_plain(llama_model* model, const Shape& shape, const Limits& limits);

}  // namespace windrow::bench
