// When a server is asked again that is asked for ever. Pure.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/random.h"

namespace windrow::upstream {

struct WatchTimes {
  Duration period = std::chrono::minutes(1);  // of one that answers

  // Of one that does not: this long after its first failure, then twice as long each time, up to
  // the period. A third of it is drawn, so that several watchers do not ask together.
  Duration retry_min = std::chrono::seconds(1);
};

// `failures` since it answered last; 0: it answered.
Duration until_next_question(const WatchTimes& times, int64_t failures, Random& random);

}  // namespace windrow::upstream
