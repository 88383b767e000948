#include "app/process/periodic_task.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "http/loop.h"

namespace windrow::app {
namespace {

// Counts runs and lets a test wait for them.
class Runs {
 public:
  void add() {
    const std::scoped_lock lock(mutex_);
    ++count_;
    changed_.notify_all();
  }

  void wait_for(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= count; });
  }

  int count() const {
    const std::scoped_lock lock(mutex_);
    return count_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

class PeriodicTaskTest : public ::testing::Test {
 protected:
  SystemClock clock_;
  http::Loop loop_{clock_};
  Runs runs_;
};

TEST_F(PeriodicTaskTest, RunsAgainAndAgainAndNotOnTheLoop) {
  std::atomic<bool> on_loop = false;
  const PeriodicTask task(loop_, std::chrono::milliseconds(1), [&] {
    if (loop_.is_this_thread()) on_loop = true;
    runs_.add();
  });
  runs_.wait_for(5);
  EXPECT_FALSE(on_loop);
}

TEST_F(PeriodicTaskTest, ALongRunIsFollowedByOneAndTheEndWaitsForIt) {
  std::atomic<int> inside = 0;
  std::atomic<int> inside_max = 0;
  {
    const PeriodicTask task(loop_, std::chrono::milliseconds(1), [&] {
      inside_max = std::max<int>(inside_max, ++inside);
      // As long as several periods: the loop's timer fires meanwhile.
      for (int i = 0; i < 1000; ++i)
        loop_.run([] {});
      --inside;
      runs_.add();
    });
    runs_.wait_for(3);
  }
  EXPECT_EQ(inside_max, 1);
  EXPECT_EQ(inside, 0);
  const int count = runs_.count();
  loop_.run([] {});
  EXPECT_EQ(runs_.count(), count);
}

TEST_F(PeriodicTaskTest, WithoutARunItEndsAtOnce) {
  {
    const PeriodicTask task(loop_, std::chrono::hours(1), [&] { runs_.add(); });
  }
  EXPECT_EQ(runs_.count(), 0);
}

}  // namespace
}  // namespace windrow::app
