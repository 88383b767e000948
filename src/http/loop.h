// Loop: an event loop: one thread that waits for sockets and timers and runs tasks that other
// threads post to it. HTTP clients and servers run on one; several may share it. Nothing that runs
// on it may block.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace windrow::http {

// Values from any thread, taken in batches: however many threads put values in, the taker is woken
// once for all of them, which on a loop is one system call for a burst. Any thread.
template <class T>
class Mailbox {
 public:
  // True when the mailbox was empty: the caller wakes the taker.
  [[nodiscard]] bool put(T value) {
    const std::scoped_lock lock(mutex_);
    values_.push_back(std::move(value));
    return values_.size() == 1;
  }

  // Takes all values, in the order they came. `values` must be empty: the two buffers are swapped,
  // so that nothing is allocated once they are large enough.
  void take(std::vector<T>& values) {
    const std::scoped_lock lock(mutex_);
    values.swap(values_);
  }

 private:
  std::mutex mutex_;
  std::vector<T> values_;
};

// Any thread, where nothing else is said. Must outlive everything that uses it.
class Loop {
 public:
  using Task = std::function<void()>;

  // Starts the thread. `clock` is what timers go by and must outlive the loop. Throws
  // std::system_error where the system gives no file or thread for it, on the caller's thread.
  explicit Loop(const Clock& clock);

  // Runs the tasks posted so far and ends the thread. Callbacks of sockets and timers that are
  // still pending are dropped uncalled. Not on the loop's thread.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs `task` on the loop's thread, after those that this thread posted before. Never blocks; a
  // burst of tasks costs one wake-up. `task` must not throw, but for std::bad_alloc: then the other
  // tasks still run.
  void post(Task task);

  // Runs `task` on the loop's thread and returns when it has run; on that thread, at once. Rethrows
  // what it throws.
  void run(const Task& task);

  bool is_this_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

  const Clock& clock() const { return clock_; }

  // For sockets and timers, which belong to the loop's thread.
  boost::asio::io_context& context() { return context_; }

 private:
  void work();
  void run_posted();

  const Clock& clock_;
  // 1: there is one thread, so the context leaves out what several would need.
  boost::asio::io_context context_{1};
  // Asio opens its epoll with the first timer: here, where that may throw, and not on the thread.
  const boost::asio::steady_timer first_timer_{context_};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  Mailbox<Task> posted_;
  std::vector<Task> running_;  // on the loop's thread
  std::jthread thread_;        // last: it uses all of the above
};

// Timer: calls a function at a time of the loop's clock. Used and destroyed on the loop's thread.
class Timer {
 public:
  explicit Timer(Loop& loop) : loop_(loop), timer_(loop.context()) {}

  // Calls `wake` once, not before `time`; a later call replaces an earlier one that has not run.
  void wake_at(TimePoint time, Loop::Task wake);

  // The wake function that was set does not run any more.
  void cancel();

 private:
  void wait();

  Loop& loop_;
  boost::asio::steady_timer timer_;
  TimePoint time_{};
  Loop::Task wake_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace windrow::http
