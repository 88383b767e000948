#include "api/calls/body_memory_budget.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "api/calls/call_ids.h"

namespace windrow::api {
namespace {

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
