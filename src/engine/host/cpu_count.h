// How many threads a CPU-bound engine should use here. ggml's threads wait for each other by
// spinning: one more than there are cores to run them slows every step many times.
#pragma once

#include <cstdint>
#include <string>

namespace windrow::engine {

// The cores this process may really use: physical ones (not their second threads) that its affinity
// allows, and no more than its control group's CPU quota. At least 1. `root` stands in front of
// /sys, for tests.
int32_t usable_cores(const std::string& root = "");

}  // namespace windrow::engine
