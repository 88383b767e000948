// How long a server lets a client rest. Pure.
#pragma once

#include <cstddef>

#include "base/clock.h"

namespace windrow::http {

// A server that is full accepts nobody, so clients that only rest must not stay for long then: up
// to three quarters of `connections_max` they may rest for `idle_time`, above that for less and
// less, and when it is full for a second. So a flood of silent clients keeps others waiting for
// about a second, and has to come again and again.
constexpr Duration kCrowdedIdle = std::chrono::seconds(1);

inline Duration idle_allowed(Duration idle_time, size_t connections, size_t connections_max) {
  const size_t crowded = connections_max - connections_max / 4;
  if (connections < crowded || idle_time <= kCrowdedIdle) return idle_time;
  if (connections >= connections_max) return kCrowdedIdle;
  const auto free = static_cast<double>(connections_max - connections);
  const auto quarter = static_cast<double>(connections_max - crowded);
  const auto more = static_cast<double>((idle_time - kCrowdedIdle).count());
  return kCrowdedIdle + Duration(static_cast<int64_t>(more * free / quarter));
}

}  // namespace windrow::http
