#include "api/calls/active_calls.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace windrow::api {
namespace {

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
