// How long a server waits for a client that rests, or sends a long body slowly. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

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

// A body in pieces may be of any length, so the time for it has no end that could be said before:
// it goes on as long as bytes come, and at this rate at least. Who sends a byte now and then holds
// a connection for little longer than one who is silent.
constexpr uint64_t kSlowestBodyPerS = 8 * 1024;

// The client of a body in pieces; what its handler takes for itself does not count.
class BodyPatience {
 public:
  // Somebody waits for a piece from now on.
  void wait_begins(TimePoint now) {
    waited_since_ = now;
    waiting_ = true;
  }

  void came(TimePoint now, uint64_t bytes) {
    waited_ += now - waited_since_;
    bytes_ += bytes;
    waiting_ = false;
  }

  // `request_time` is for a pause, and for all that comes more slowly than it should.
  bool is_over(TimePoint now, Duration request_time) const {
    if (!waiting_) return false;
    const Duration pause = now - waited_since_;
    return pause > request_time ||
           waited_ + pause > request_time + std::chrono::seconds(bytes_ / kSlowestBodyPerS);
  }

 private:
  TimePoint waited_since_;
  Duration waited_{};
  uint64_t bytes_ = 0;
  bool waiting_ = false;
};

}  // namespace windrow::http
