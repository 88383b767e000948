#include "dispatch/waker.h"

#include <utility>

namespace windrow::dispatch {

void ThreadWaker::start(std::function<void()> call) {
  call_ = std::move(call);
}

void ThreadWaker::wake_at(std::optional<TimePoint> at) {
  const std::scoped_lock lock(mutex_);
  if (stopped_ || at == at_) return;
  at_ = at;
  if (!thread_.joinable()) {
    if (!at_) return;
    thread_ = std::thread([this] { wait_and_call(); });
  }
  // A thread that wakes too early sleeps again, so a later time need not wake it.
  if (at_ && (!sleeps_until_ || *at_ < *sleeps_until_)) changed_.notify_all();
}

void ThreadWaker::wait_and_call() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    sleeps_until_ = at_;
    if (!at_) {
      changed_.wait(lock);
      continue;
    }
    const Duration left = *at_ - clock_.now();
    if (left > Duration{}) {
      changed_.wait_for(lock, left);
      continue;
    }
    at_.reset();
    lock.unlock();
    call_();
    lock.lock();
  }
}

void ThreadWaker::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace windrow::dispatch
