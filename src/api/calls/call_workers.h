// CallWorkers: a few threads for what takes longer than the loop may be held up: reading bodies,
// handing requests to a dispatcher, which makes their prompts, and writing long answers and pages.
//
// Tasks that may take long have a queue of their own and at most half of the threads at a time: who
// sends bodies of megabytes makes those wait who do the same.
//
// Its queue has no bound of its own: what may be inside is BodyMemoryBudget's to say, what comes
// out of a dispatcher was let in, and ActiveCalls bounds the pages.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace windrow::api {

class CallWorkers {
 public:
  using Task = std::function<void()>;

  explicit CallWorkers(int32_t threads);

  // As stop().
  ~CallWorkers();
  CallWorkers(const CallWorkers&) = delete;
  CallWorkers& operator=(const CallWorkers&) = delete;

  enum class Length : uint8_t { kShort, kLong };

  // Any thread; in the order of posting of their length, as far as several threads keep one. Must
  // not throw.
  void post(Task task, Length length = Length::kShort);

  // Does what was posted and ends the threads. Nothing may be posted afterwards.
  void stop();

 private:
  void work();
  bool may_begin_long() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::deque<Task> long_tasks_;
  int32_t long_running_ = 0;
  const int32_t long_max_;  // so many at a time
  bool was_long_ = false;   // the task that was begun last; they take turns
  int32_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace windrow::api
