#include "api/calls/call_workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <set>
#include <string>

#include "api/calls/body_memory_budget.h"
#include "api/calls/call_ids.h"

namespace windrow::api {
namespace {

TEST(CallWorkers, DoWhatWasPostedBeforeTheyStop) {
  std::atomic<int> done = 0;
  CallWorkers workers(3);
  for (int i = 0; i < 1000; ++i)
    workers.post([&] { ++done; });
  workers.stop();
  EXPECT_EQ(done, 1000);
  workers.stop();
}

TEST(CallWorkers, WorkAtTheSameTime) {
  std::latch both(2);
  CallWorkers workers(2);
  for (int i = 0; i < 2; ++i)
    workers.post([&] { both.arrive_and_wait(); });
  workers.stop();
  EXPECT_TRUE(both.try_wait());
}

// Long ones wait at a gate that only a short one opens.
TEST(CallWorkers, LongTasksLeaveAThreadForShortOnes) {
  std::latch gate(1);
  std::atomic<int> done = 0;
  CallWorkers workers(2);
  for (int i = 0; i < 10; ++i) {
    workers.post(
        [&] {
          gate.wait();
          ++done;
        },
        CallWorkers::Length::kLong);
  }
  workers.post([&] { gate.count_down(); });
  workers.stop();
  EXPECT_EQ(done, 10);
}

TEST(CallWorkers, AloneDoAllThereIs) {
  std::atomic<int> done = 0;
  CallWorkers workers(1);
  for (int i = 0; i < 10; ++i)
    workers.post([&] { ++done; },
                 i % 2 == 0 ? CallWorkers::Length::kLong : CallWorkers::Length::kShort);
  workers.stop();
  EXPECT_EQ(done, 10);
}

TEST(CallWorkers, MayPostThemselves) {
  std::latch done(1);
  CallWorkers workers(1);
  workers.post([&] { workers.post([&] { done.count_down(); }); });
  done.wait();
}

TEST(BodyMemoryBudget, BoundsBytesButLetsOneAlonePass) {
  BodyMemoryBudget admission(100'000);
  EXPECT_TRUE(admission.take(1'000'000));
  EXPECT_FALSE(admission.take(0));
  admission.release(1'000'000);
  EXPECT_EQ(admission.bytes(), 0U);
  EXPECT_TRUE(admission.take(50'000));
  EXPECT_FALSE(admission.take(50'000));
  EXPECT_TRUE(admission.take(30'000));
  // What is inside may become more, as far as there is room; one alone always.
  EXPECT_FALSE(admission.grow(20'000));
  EXPECT_TRUE(admission.grow(2'000));
  EXPECT_LE(admission.bytes(), admission.bytes_max());
  admission.release(30'000 + 2'000);
  EXPECT_TRUE(admission.grow(1'000'000));
  EXPECT_FALSE(admission.take(0));
  admission.release(50'000 + 1'000'000);
  EXPECT_EQ(admission.bytes(), 0U);
}

TEST(CallIds, NoTwoAreAlikeAndOthersStartElsewhere) {
  CallIds ids;
  CallIds others;
  std::set<std::string> seen;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_TRUE(seen.insert(ids.next()).second);
    EXPECT_TRUE(seen.insert(others.next()).second);
  }
  EXPECT_EQ(seen.begin()->size(), 32U);
  EXPECT_NE(ids.chance(), others.chance());
}

}  // namespace
}  // namespace windrow::api
