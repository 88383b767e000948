#include "api/calls/call_workers.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"

namespace windrow::api {

CallWorkers::CallWorkers(int32_t threads) : long_max_(std::max(threads / 2, 1)) {
  for (int32_t i = 0; i < std::max(threads, 1); ++i)
    threads_.emplace_back([this] { work(); });
}

CallWorkers::~CallWorkers() {
  stop();
}

void CallWorkers::post(Task task, Length length) {
  const std::scoped_lock lock(mutex_);
  ENSURE(!stopping_, "a task for workers that have been stopped");
  (length == Length::kLong ? long_tasks_ : tasks_).push_back(std::move(task));
  if (idle_ > 0) changed_.notify_one();
}

void CallWorkers::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_)
    thread.join();
  threads_.clear();
}

void CallWorkers::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (tasks_.empty() && !may_begin_long()) {
      // Long ones that wait are begun by whoever is at one now.
      if (stopping_) return;
      ++idle_;
      changed_.wait(lock);
      --idle_;
    }
    const bool is_long = may_begin_long() && (tasks_.empty() || !was_long_);
    was_long_ = is_long;
    std::deque<Task>& queue = is_long ? long_tasks_ : tasks_;
    Task task = std::move(queue.front());
    queue.pop_front();
    if (is_long) ++long_running_;
    lock.unlock();
    task();
    task = nullptr;  // what it holds may end with it: not under the lock
    lock.lock();
    if (is_long) --long_running_;
  }
}

bool CallWorkers::may_begin_long() const {
  return !long_tasks_.empty() && long_running_ < long_max_;
}

}  // namespace windrow::api
