#include "engine/structure/task_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace windrow::engine {
namespace {

TEST(TaskThreads, DoesEveryTaskOnceAndWaitsForTheLast) {
  std::atomic<int> done = 0;
  {
    TaskThreads threads(3);
    for (int i = 0; i < 500; ++i)
      threads.add([&] { ++done; });
  }
  EXPECT_EQ(done, 500);
}

TEST(TaskThreads, OneDoesThemInOrder) {
  std::vector<int> order;
  {
    TaskThreads thread(1);
    for (int i = 0; i < 50; ++i)
      thread.add([&, i] { order.push_back(i); });
  }
  ASSERT_EQ(order.size(), 50U);
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(TaskThreads, SeveralWorkAtOnce) {
  // Each waits for the other, so one thread alone would never end.
  std::latch both(2);
  TaskThreads threads(2);
  for (int i = 0; i < 2; ++i)
    threads.add([&] { both.arrive_and_wait(); });
  both.wait();
}

TEST(TaskThreads, ATaskMayAddAnother) {
  std::atomic<int> done = 0;
  {
    TaskThreads threads(1);
    threads.add([&] { threads.add([&] { ++done; }); });
  }
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace windrow::engine
