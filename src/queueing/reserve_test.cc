#include "queueing/reserve.h"

#include <gtest/gtest.h>

namespace windrow::queueing {
namespace {

using llm::Priority;

constexpr Reserve kNone;
constexpr Reserve kServer(kServerReserve);

TEST(Reserve, HoldsNothingBackByDefault) {
  for (int32_t limit = 0; limit < 100; ++limit) {
    for (const Priority priority : {Priority::kInteractive, Priority::kNormal, Priority::kBatch})
      EXPECT_EQ(kNone.capacity(limit, priority), limit);
  }
}

TEST(Reserve, HoldsBackAShareAndOneSlotOfFour) {
  EXPECT_EQ(kServer.capacity(1, Priority::kBatch), 1);
  EXPECT_EQ(kServer.capacity(3, Priority::kBatch), 3);
  EXPECT_EQ(kServer.capacity(4, Priority::kBatch), 3);
  EXPECT_EQ(kServer.capacity(15, Priority::kBatch), 14);
  EXPECT_EQ(kServer.capacity(16, Priority::kBatch), 14);
  EXPECT_EQ(kServer.capacity(64, Priority::kBatch), 56);
  EXPECT_EQ(kServer.capacity(3, Priority::kNormal), 3);
  EXPECT_EQ(kServer.capacity(4, Priority::kNormal), 3);
  EXPECT_EQ(kServer.capacity(8, Priority::kNormal), 7);
  EXPECT_EQ(kServer.capacity(31, Priority::kNormal), 30);
  EXPECT_EQ(kServer.capacity(64, Priority::kNormal), 62);
  EXPECT_EQ(kServer.capacity(64, Priority::kInteractive), 64);
}

TEST(Reserve, LeavesOneSlotToEachPriority) {
  constexpr Reserve kAll({.from_normal = 1, .from_batch = 2});
  for (int32_t limit = 1; limit < 10; ++limit) {
    EXPECT_EQ(kAll.capacity(limit, Priority::kBatch), 1);
    EXPECT_EQ(kAll.capacity(limit, Priority::kNormal), 1);
  }
  EXPECT_EQ(kAll.capacity(0, Priority::kBatch), 0);
}

TEST(Reserve, CountsTheSlotsOfLowerPriorities) {
  constexpr Reserve kTwoAndOne({.from_normal = 0.125, .from_batch = 0.25});
  EXPECT_EQ(kTwoAndOne.slots_left(8, {0, 0, 2}, Priority::kBatch), 4);
  EXPECT_EQ(kTwoAndOne.slots_left(8, {4, 0, 2}, Priority::kBatch), 2);
  EXPECT_EQ(kTwoAndOne.slots_left(8, {1, 1, 2}, Priority::kInteractive), 4);
  EXPECT_TRUE(kTwoAndOne.has_slot(8, {0, 0, 5}, Priority::kBatch));
  EXPECT_FALSE(kTwoAndOne.has_slot(8, {0, 0, 6}, Priority::kBatch));
  EXPECT_TRUE(kTwoAndOne.has_slot(8, {0, 0, 6}, Priority::kNormal));
  EXPECT_FALSE(kTwoAndOne.has_slot(8, {0, 1, 6}, Priority::kNormal));
  EXPECT_TRUE(kTwoAndOne.has_slot(8, {0, 1, 6}, Priority::kInteractive));
  EXPECT_FALSE(kTwoAndOne.has_slot(8, {1, 1, 6}, Priority::kInteractive));
  // Reserved slots are out of reach of lower priorities, whichever priority holds the others.
  EXPECT_TRUE(kTwoAndOne.has_slot(8, {4, 0, 3}, Priority::kBatch));
  EXPECT_FALSE(kTwoAndOne.has_slot(8, {5, 0, 3}, Priority::kBatch));
  EXPECT_FALSE(kTwoAndOne.has_slot(8, {0, 7, 0}, Priority::kBatch));
}

TEST(Reserve, PreemptibleRequestsDoNotCountAgainstHigherPriorities) {
  constexpr Reserve kPreempting(
      {.from_normal = 0.125, .from_batch = 0.25, .batch_is_preemptible = true});
  EXPECT_EQ(kPreempting.slots_left(8, {0, 0, 6}, Priority::kNormal), 7);
  EXPECT_EQ(kPreempting.slots_left(8, {0, 7, 6}, Priority::kNormal), 0);
  EXPECT_EQ(kPreempting.slots_left(8, {0, 7, 6}, Priority::kInteractive), 1);
  EXPECT_EQ(kPreempting.slots_left(8, {0, 0, 4}, Priority::kBatch), 2);
  EXPECT_EQ(kPreempting.slots_left(8, {0, 7, 1}, Priority::kBatch), -1)
      << "batch itself has to wait";
}

}  // namespace
}  // namespace windrow::queueing
