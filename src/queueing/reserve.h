// Reserve: slots (of a server, or cells and rows of a model) that requests of lower priority may
// not take. Without it rows with long answers may fill every slot, and an interactive request waits
// until one of them ends. A reserve holds back no more than it states: lower priorities may use all
// other slots. Pure; a value.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "llm/priority.h"

namespace windrow::queueing {

// Shares of all slots. Of a share above 0 at least one slot is reserved where there are four or
// more.
struct ReserveOptions {
  double from_normal = 0;  // only kInteractive may use it
  double from_batch = 0;   // kBatch may not use it

  // kBatch is preempted for higher priorities (engine/schedule), so slots that it holds do not
  // count against them.
  bool batch_is_preemptible = false;
};

// For a server that interactive clients and batches share.
constexpr ReserveOptions kServerReserve = {.from_normal = 1.0 / 32, .from_batch = 1.0 / 8};

class Reserve {
 public:
  constexpr explicit Reserve(ReserveOptions options = {}) : options_(options) {}

  // How many of `limit` slots this priority and lower ones may hold together; at least one, where
  // there is one.
  constexpr int32_t capacity(int32_t limit, llm::Priority priority) const {
    if (priority == llm::Priority::kInteractive) return limit;
    int32_t kept = part(limit, options_.from_normal);
    if (priority == llm::Priority::kBatch) kept = std::max(kept, part(limit, options_.from_batch));
    return std::max(limit - kept, std::min(limit, 1));
  }

  // How many more slots this priority may take while each priority holds `in_flight` of them; 0 or
  // less: none.
  constexpr int32_t slots_left(int32_t limit, const std::array<int32_t, 3>& in_flight,
                               llm::Priority priority) const {
    int32_t left = limit;
    int32_t held = 0;  // by `each` priority and lower ones
    for (size_t i = in_flight.size(); i-- > 0;) {
      const auto each = static_cast<llm::Priority>(i);
      const bool is_preempted =
          options_.batch_is_preemptible && each == llm::Priority::kBatch && each != priority;
      if (!is_preempted) held += in_flight[i];
      if (each <= priority) left = std::min(left, capacity(limit, each) - held);
    }
    return left;
  }

  constexpr bool has_slot(int32_t limit, const std::array<int32_t, 3>& in_flight,
                          llm::Priority priority) const {
    return slots_left(limit, in_flight, priority) > 0;
  }

 private:
  static constexpr int32_t part(int32_t limit, double share) {
    constexpr int32_t kOneFrom = 4;
    const auto rounded = static_cast<int32_t>(limit * std::clamp(share, 0.0, 1.0));
    return share > 0 && limit >= kOneFrom ? std::max(rounded, 1) : rounded;
  }

  ReserveOptions options_;
};

}  // namespace windrow::queueing
