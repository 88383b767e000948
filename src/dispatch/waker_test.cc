#include "dispatch/waker.h"

#include <gtest/gtest.h>

namespace windrow::dispatch {
namespace {

class ThreadWakerTest : public ::testing::Test {
 protected:
  void start() {
    waker_.start([this] {
      const std::scoped_lock lock(mutex_);
      ++calls_;
      changed_.notify_all();
    });
  }

  void wait_for_calls(int calls) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return calls_ >= calls; });
  }

  const SystemClock clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int calls_ = 0;
  ThreadWaker waker_{clock_};
};

TEST_F(ThreadWakerTest, CallsWhenTheTimeHasCome) {
  start();
  const TimePoint at = clock_.now() + std::chrono::milliseconds(5);
  waker_.wake_at(at);
  wait_for_calls(1);
  EXPECT_GE(clock_.now(), at);
  waker_.wake_at(clock_.now());
  wait_for_calls(2);
}

TEST_F(ThreadWakerTest, AnEarlierTimeReplacesALater) {
  start();
  waker_.wake_at(clock_.now() + std::chrono::hours(1));
  waker_.wake_at(clock_.now());
  wait_for_calls(1);
}

TEST_F(ThreadWakerTest, StopsWhileItWaits) {
  start();
  waker_.wake_at(clock_.now() + std::chrono::hours(1));
  waker_.stop();
  waker_.wake_at(clock_.now());
  EXPECT_EQ(calls_, 0);
}

}  // namespace
}  // namespace windrow::dispatch
