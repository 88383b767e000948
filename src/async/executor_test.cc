#include "async/executor.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <latch>
#include <system_error>
#include <vector>

namespace windrow::async {
namespace {

TEST(Executor, RunsWhatWasPostedBeforeItStops) {
  std::atomic<int> done = 0;
  Executor executor(3);
  for (int i = 0; i < 1000; ++i)
    executor.post([&] { ++done; });
  executor.stop();
  EXPECT_EQ(done, 1000);
  executor.stop();
}

TEST(Executor, SeveralThreadsRunTasksAtOnce) {
  // Each task waits for the other, so one thread alone would never end.
  for (const Executor::Start start : {Executor::Start::kNow, Executor::Start::kWithFirstTask}) {
    std::latch both(2);
    Executor executor(2, start);
    for (int i = 0; i < 2; ++i)
      executor.post([&] { both.arrive_and_wait(); });
    executor.stop();
    EXPECT_TRUE(both.try_wait());
  }
}

// Long tasks wait at a gate that only a short one opens.
TEST(Executor, LongTasksLeaveAThreadForShortOnes) {
  std::latch gate(1);
  std::atomic<int> done = 0;
  Executor executor(2);
  for (int i = 0; i < 10; ++i) {
    executor.post(
        [&] {
          gate.wait();
          ++done;
        },
        Executor::Length::kLong);
  }
  executor.post([&] { gate.count_down(); });
  executor.stop();
  EXPECT_EQ(done, 10);
}

TEST(Executor, OneThreadRunsTasksOfBothLengths) {
  std::atomic<int> done = 0;
  Executor executor(1);
  for (int i = 0; i < 10; ++i)
    executor.post([&] { ++done; }, i % 2 == 0 ? Executor::Length::kLong : Executor::Length::kShort);
  executor.stop();
  EXPECT_EQ(done, 10);
}

TEST(Executor, ATaskMayPostAnother) {
  std::latch done(1);
  Executor executor(1);
  executor.post([&] { executor.post([&] { done.count_down(); }); });
  done.wait();
}

TEST(Executor, OneThatStartsWithItsFirstTaskRunsEveryTaskAndWaitsForTheLast) {
  std::atomic<int> done = 0;
  {
    Executor executor(3, Executor::Start::kWithFirstTask);
    for (int i = 0; i < 500; ++i)
      executor.post([&] { ++done; });
  }
  EXPECT_EQ(done, 500);
}

TEST(Executor, OneThreadRunsTasksInOrder) {
  std::vector<int> order;
  {
    Executor executor(1, Executor::Start::kWithFirstTask);
    for (int i = 0; i < 50; ++i)
      executor.post([&, i] { order.push_back(i); });
  }
  ASSERT_EQ(order.size(), 50U);
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(Executor, WhatATaskPostsWhileItStopsIsRun) {
  std::atomic<int> done = 0;
  {
    Executor executor(1, Executor::Start::kWithFirstTask);
    executor.post([&] { executor.post([&] { ++done; }); });
  }
  EXPECT_EQ(done, 1);
}

// Runs in a process of its own, as a user without other processes who may have 50 threads. (The
// system sets root no such limit.)
[[noreturn]] void start_more_threads_than_the_user_may_have() {
  constexpr uid_t kUnusedUser = 54'321;
  const rlimit few{.rlim_cur = 50, .rlim_max = 50};
  if (setrlimit(RLIMIT_NPROC, &few) != 0) std::_Exit(2);
  if (geteuid() == 0 && setuid(kUnusedUser) != 0) std::_Exit(3);
  try {
    const Executor executor(200);
  } catch (const std::system_error&) {
    std::_Exit(0);
  }
  std::_Exit(1);
}

TEST(ExecutorDeathTest, AThreadThatTheSystemDoesNotGiveIsAnException) {
  EXPECT_EXIT(start_more_threads_than_the_user_may_have(), ::testing::ExitedWithCode(0), "");
}

TEST(ExecutorDeathTest, NothingIsPostedAfterItStopped) {
  Executor executor(1);
  executor.stop();
  EXPECT_DEATH(executor.post([] {}), "stopped");
}

}  // namespace
}  // namespace windrow::async
