#include "async/executor.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <fstream>
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

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kAddressSpaceIsSanitized = true;
#elif defined(__has_feature)
constexpr bool kAddressSpaceIsSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kAddressSpaceIsSanitized = false;
#endif

size_t address_space_bytes() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(Executor, AThreadThatTheSystemDoesNotGiveIsAnException) {
  if (kAddressSpaceIsSanitized) GTEST_SKIP() << "sanitizers need their address space";
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  // Room for the stacks of some threads, not for those of all.
  const rlimit tight{.rlim_cur = address_space_bytes() + (size_t{64} << 20),
                     .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  EXPECT_THROW(Executor executor(200), std::system_error);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
}

TEST(ExecutorDeathTest, NothingIsPostedAfterItStopped) {
  Executor executor(1);
  executor.stop();
  EXPECT_DEATH(executor.post([] {}), "stopped");
}

}  // namespace
}  // namespace windrow::async
