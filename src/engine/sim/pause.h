// Pause: how a simulated model lets time pass. The tests' one moves their clock.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace windrow::engine::sim {

class Pause {
 public:
  virtual ~Pause() = default;

  // Blocks until that time, never shorter.
  virtual void until(TimePoint at) = 0;
};

// Blocks the calling thread without using a processor. About 50 microseconds late, as the system's
// timers are.
class RealPause final : public Pause {
 public:
  // `clock` outlives it and runs in real time.
  explicit RealPause(const Clock& clock) : clock_(clock) {}

  void until(TimePoint at) override {
    std::unique_lock lock(mutex_);
    for (Duration left = at - clock_.now(); left > Duration{}; left = at - clock_.now())
      never_notified_.wait_for(lock, left);
  }

 private:
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable never_notified_;
};

}  // namespace windrow::engine::sim
