// ManualClock: time that moves when a test says so.
#pragma once

#include <atomic>

#include "base/clock.h"

namespace windrow::testing {

class ManualClock final : public Clock {
 public:
  TimePoint now() const override { return TimePoint(Duration(now_ns_.load())); }
  int64_t unix_seconds() const override { return 1'700'000'000 + now_ns_.load() / 1'000'000'000; }

  void advance(Duration by) { now_ns_ += by.count(); }

 private:
  std::atomic<int64_t> now_ns_ = 0;
};

}  // namespace windrow::testing
