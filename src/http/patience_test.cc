#include "http/patience.h"

#include <gtest/gtest.h>

namespace windrow::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Patience, IsLessTheFullerTheServerIs) {
  EXPECT_EQ(idle_allowed(seconds(75), 0, 1000), seconds(75));
  EXPECT_EQ(idle_allowed(seconds(75), 749, 1000), seconds(75));
  EXPECT_EQ(idle_allowed(seconds(75), 875, 1000), seconds(38));
  EXPECT_EQ(idle_allowed(seconds(75), 1000, 1000), seconds(1));
  EXPECT_EQ(idle_allowed(seconds(75), 1001, 1000), seconds(1));
  for (size_t connections = 1; connections <= 1000; ++connections) {
    EXPECT_LE(idle_allowed(seconds(75), connections, 1000),
              idle_allowed(seconds(75), connections - 1, 1000));
  }
}

TEST(Patience, IsNeverMoreThanWasAskedFor) {
  EXPECT_EQ(idle_allowed(milliseconds(300), 10, 10), milliseconds(300));
  EXPECT_EQ(idle_allowed(seconds(75), 1, 1), seconds(1));
}

}  // namespace
}  // namespace windrow::http
