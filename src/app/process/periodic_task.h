// PeriodicTask: does something again and again, on a thread of its own; the time comes from an
// event loop.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "async/executor.h"
#include "base/clock.h"
#include "http/loop.h"

namespace windrow::app {

// Created and destroyed on one thread, which is not the loop's.
class PeriodicTask {
 public:
  // Runs `task` each time that `period` of the loop's clock has passed, one run at a time: while
  // one takes longer than the period, the next ones are left out. `loop` outlives it.
  PeriodicTask(http::Loop& loop, Duration period, std::function<void()> task);

  // Waits for a run that has begun.
  ~PeriodicTask();
  PeriodicTask(const PeriodicTask&) = delete;
  PeriodicTask& operator=(const PeriodicTask&) = delete;

 private:
  // On the loop's thread.
  void wait();

  http::Loop& loop_;
  const Duration period_;
  const std::function<void()> task_;
  std::atomic<bool> running_ = false;
  async::Executor executor_{1, async::Executor::Start::kWithFirstTask};
  std::unique_ptr<http::Timer> timer_;  // of the loop's thread
};

}  // namespace windrow::app
