// TaskThreads: a few threads that do what they are given, in its order. They begin with the first
// task, so what is never needed costs nothing.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace windrow::engine {

// Thread-safe. The destructor does what is left first.
class TaskThreads {
 public:
  explicit TaskThreads(int32_t count);
  ~TaskThreads();
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  // Never blocks on a task. They must not throw: there is nobody to tell.
  void add(std::function<void()> task);

 private:
  void serve();

  const int32_t count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool closing_ = false;

  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace windrow::engine
