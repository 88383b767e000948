#include "base/clock.h"

namespace windrow {

TimePoint SystemClock::now() const {
  return TimePoint(std::chrono::steady_clock::now().time_since_epoch());
}

int64_t SystemClock::unix_seconds() const {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace windrow
