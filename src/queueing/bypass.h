// Bounded bypass: a higher priority goes first, but only so many times in a row while a lower one
// is ready. The one bound that the dispatcher's queue, the engine's scheduler and batches of
// embeddings share. Pure; used by one thread at a time.
#pragma once

#include <array>
#include <cstdint>

#include "llm/priority.h"

namespace windrow::queueing {

// How often a priority may be bypassed: after so many starts (or batches) of others while it was
// ready, one of its own goes first. kInteractive is never bypassed.
struct BypassLimits {
  int32_t normal = 8;
  int32_t batch = 32;

  constexpr int32_t of(llm::Priority priority) const {
    return priority == llm::Priority::kBatch ? batch : normal;
  }

  // `count`: how often a request of this priority was bypassed so far.
  constexpr bool is_reached(llm::Priority priority, int32_t count) const {
    return priority != llm::Priority::kInteractive && count >= of(priority);
  }
};

// Counts bypasses of the priorities of one queue. (A scheduler that counts them for each request
// uses BypassLimits alone.)
class BypassCounter {
 public:
  constexpr explicit BypassCounter(BypassLimits limits = {}) : limits_(limits) {}

  // After each start, for each priority it concerns: whether one of this priority was ready and did
  // not start. False begins its count anew.
  constexpr void count(llm::Priority priority, bool bypassed) {
    int32_t& count = counts_[static_cast<size_t>(priority)];
    count = bypassed ? count + 1 : 0;
  }

  // Its limit is reached: the next start is due to it.
  constexpr bool is_due(llm::Priority priority) const {
    return limits_.is_reached(priority, counts_[static_cast<size_t>(priority)]);
  }

 private:
  BypassLimits limits_;
  std::array<int32_t, 3> counts_ = {};
};

}  // namespace windrow::queueing
