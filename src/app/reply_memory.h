// How much memory replies of servers may take in `run` while they arrive (http/reply_budget.h).
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace windrow::app {

// `setting_mb`: Settings::reply_memory_mb. Where it is 0, a sixteenth of `machine_bytes`, but at
// least kReplyMemoryMin and at most kReplyMemoryMax: more brings no speed, for a reply is written
// as soon as it is whole. In a container with little memory it is set by hand.
size_t reply_memory_bytes(int64_t setting_mb, uint64_t machine_bytes);

constexpr size_t kReplyMemoryMin = size_t{64} << 20;
constexpr size_t kReplyMemoryMax = size_t{512} << 20;

// What this machine has.
uint64_t machine_memory_bytes();

}  // namespace windrow::app
