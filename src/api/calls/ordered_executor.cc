#include "api/calls/ordered_executor.h"

#include <utility>

namespace windrow::api {

void OrderedExecutor::post(uint64_t lane, CallWorkers::Task task, CallWorkers::Length length) {
  if (lane == 0) return workers_.post(std::move(task), length);
  {
    const std::scoped_lock lock(mutex_);
    const auto [found, fresh] = lanes_.try_emplace(lane);
    if (!fresh) {
      found->second.push_back({std::move(task), length});
      return;
    }
  }
  hand_on(lane, {std::move(task), length});
}

void OrderedExecutor::hand_on(uint64_t lane, Waiting next) {
  workers_.post(
      [this, lane, task = std::move(next.task)] {
        task();
        ended(lane);
      },
      next.length);
}

void OrderedExecutor::ended(uint64_t lane) {
  Waiting next;
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
  hand_on(lane, std::move(next));
}

}  // namespace windrow::api
