// Waker: calls back when a time has come. It is an interface of its own, so that a test can move
// the time of a dispatcher.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.h"

namespace windrow::dispatch {

class Waker {
 public:
  virtual ~Waker() = default;

  // Sets what to call, on a thread of the waker's. Once, before anything else. `call` never runs
  // within wake_at, so the caller of wake_at may hold a lock that `call` takes.
  virtual void start(std::function<void()> call) = 0;

  // Call when it is so late. Replaces the time before; nothing: do not call. Any thread.
  virtual void wake_at(std::optional<TimePoint> at) = 0;

  // Returns when no call is in progress, and none will come. Blocks; not from within `call`.
  virtual void stop() = 0;
};

// A thread that waits; it begins with the first time there is to wait for.
class ThreadWaker final : public Waker {
 public:
  // `clock` outlives it, and its time passes by itself.
  explicit ThreadWaker(const Clock& clock) : clock_(clock) {}
  ~ThreadWaker() override { stop(); }

  ThreadWaker(const ThreadWaker&) = delete;
  ThreadWaker& operator=(const ThreadWaker&) = delete;

  void start(std::function<void()> call) override;
  void wake_at(std::optional<TimePoint> at) override;
  void stop() override;

 private:
  void wait_and_call();

  const Clock& clock_;
  std::function<void()> call_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<TimePoint> at_;
  std::optional<TimePoint> sleeps_until_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace windrow::dispatch
