// Pause: how a simulated model lets time pass. Tests have one that moves their clock.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace windrow::engine::sim {

class Pause {
 public:
  virtual ~Pause() = default;

  // Returns when it is so late, and never before.
  virtual void until(TimePoint at) = 0;
};

// Of the thread that calls; it takes no processor meanwhile. Late by what the system's timers are:
// some 50 microseconds.
class RealPause final : public Pause {
 public:
  // `clock` outlives it, and its time passes by itself.
  explicit RealPause(const Clock& clock) : clock_(clock) {}

  void until(TimePoint at) override {
    std::unique_lock lock(mutex_);
    for (Duration left = at - clock_.now(); left > Duration{}; left = at - clock_.now())
      nobody_.wait_for(lock, left);
  }

 private:
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable nobody_;  // tells
};

}  // namespace windrow::engine::sim
