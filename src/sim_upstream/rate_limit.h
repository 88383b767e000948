// RateLimit: a quota of requests or tokens per minute, as hosted services have. Pure.
//
// A bucket that holds a minute's worth and fills evenly (token bucket, as Turner's leaky bucket
// meters, 1986): a client may spend all at once and then goes at the rate.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace windrow::sim_upstream {

class RateLimit {
 public:
  // 0: no limit.
  explicit RateLimit(int64_t per_minute) : per_minute_(per_minute) {}

  bool limits() const { return per_minute_ > 0; }
  int64_t per_minute() const { return per_minute_; }

  // Whether `amount` may be spent now. More than a minute's worth may when the bucket is full.
  bool has(int64_t amount, TimePoint now) const;
  void spend(int64_t amount, TimePoint now);

  int64_t remaining(TimePoint now) const;

  // How long until `amount` may be spent, and until the bucket is full.
  Duration until(int64_t amount, TimePoint now) const;
  Duration until_full(TimePoint now) const { return until(per_minute_, now); }

 private:
  double level(TimePoint now) const;

  int64_t per_minute_;
  double spent_ = 0;  // below full, at since_
  TimePoint since_{};
};

}  // namespace windrow::sim_upstream
