#include "base/random.h"

#include <gtest/gtest.h>

#include <array>

namespace windrow {
namespace {

TEST(Random, GivesThePublishedNumbersOfSplitmix64) {
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317ULL);
  EXPECT_EQ(random.next(), 3203168211198807973ULL);
}

TEST(Random, BelowReachesEveryNumberAndNoOther) {
  Random random(1);
  std::array<int, 7> seen{};
  for (int i = 0; i < 7000; ++i)
    ++seen.at(random.below(7));
  for (const int count : seen)
    EXPECT_NEAR(count, 1000, 200);
}

TEST(Random, UnitStaysBelowOne) {
  Random random(2);
  for (int i = 0; i < 10000; ++i) {
    const double value = random.unit();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
  }
}

}  // namespace
}  // namespace windrow
