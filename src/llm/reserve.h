// Reserve: places that are kept for those in a hurry, of a server or of a model's memory. Without
// it, all places may be taken by rows with long answers, and whoever waits for one word waits until
// a row has ended. Pure.
//
// It keeps no more than it says: what is less urgent may take every other place, so nothing is left
// empty that could be used but these.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "llm/priority.h"

namespace windrow::llm {

// Shares of the places; 0: none is kept. Of one that is not 0, and four places or more, at least
// one is.
struct ReserveOptions {
  double from_normal = 0;  // that only kInteractive can take
  double from_batch = 0;   // that kBatch cannot take

  // Where they go, kBatch gives its places to those who need them
  // (engine/schedule/batch_scheduler.h), so it keeps nobody else out.
  bool batch_gives_way = false;
};

// For a server that people and files use at the same time.
constexpr ReserveOptions kServerReserve = {.from_normal = 1.0 / 32, .from_batch = 1.0 / 8};

class Reserve {
 public:
  constexpr explicit Reserve(ReserveOptions options = {}) : options_(options) {}

  // Of so many places, those that this priority and lower ones may have together.
  constexpr int32_t places(int32_t limit, Priority priority) const {
    if (priority == Priority::kInteractive) return limit;
    int32_t kept = part(limit, options_.from_normal);
    if (priority == Priority::kBatch) kept = std::max(kept, part(limit, options_.from_batch));
    return std::max(limit - kept, std::min(limit, 1));
  }

  // How many more may go where so many of each priority are; 0 or less: none.
  constexpr int32_t places_left(int32_t limit, const std::array<int32_t, 3>& in_flight,
                                Priority priority) const {
    int32_t left = limit;
    int32_t lower = 0;  // and equal
    for (size_t i = in_flight.size(); i-- > 0;) {
      const auto each = static_cast<Priority>(i);
      const bool gives_way = options_.batch_gives_way && each == Priority::kBatch;
      if (!gives_way || priority == Priority::kBatch) lower += in_flight[i];
      if (each <= priority) left = std::min(left, places(limit, each) - lower);
    }
    return left;
  }

  // Whether one more may.
  constexpr bool has_place(int32_t limit, const std::array<int32_t, 3>& in_flight,
                           Priority priority) const {
    return places_left(limit, in_flight, priority) > 0;
  }

 private:
  static constexpr int32_t part(int32_t limit, double share) {
    constexpr int32_t kOneFrom = 4;
    const auto rounded = static_cast<int32_t>(limit * std::clamp(share, 0.0, 1.0));
    return share > 0 && limit >= kOneFrom ? std::max(rounded, 1) : rounded;
  }

  ReserveOptions options_;
};

}  // namespace windrow::llm
