#include "dispatch/budget.h"

#include <gtest/gtest.h>

namespace windrow::dispatch {
namespace {

TEST(Budget, NeverGivesOutMoreThanItHas) {
  Budget budget(10 * kCostUnit);
  EXPECT_TRUE(budget.keep_back(6 * kCostUnit));
  EXPECT_FALSE(budget.keep_back(6 * kCostUnit));
  EXPECT_FALSE(budget.spent_for_good(6 * kCostUnit));  // the first may cost less
  budget.spend(6 * kCostUnit, 1 * kCostUnit);
  EXPECT_TRUE(budget.keep_back(6 * kCostUnit));
  budget.spend(6 * kCostUnit, 8 * kCostUnit);
  EXPECT_EQ(budget.spent(), 9 * kCostUnit);
  EXPECT_TRUE(budget.spent_for_good(2 * kCostUnit));
}

TEST(Budget, WithoutALimitEverythingMaySpend) {
  Budget budget;
  EXPECT_TRUE(budget.keep_back(INT64_MAX / 2));
  EXPECT_FALSE(budget.spent_for_good(INT64_MAX / 2));
}

}  // namespace
}  // namespace windrow::dispatch
