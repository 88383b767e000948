#include "http/loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/post.hpp>
#include <future>
#include <latch>
#include <new>
#include <thread>
#include <vector>

namespace windrow::http {
namespace {

TEST(Mailbox, TheFirstValueSinceTheLastLookAsksForAWaking) {
  Mailbox<int> mailbox;
  EXPECT_TRUE(mailbox.put(1));
  EXPECT_FALSE(mailbox.put(2));
  std::vector<int> values;
  mailbox.take(values);
  EXPECT_EQ(values, (std::vector{1, 2}));
  values.clear();
  EXPECT_TRUE(mailbox.put(3));
}

TEST(Loop, RunsWhatEachThreadPostedInItsOrderOnOneThread) {
  constexpr int kThreads = 4;
  constexpr int kPerThread = 5000;
  const SystemClock clock;
  std::vector<std::vector<int>> seen(kThreads);
  std::atomic<bool> elsewhere = false;
  {
    Loop loop(clock);
    std::vector<std::jthread> threads;
    for (size_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kPerThread; ++i) {
          loop.post([&, thread, i] {
            if (!loop.is_this_thread()) elsewhere = true;
            seen[thread].push_back(i);
          });
        }
      });
    }
  }  // the loop runs what was posted before it ends
  EXPECT_FALSE(elsewhere);
  for (const std::vector<int>& values : seen) {
    ASSERT_EQ(values.size(), size_t{kPerThread});
    for (int i = 0; i < kPerThread; ++i)
      ASSERT_EQ(values[static_cast<size_t>(i)], i);
  }
}

TEST(Loop, RunWaitsAndMayBeCalledOnTheLoopItself) {
  const SystemClock clock;
  Loop loop(clock);
  int depth = 0;
  loop.run([&] {
    depth = 1;
    loop.run([&] { depth = 2; });
  });
  EXPECT_EQ(depth, 2);
}

TEST(Timer, WakesOnceAndNotBeforeItsTime) {
  const SystemClock clock;
  Loop loop(clock);
  std::unique_ptr<Timer> timer;
  std::latch woken(1);
  const TimePoint time = clock.now() + std::chrono::milliseconds(5);
  TimePoint woken_at{};
  bool replaced_ran = false;
  loop.run([&] {
    timer = std::make_unique<Timer>(loop);
    timer->wake_at(clock.now(), [&] { replaced_ran = true; });
    timer->wake_at(time, [&] {
      woken_at = clock.now();
      woken.count_down();
    });
  });
  woken.wait();
  EXPECT_GE(woken_at, time);
  EXPECT_FALSE(replaced_ran);
  loop.run([&] { timer.reset(); });
}

TEST(Timer, CancelledDoesNotWakeAndMayBeSetAgain) {
  const SystemClock clock;
  Loop loop(clock);
  std::unique_ptr<Timer> timer;
  std::latch woken(1);
  bool cancelled_ran = false;
  loop.run([&] {
    timer = std::make_unique<Timer>(loop);
    timer->wake_at(clock.now(), [&] { cancelled_ran = true; });
    timer->cancel();
    timer->wake_at(clock.now(), [&] { woken.count_down(); });
  });
  woken.wait();
  EXPECT_FALSE(cancelled_ran);
  loop.run([&] { timer.reset(); });
}

TEST(Loop, MemoryThatEndsInOneTaskEndsNoOther) {
  const SystemClock clock;
  Loop loop(clock);
  int ran = 0;
  loop.run([&] {
    loop.post([] { throw std::bad_alloc(); });
    loop.post([&] { ++ran; });
    boost::asio::post(loop.context(), [] { throw std::bad_alloc(); });
    boost::asio::post(loop.context(), [&] { ++ran; });
  });
  EXPECT_THROW(loop.run([] { throw std::bad_alloc(); }), std::bad_alloc);
  std::promise<void> done;
  boost::asio::post(loop.context(), [&] { done.set_value(); });
  done.get_future().wait();
  EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace windrow::http
