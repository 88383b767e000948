// OrderedExecutor: runs the tasks of one lane one after the other, in the order in which they were
// posted, on the threads of an Executor. Tasks of different lanes run at the same time.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "async/executor.h"

namespace windrow::async {

// Thread-safe. The executor outlives it, or is stopped first.
class OrderedExecutor {
 public:
  explicit OrderedExecutor(Executor& executor) : executor_(executor) {}

  // Posts the task once the earlier ones of its lane have ended; at once where `lane` is 0, which
  // means none. Never blocks on a task, which must not throw.
  void post(uint64_t lane, Executor::Task task, Executor::Length length);

 private:
  struct PendingTask {
    Executor::Task task;
    Executor::Length length = Executor::Length::kShort;
  };

  void submit(uint64_t lane, PendingTask next);
  void task_ended(uint64_t lane);

  Executor& executor_;
  std::mutex mutex_;

  // Lanes with a task in the executor, each with the tasks behind that one.
  std::unordered_map<uint64_t, std::deque<PendingTask>> lanes_;
};

}  // namespace windrow::async
