#include "upstream/watch_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace windrow::upstream {
namespace {

using std::chrono::seconds;

TEST(WatchTimes, WhoAnswersIsAskedOnceAPeriod) {
  Random random(1);
  EXPECT_EQ(until_next_question({.period = seconds(60)}, 0, random), seconds(60));
}

TEST(WatchTimes, WhoDoesNotIsAskedLessAndLessOftenUpToThePeriod) {
  Random random(2);
  const WatchTimes times{.period = seconds(60), .retry_min = seconds(1)};
  for (const int64_t failures : {1, 2, 3, 6, 7, 8, 1000}) {
    const double most = std::min(60.0, std::exp2(static_cast<double>(failures - 1)));
    double least_seen = 100;
    double most_seen = 0;
    for (int i = 0; i < 1000; ++i) {
      const double wait = windrow::seconds(until_next_question(times, failures, random));
      least_seen = std::min(least_seen, wait);
      most_seen = std::max(most_seen, wait);
    }
    EXPECT_GE(least_seen, most * 2 / 3 - 1e-6) << failures;
    EXPECT_LT(least_seen, most * 0.7) << failures;
    EXPECT_LE(most_seen, most) << failures;
    EXPECT_GT(most_seen, most * 0.95) << failures;
  }
}

}  // namespace
}  // namespace windrow::upstream
