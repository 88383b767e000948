// Executor: a fixed number of threads that run tasks in the order in which they were posted.
//
// Long tasks have a queue of their own and at most half of the threads at a time, so that they
// delay each other and not the short ones.
//
// The queues have no bound: the caller bounds what it posts.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace windrow::async {

// Thread-safe, but for stop() and the destructor: the owner calls those.
class Executor {
 public:
  // Must not throw: nothing could handle the exception, so it ends the process.
  using Task = std::function<void()>;

  enum class Start : uint8_t {
    kNow,            // a thread that the system does not give is an exception of the constructor
    kWithFirstTask,  // an executor that is never used has no threads
  };

  // At least one thread, whatever `threads` is.
  explicit Executor(int32_t threads, Start start = Start::kNow);

  // As stop().
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  enum class Length : uint8_t { kShort, kLong };

  // Never blocks on a task. Tasks of one length start in the order of posting; with several threads
  // they may end in another.
  void post(Task task, Length length = Length::kShort);

  // Runs what was posted, and what those tasks post, then ends the threads. Nothing else may be
  // posted from then on. Not from a task.
  void stop();

 private:
  void start_threads();
  void work();
  bool may_begin_long() const;

  const size_t threads_max_;
  const int32_t long_max_;  // long tasks at a time

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::deque<Task> long_tasks_;
  int32_t running_ = 0;
  int32_t long_running_ = 0;
  bool was_long_ = false;  // the task that was started last: the two queues take turns
  int32_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace windrow::async
