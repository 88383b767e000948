#include "program/tasks/task_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"

namespace windrow::program {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using End = TaskGroup::BranchEnd;

TEST(TaskGroup, AllStartsEveryBranchAndWaitsForTheLast) {
  TaskGroup group(GroupKind::kAll, 3, 256);
  EXPECT_THAT(group.to_start(), ElementsAre(0, 1, 2));
  group.ended(1, End::kReturned);
  group.ended(0, End::kReturned);
  EXPECT_FALSE(group.is_over());
  EXPECT_THAT(group.to_cancel(), IsEmpty());
  group.ended(2, End::kReturned);
  EXPECT_TRUE(group.is_over());
  EXPECT_EQ(group.decided_by(), std::nullopt);
}

TEST(TaskGroup, MapRunsNoMoreThanItsLimit) {
  TaskGroup group(GroupKind::kMap, 5, 2);
  EXPECT_THAT(group.to_start(), ElementsAre(0, 1));
  EXPECT_THAT(group.to_start(), IsEmpty());
  group.ended(0, End::kReturned);
  EXPECT_THAT(group.to_start(), ElementsAre(2));
  group.ended(2, End::kReturned);
  group.ended(1, End::kReturned);
  EXPECT_THAT(group.to_start(), ElementsAre(3, 4));
  EXPECT_FALSE(group.is_over());
}

TEST(TaskGroup, NothingToDoIsOverAtOnce) {
  TaskGroup group(GroupKind::kMap, 0, 4);
  EXPECT_THAT(group.to_start(), IsEmpty());
  EXPECT_TRUE(group.is_over());
}

TEST(TaskGroup, TheFirstErrorCancelsTheOthersAndStartsNoMore) {
  TaskGroup group(GroupKind::kMap, 5, 3);
  group.to_start();
  group.ended(1, End::kFailed);
  EXPECT_THAT(group.to_cancel(), ElementsAre(0, 2));
  EXPECT_THAT(group.to_cancel(), IsEmpty());
  EXPECT_THAT(group.to_start(), IsEmpty());
  group.ended(0, End::kCancelled);
  EXPECT_FALSE(group.is_over());
  // An error of a branch that was being cancelled does not replace the first one.
  group.ended(2, End::kFailed);
  EXPECT_TRUE(group.is_over());
  EXPECT_TRUE(group.has_failed());
  EXPECT_EQ(group.decided_by(), 1U);
}

TEST(TaskGroup, TheFirstOfARaceDecides) {
  TaskGroup group(GroupKind::kRace, 3, 1);
  EXPECT_THAT(group.to_start(), ElementsAre(0, 1, 2));
  group.ended(2, End::kReturned);
  EXPECT_THAT(group.to_cancel(), ElementsAre(0, 1));
  group.ended(0, End::kCancelled);
  group.ended(1, End::kReturned);
  EXPECT_TRUE(group.is_over());
  EXPECT_FALSE(group.has_failed());
  EXPECT_EQ(group.decided_by(), 2U);
}

TEST(TaskGroup, AWaitingTaskThatIsCancelledTakesAllBranchesWithIt) {
  TaskGroup group(GroupKind::kAll, 2, 1);
  group.to_start();
  group.cancel();
  EXPECT_THAT(group.to_cancel(), ElementsAre(0));
  EXPECT_THAT(group.to_start(), IsEmpty());
  group.ended(0, End::kCancelled);
  EXPECT_TRUE(group.is_over());
  EXPECT_EQ(group.decided_by(), std::nullopt);
}

TEST(TaskGroup, HoldsItsPromisesOnRandomWalks) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto kind = static_cast<GroupKind>(random.below(3));
    const size_t count = random.below(9);
    const size_t limit = 1 + random.below(4);
    TaskGroup group(kind, count, limit);
    std::set<size_t> running;
    std::set<size_t> stopping;
    std::set<size_t> started;
    bool failed = false;
    while (true) {
      for (const size_t index : group.to_start()) {
        EXPECT_TRUE(started.insert(index).second);
        EXPECT_FALSE(failed);
        running.insert(index);
      }
      for (const size_t index : group.to_cancel()) {
        EXPECT_TRUE(running.contains(index));
        EXPECT_TRUE(stopping.insert(index).second);
      }
      if (kind != GroupKind::kRace) EXPECT_LE(running.size(), limit);
      if (running.empty()) break;
      if (random.chance(0.03)) group.cancel();
      auto next = running.begin();
      std::advance(next, random.below(running.size()));
      const bool is_stopping = stopping.contains(*next);
      const End end = is_stopping && random.chance(0.8) ? End::kCancelled
                      : random.chance(0.1)              ? End::kFailed
                                                        : End::kReturned;
      if (end == End::kFailed) failed = true;
      group.ended(*next, end);
      running.erase(next);
    }
    EXPECT_TRUE(group.is_over() || (kind == GroupKind::kRace && count == 0));
    if (group.has_failed()) EXPECT_TRUE(failed);
    if (group.decided_by()) EXPECT_TRUE(started.contains(*group.decided_by()));
  }
}

}  // namespace
}  // namespace windrow::program
