#include "async/ordered_executor.h"

#include <utility>

namespace windrow::async {

void OrderedExecutor::post(uint64_t lane, Executor::Task task, Executor::Length length) {
  if (lane == 0) return executor_.post(std::move(task), length);
  {
    const std::scoped_lock lock(mutex_);
    const auto [found, fresh] = lanes_.try_emplace(lane);
    if (!fresh) {
      found->second.push_back({std::move(task), length});
      return;
    }
  }
  submit(lane, {std::move(task), length});
}

void OrderedExecutor::submit(uint64_t lane, PendingTask next) {
  executor_.post(
      [this, lane, task = std::move(next.task)] {
        task();
        task_ended(lane);
      },
      next.length);
}

void OrderedExecutor::task_ended(uint64_t lane) {
  PendingTask next;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = lanes_.find(lane);
    if (found->second.empty()) {
      lanes_.erase(found);
      return;
    }
    next = std::move(found->second.front());
    found->second.pop_front();
  }
  submit(lane, std::move(next));
}

}  // namespace windrow::async
