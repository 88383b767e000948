#include "engine/structure/task_threads.h"

#include <utility>

namespace windrow::engine {

TaskThreads::TaskThreads(int32_t count) : count_(count) {}

TaskThreads::~TaskThreads() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
}

void TaskThreads::add(std::function<void()> task) {
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
    while (threads_.size() < static_cast<size_t>(count_))
      threads_.emplace_back([this] { serve(); });
  }
  changed_.notify_one();
}

void TaskThreads::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closing_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace windrow::engine
