// How many threads a CPU-bound engine should use on this machine. ggml's threads wait for each
// other by spinning: one more than there are cores to run them slows every step several times.
#pragma once

#include <cstdint>
#include <string>

namespace windrow::engine {

// The cores that this process may use: physical cores (not hardware threads) within its affinity,
// and no more than the CPU quota of its control group; at least 1. Reads files; `root` is put
// before /sys, for tests.
int32_t usable_cores(const std::string& root = "");

}  // namespace windrow::engine
