// InFlightCounter: how many requests or tasks are in progress, and the wait until none is.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace windrow::async {

// Thread-safe.
class InFlightCounter {
 public:
  void enter() {
    const std::scoped_lock lock(mutex_);
    ++in_flight_;
  }

  // Notifies under the lock, so that a waiter may destroy this as soon as wait_for_none returns.
  void leave() {
    const std::scoped_lock lock(mutex_);
    --in_flight_;
    left_.notify_all();
  }

  // Blocks while any is in progress.
  void wait_for_none() {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [this] { return in_flight_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  size_t in_flight_ = 0;
};

}  // namespace windrow::async
