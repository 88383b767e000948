// WaitLimits: until when those may wait who wait for their model, in the order of these times; so
// neither a look at the next one nor one who comes costs more for all the others. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "engine/manager/model_cache_policy.h"

namespace windrow::engine {

class WaitLimits {
 public:
  struct Waiter {
    PooledModelId model;
    uint64_t number = 0;

    auto operator<=>(const Waiter&) const = default;
  };

  // No time: it may wait as long as it takes, and is not listed.
  void add(std::optional<TimePoint> until, Waiter waiter) {
    if (until) limits_.emplace(*until, waiter);
  }

  // It waits no longer.
  void remove(std::optional<TimePoint> until, Waiter waiter) {
    if (until) limits_.erase({*until, waiter});
  }

  std::optional<TimePoint> next() const {
    return limits_.empty() ? std::nullopt : std::optional(limits_.begin()->first);
  }

  // One who has waited for as long as it may, those first who may wait least; it is not listed any
  // more.
  std::optional<Waiter> take(TimePoint now) {
    if (limits_.empty() || now < limits_.begin()->first) return std::nullopt;
    return limits_.extract(limits_.begin()).value().second;
  }

 private:
  std::set<std::pair<TimePoint, Waiter>> limits_;
};

}  // namespace windrow::engine
