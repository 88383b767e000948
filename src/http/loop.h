// Loop: one thread that waits for sockets and timers, and does what others post to it. Clients and
// servers are built on one; several may share it. What runs on it never blocks.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "http/mailbox.h"

namespace windrow::http {

// Any thread, where nothing else is said. Must outlive everything that uses it.
class Loop {
 public:
  using Task = std::function<void()>;

  // Starts the thread. `clock` is what timers go by and must outlive the loop. Throws
  // std::system_error where the system gives no file or thread for it, on the caller's thread.
  explicit Loop(const Clock& clock);

  // Runs what was posted so far and ends the thread. What still waits for a socket or a timer is
  // dropped without being told. Not on the loop's thread.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs `task` on the loop's thread, soon, after those posted before by this thread. Must not
  // throw; where memory ends in it all the same (std::bad_alloc), the others go on. Cheap: a burst
  // of tasks costs one waking.
  void post(Task task);

  // Runs `task` on the loop's thread and returns when it has run; on that thread, at once. What it
  // throws comes out here.
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
  // What waits for sockets and timers is opened with the first of these: here, where it may throw,
  // and not on the thread.
  const boost::asio::steady_timer first_timer_{context_};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  Mailbox<Task> posted_;
  std::vector<Task> running_;  // on the loop's thread
  std::jthread thread_;        // last: it uses all of the above
};

// Timer: calls something at a time of the loop's clock. Used and destroyed on the loop's thread.
class Timer {
 public:
  explicit Timer(Loop& loop) : loop_(loop), timer_(loop.context()) {}

  // Calls `wake` once, not before `time`; a later call replaces an earlier one that has not run.
  void wake_at(TimePoint time, Loop::Task wake);

  // What was asked for does not run any more.
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
