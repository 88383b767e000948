// ManualWaker: wakes when a test moves the clock and says so.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "base/testing/manual_clock.h"
#include "dispatch/waker.h"

namespace windrow::dispatch::testing {

class ManualWaker final : public Waker {
 public:
  explicit ManualWaker(windrow::testing::ManualClock& clock) : clock_(clock) {}

  void start(std::function<void()> call) override { call_ = std::move(call); }

  void wake_at(std::optional<TimePoint> at) override {
    const std::scoped_lock lock(mutex_);
    at_ = at;
  }

  void stop() override { wake_at(std::nullopt); }

  std::optional<TimePoint> at() const {
    const std::scoped_lock lock(mutex_);
    return at_;
  }

  // Moves the clock to the time asked for and calls; false when there is none.
  bool jump() {
    {
      const std::scoped_lock lock(mutex_);
      if (!at_) return false;
      if (*at_ > clock_.now()) clock_.advance(*at_ - clock_.now());
      at_.reset();
    }
    call_();
    return true;
  }

 private:
  windrow::testing::ManualClock& clock_;
  std::function<void()> call_;
  mutable std::mutex mutex_;
  std::optional<TimePoint> at_;
};

}  // namespace windrow::dispatch::testing
