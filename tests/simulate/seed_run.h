// One seed, simulated in a process of its own: the threads that were killed and all they held
// disturb no other seed, and a crash ends nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "simulate/canary.h"

namespace windrow::simulate {

struct SeedOptions {
  uint64_t seed = 1;
  std::optional<int64_t> rows;  // of the input; absent: drawn
  Canary canary = Canary::kNone;
  bool verbose = false;  // every event, as it happens
};

struct SeedRun {
  bool well = false;
  uint64_t trace = 0;     // of a run that went well
  std::string invariant;  // that does not hold
  std::string text;       // what it said
};

// Called with the output of the run, piece by piece.
using Hear = std::function<void(std::string_view)>;

// The calling process has one thread.
SeedRun run_seed(const SeedOptions& options, const Hear& hear = {});

}  // namespace windrow::simulate
