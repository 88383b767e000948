#include "async/executor.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"

namespace windrow::async {

Executor::Executor(int32_t threads, Start start)
    : threads_max_(static_cast<size_t>(std::max(threads, 1))), long_max_(std::max(threads / 2, 1)) {
  if (start != Start::kNow) return;
  try {
    start_threads();
  } catch (...) {
    stop();  // the threads that did start: not joined, they would end the process
    throw;
  }
}

Executor::~Executor() {
  stop();
}

void Executor::post(Task task, Length length) {
  const std::scoped_lock lock(mutex_);
  ENSURE(!stopping_ || running_ > 0, "a task for an executor that was stopped");
  if (threads_.empty()) start_threads();
  (length == Length::kLong ? long_tasks_ : tasks_).push_back(std::move(task));
  if (idle_ > 0) changed_.notify_one();
}

void Executor::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_)
    thread.join();
  threads_.clear();
}

void Executor::start_threads() {
  while (threads_.size() < threads_max_)
    threads_.emplace_back([this] { work(); });
}

void Executor::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (tasks_.empty() && !may_begin_long()) {
      // Long tasks that still wait are started by the threads that run long ones now.
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
    ++running_;
    if (is_long) ++long_running_;
    lock.unlock();
    task();
    task = nullptr;  // what it holds may end with it: not under the lock
    lock.lock();
    --running_;
    if (is_long) --long_running_;
  }
}

bool Executor::may_begin_long() const {
  return !long_tasks_.empty() && long_running_ < long_max_;
}

}  // namespace windrow::async
