// Clock: the source of time. Code that waits, measures or stamps takes one, so that tests control
// time.
#pragma once

#include <chrono>
#include <cstdint>

namespace windrow {

using Duration = std::chrono::nanoseconds;

// A time since an arbitrary start; only differences are meaningful.
using TimePoint = std::chrono::time_point<struct MonotonicTag, Duration>;

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  virtual TimePoint now() const = 0;

  // Seconds since 1970 in UTC, for time stamps that people and other programs read.
  virtual int64_t unix_seconds() const = 0;
};

class SystemClock final : public Clock {
 public:
  TimePoint now() const override {
    return TimePoint(std::chrono::steady_clock::now().time_since_epoch());
  }
  int64_t unix_seconds() const override {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(since_1970).count();
  }
};

constexpr double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

constexpr int64_t milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace windrow
