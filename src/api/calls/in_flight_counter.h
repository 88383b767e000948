// InFlightCounter: how many requests are inside the server, and the wait until there is none.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace windrow::api {

// Thread-safe.
class InFlightCounter {
 public:
  void come() {
    const std::scoped_lock lock(mutex_);
    ++inside_;
  }

  // Who waits may destroy this when it has returned, and not before.
  void go() {
    const std::scoped_lock lock(mutex_);
    --inside_;
    left_.notify_all();
  }

  void wait_for_none() {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [this] { return inside_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  size_t inside_ = 0;
};

}  // namespace windrow::api
