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

TEST(BodyPatience, IsForAPauseOfTheClientNotOfTheHandler) {
  const TimePoint start{seconds(1000)};
  BodyPatience patience;
  EXPECT_FALSE(patience.is_over(start + seconds(1000), seconds(30))) << "nobody waits";
  patience.wait_begins(start);
  EXPECT_FALSE(patience.is_over(start + seconds(30), seconds(30)));
  EXPECT_TRUE(patience.is_over(start + seconds(31), seconds(30)));
  patience.came(start + seconds(20), 1'000'000);
  EXPECT_FALSE(patience.is_over(start + seconds(5000), seconds(30)));
  patience.wait_begins(start + seconds(5000));
  EXPECT_FALSE(patience.is_over(start + seconds(5030), seconds(30)));
  EXPECT_TRUE(patience.is_over(start + seconds(5031), seconds(30))) << "however much came before";
}

TEST(BodyPatience, IsNotForOneWhoSendsAByteNowAndThen) {
  TimePoint now{seconds(1000)};
  BodyPatience drops;
  BodyPatience slow;
  int drops_end = 0;
  for (int i = 1; i <= 1000; ++i) {
    drops.wait_begins(now);
    slow.wait_begins(now);
    now += seconds(10);
    if (drops_end == 0 && drops.is_over(now, seconds(30))) drops_end = i;
    ASSERT_FALSE(slow.is_over(now, seconds(30))) << i;
    drops.came(now, 1);
    slow.came(now, 10 * kSlowestBodyPerS);
  }
  EXPECT_EQ(drops_end, 4);
}

}  // namespace
}  // namespace windrow::http
