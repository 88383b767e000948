#include "llm/reserve.h"

#include <gtest/gtest.h>

namespace windrow::llm {
namespace {

constexpr Reserve kNone;
constexpr Reserve kServer(kServerReserve);

TEST(Reserve, KeepsNothingUnlessItIsTold) {
  for (int32_t limit = 0; limit < 100; ++limit) {
    for (const Priority priority : {Priority::kInteractive, Priority::kNormal, Priority::kBatch})
      EXPECT_EQ(kNone.places(limit, priority), limit);
  }
}

TEST(Reserve, KeepsAShareAndOfFourAtLeastOne) {
  EXPECT_EQ(kServer.places(1, Priority::kBatch), 1);
  EXPECT_EQ(kServer.places(3, Priority::kBatch), 3);
  EXPECT_EQ(kServer.places(4, Priority::kBatch), 3);
  EXPECT_EQ(kServer.places(15, Priority::kBatch), 14);
  EXPECT_EQ(kServer.places(16, Priority::kBatch), 14);
  EXPECT_EQ(kServer.places(64, Priority::kBatch), 56);
  EXPECT_EQ(kServer.places(3, Priority::kNormal), 3);
  EXPECT_EQ(kServer.places(4, Priority::kNormal), 3);
  EXPECT_EQ(kServer.places(8, Priority::kNormal), 7);
  EXPECT_EQ(kServer.places(31, Priority::kNormal), 30);
  EXPECT_EQ(kServer.places(64, Priority::kNormal), 62);
  EXPECT_EQ(kServer.places(64, Priority::kInteractive), 64);
}

TEST(Reserve, LeavesOneForEverybody) {
  constexpr Reserve kAll({.from_normal = 1, .from_batch = 2});
  for (int32_t limit = 1; limit < 10; ++limit) {
    EXPECT_EQ(kAll.places(limit, Priority::kBatch), 1);
    EXPECT_EQ(kAll.places(limit, Priority::kNormal), 1);
  }
  EXPECT_EQ(kAll.places(0, Priority::kBatch), 0);
}

TEST(Reserve, CountsThoseThatMayNotHaveWhatIsKept) {
  constexpr Reserve kTwoAndOne({.from_normal = 0.125, .from_batch = 0.25});
  EXPECT_EQ(kTwoAndOne.places_left(8, {0, 0, 2}, Priority::kBatch), 4);
  EXPECT_EQ(kTwoAndOne.places_left(8, {4, 0, 2}, Priority::kBatch), 2);
  EXPECT_EQ(kTwoAndOne.places_left(8, {1, 1, 2}, Priority::kInteractive), 4);
  EXPECT_TRUE(kTwoAndOne.has_place(8, {0, 0, 5}, Priority::kBatch));
  EXPECT_FALSE(kTwoAndOne.has_place(8, {0, 0, 6}, Priority::kBatch));
  EXPECT_TRUE(kTwoAndOne.has_place(8, {0, 0, 6}, Priority::kNormal));
  EXPECT_FALSE(kTwoAndOne.has_place(8, {0, 1, 6}, Priority::kNormal));
  EXPECT_TRUE(kTwoAndOne.has_place(8, {0, 1, 6}, Priority::kInteractive));
  EXPECT_FALSE(kTwoAndOne.has_place(8, {1, 1, 6}, Priority::kInteractive));
  // What is kept is kept from them, not for others beyond their number.
  EXPECT_TRUE(kTwoAndOne.has_place(8, {4, 0, 3}, Priority::kBatch));
  EXPECT_FALSE(kTwoAndOne.has_place(8, {5, 0, 3}, Priority::kBatch));
  EXPECT_FALSE(kTwoAndOne.has_place(8, {0, 7, 0}, Priority::kBatch));
}

TEST(Reserve, WhoGivesWayKeepsNobodyOut) {
  constexpr Reserve kGives({.from_normal = 0.125, .from_batch = 0.25, .batch_gives_way = true});
  EXPECT_EQ(kGives.places_left(8, {0, 0, 6}, Priority::kNormal), 7);
  EXPECT_EQ(kGives.places_left(8, {0, 7, 6}, Priority::kNormal), 0);
  EXPECT_EQ(kGives.places_left(8, {0, 7, 6}, Priority::kInteractive), 1);
  EXPECT_EQ(kGives.places_left(8, {0, 0, 4}, Priority::kBatch), 2);
  EXPECT_EQ(kGives.places_left(8, {0, 7, 1}, Priority::kBatch), -1) << "it has itself to wait";
}

}  // namespace
}  // namespace windrow::llm
