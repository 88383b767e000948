#include "app/process/periodic_task.h"

#include <utility>

namespace windrow::app {

PeriodicTask::PeriodicTask(http::Loop& loop, Duration period, std::function<void()> task)
    : loop_(loop), period_(period), task_(std::move(task)) {
  loop_.run([this] {
    timer_ = std::make_unique<http::Timer>(loop_);
    wait();
  });
}

PeriodicTask::~PeriodicTask() {
  loop_.run([this] { timer_.reset(); });
  executor_.stop();
}

void PeriodicTask::wait() {
  timer_->wake_at(loop_.clock().now() + period_, [this] {
    if (!running_.exchange(true)) {
      executor_.post([this] {
        task_();
        running_ = false;
      });
    }
    wait();
  });
}

}  // namespace windrow::app
