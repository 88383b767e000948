#include "sim_upstream/rate_limit.h"

#include <gtest/gtest.h>

namespace windrow::sim_upstream {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr TimePoint kStart{};

TEST(RateLimit, AMinutesWorthAtOnceAndThenTheRate) {
  RateLimit limit(60);
  for (int i = 0; i < 60; ++i) {
    EXPECT_TRUE(limit.has(1, kStart));
    limit.spend(1, kStart);
  }
  EXPECT_FALSE(limit.has(1, kStart));
  EXPECT_EQ(limit.remaining(kStart), 0);
  EXPECT_EQ(limit.until(1, kStart), Duration(seconds(1)));
  EXPECT_FALSE(limit.has(1, kStart + milliseconds(999)));
  EXPECT_TRUE(limit.has(1, kStart + seconds(1)));
  EXPECT_EQ(limit.until_full(kStart + seconds(1)), Duration(seconds(59)));
  EXPECT_EQ(limit.remaining(kStart + minutes(10)), 60);
}

TEST(RateLimit, WhatIsLargerThanTheBucketPassesWhenItIsFull) {
  RateLimit limit(100);
  EXPECT_TRUE(limit.has(250, kStart));
  limit.spend(250, kStart);
  EXPECT_FALSE(limit.has(1, kStart + seconds(90)));
  EXPECT_TRUE(limit.has(1, kStart + seconds(91)));
}

TEST(RateLimit, NoLimit) {
  RateLimit limit(0);
  limit.spend(1'000'000, kStart);
  EXPECT_TRUE(limit.has(1'000'000, kStart));
}

}  // namespace
}  // namespace windrow::sim_upstream
