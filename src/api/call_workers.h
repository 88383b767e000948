// CallWorkers: a few threads for what takes longer than the loop may be held up: reading bodies,
// handing requests to a dispatcher, which makes their prompts, and writing long answers.
//
// Its queue has no bound of its own: what may be inside is Admission's to say, and what comes out
// of a dispatcher was let in.
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

  // Any thread; in the order of posting, as far as several threads keep one. Must not throw.
  void post(Task task);

  // Does what was posted and ends the threads. Nothing may be posted afterwards.
  void stop();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  int32_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace windrow::api
