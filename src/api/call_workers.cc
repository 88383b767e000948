#include "api/call_workers.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"

namespace windrow::api {

CallWorkers::CallWorkers(int32_t threads) {
  for (int32_t i = 0; i < std::max(threads, 1); ++i)
    threads_.emplace_back([this] { work(); });
}

CallWorkers::~CallWorkers() {
  stop();
}

void CallWorkers::post(Task task) {
  const std::scoped_lock lock(mutex_);
  ENSURE(!stopping_, "a task for workers that have been stopped");
  tasks_.push_back(std::move(task));
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
    while (tasks_.empty() && !stopping_) {
      ++idle_;
      changed_.wait(lock);
      --idle_;
    }
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds may end with it: not under the lock
    lock.lock();
  }
}

}  // namespace windrow::api
