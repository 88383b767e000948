#include "sim_upstream/rate_limit.h"

#include <algorithm>
#include <cmath>

namespace windrow::sim_upstream {
namespace {

constexpr double kMinuteNs = 60e9;

}  // namespace

double RateLimit::level(TimePoint now) const {
  const double filled =
      static_cast<double>((now - since_).count()) * static_cast<double>(per_minute_) / kMinuteNs;
  return static_cast<double>(per_minute_) - std::max(0.0, spent_ - filled);
}

bool RateLimit::has(int64_t amount, TimePoint now) const {
  return until(amount, now) <= Duration::zero();
}

void RateLimit::spend(int64_t amount, TimePoint now) {
  if (!limits()) return;
  spent_ = static_cast<double>(per_minute_) - level(now) + static_cast<double>(amount);
  since_ = now;
}

int64_t RateLimit::remaining(TimePoint now) const {
  return std::max<int64_t>(0, static_cast<int64_t>(std::floor(level(now) + 1e-6)));
}

Duration RateLimit::until(int64_t amount, TimePoint now) const {
  if (!limits()) return {};
  const double missing = static_cast<double>(std::min(amount, per_minute_)) - level(now);
  // A millionth of a request is an error of arithmetic, not a request.
  if (missing <= 1e-6) return {};
  return Duration(
      static_cast<int64_t>(std::ceil(missing / static_cast<double>(per_minute_) * kMinuteNs)));
}

}  // namespace windrow::sim_upstream
