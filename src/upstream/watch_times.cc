#include "upstream/watch_times.h"

#include <algorithm>
#include <cmath>

namespace windrow::upstream {

Duration until_next_question(const WatchTimes& times, int64_t failures, Random& random) {
  if (failures == 0) return times.period;
  const double doubled = static_cast<double>(times.retry_min.count()) *
                         std::exp2(static_cast<double>(std::min<int64_t>(failures - 1, 60)));
  const double whole = std::min(doubled, static_cast<double>(times.period.count()));
  return Duration(static_cast<Duration::rep>(whole * (1 - random.unit() / 3)));
}

}  // namespace windrow::upstream
