// When those who wait for room in a dispatcher are woken. To wake a thread costs more than all else
// that is done for a request, so one that waits sleeps until half of what waits before the
// upstreams has gone, and then brings as much. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace windrow::dispatch {

// `free`: requests that there is room for; `waiting_max`: that may wait before the upstreams;
// `waiting`: that do. Where none waits the upstreams would soon have nothing to do: then any room
// is enough.
constexpr bool is_worth_waking(int32_t free, int32_t waiting_max, size_t waiting) {
  return free > waiting_max / 2 || (free > 0 && waiting == 0);
}

}  // namespace windrow::dispatch
