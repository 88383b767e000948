#include "http/loop.h"

#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <latch>
#include <new>
#include <system_error>
#include <utility>

#include "base/ensure.h"

namespace windrow::http {

namespace asio = boost::asio;

Loop::Loop(const Clock& clock) try
    : clock_(clock), work_(context_.get_executor()), thread_([this] { work(); }) {
} catch (const boost::system::system_error& error) {
  throw std::system_error(error.code());
}

Loop::~Loop() {
  ENSURE(!is_this_thread(), "a loop cannot wait for its own thread");
  run([this] { context_.stop(); });
}

// Where memory ends, that ends what wanted it and not everybody's loop.
void Loop::work() {
  for (;;) {
    try {
      context_.run();
      return;
    } catch (const std::bad_alloc&) {
      continue;  // run() may be called again, and goes on with what comes next
    }
  }
}

void Loop::post(Task task) {
  if (posted_.put(std::move(task))) asio::post(context_, [this] { run_posted(); });
}

void Loop::run(const Task& task) {
  if (is_this_thread()) {
    task();
    return;
  }
  std::latch done(1);
  std::exception_ptr thrown;
  post([&] {
    try {
      task();
    } catch (...) {
      thrown = std::current_exception();
    }
    done.count_down();
  });
  done.wait();
  if (thrown) std::rethrow_exception(thrown);
}

void Loop::run_posted() {
  posted_.take(running_);
  for (Task& task : running_) {
    try {
      task();
    } catch (const std::bad_alloc&) {
      continue;  // as in work(): the others have their turn
    }
  }
  running_.clear();
}

void Timer::wake_at(TimePoint time, Loop::Task wake) {
  time_ = time;
  wake_ = std::move(wake);
  wait();
}

void Timer::cancel() {
  wake_ = nullptr;
  timer_.cancel();
}

void Timer::wait() {
  timer_.expires_after(time_ - loop_.clock().now());
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
    // A wait that was replaced or cancelled ends with an error, unless its end was on the way
    // already; then the time tells, and `alive` whether there is still a timer.
    if (error || alive.expired() || !wake_) return;
    if (loop_.clock().now() < time_) {
      wait();
    } else {
      std::exchange(wake_, nullptr)();
    }
  });
}

}  // namespace windrow::http
