#include "report/throughput_history.h"

#include <gtest/gtest.h>

namespace windrow::report {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

ProgressReading reading(Duration at, int64_t rows, int32_t running = 4) {
  ProgressReading result{.at = TimePoint(hours(7) + at), .rows_this_run = rows};
  result.backend.rows_running = running;
  result.backend.prompt_tokens = 10 * rows;
  result.backend.generated_tokens = 3 * rows;
  return result;
}

ThroughputPoint sum(const ThroughputHistory& history) {
  ThroughputPoint total;
  for (const ThroughputPoint& point : history.points()) {
    total.rows += point.rows;
    total.prompt_tokens += point.prompt_tokens;
    total.generated_tokens += point.generated_tokens;
    total.row_seconds += point.row_seconds;
  }
  return total;
}

TEST(ThroughputHistory, CountsGoToTheirSecond) {
  ThroughputHistory history;
  history.observe(reading(seconds(0), 5));
  history.observe(reading(milliseconds(500), 6));
  history.observe(reading(milliseconds(1000), 8));
  history.observe(reading(milliseconds(1500), 9));
  ASSERT_EQ(history.points().size(), 2U);
  EXPECT_DOUBLE_EQ(history.points()[0].rows, 3);
  EXPECT_DOUBLE_EQ(history.points()[0].prompt_tokens, 30);
  EXPECT_DOUBLE_EQ(history.points()[0].generated_tokens, 9);
  EXPECT_DOUBLE_EQ(history.points()[0].row_seconds, 4);
  EXPECT_DOUBLE_EQ(history.points()[1].rows, 1);
  EXPECT_EQ(history.length(), milliseconds(1500));
}

TEST(ThroughputHistory, WhatHappenedBetweenTwoReadingsIsSpreadOverThem) {
  ThroughputHistory history;
  history.observe(reading(seconds(0), 0));
  history.observe(reading(seconds(4), 8));
  ASSERT_EQ(history.points().size(), 4U);
  for (const ThroughputPoint& point : history.points())
    EXPECT_DOUBLE_EQ(point.rows, 2);
}

TEST(ThroughputHistory, MergesWhenFullAndLosesNothing) {
  ThroughputHistory history(8);
  for (int64_t second = 0; second <= 100; ++second) {
    history.observe(reading(seconds(second), 2 * second));
    EXPECT_LE(history.points().size(), 8U);
  }
  EXPECT_EQ(history.point_length(), seconds(16));
  EXPECT_NEAR(sum(history).rows, 200, 1e-9);
  EXPECT_NEAR(sum(history).prompt_tokens, 2000, 1e-9);
  EXPECT_NEAR(sum(history).row_seconds, 400, 1e-9);
  EXPECT_NEAR(history.points()[2].rows, 32, 1e-9);
}

TEST(ThroughputHistory, ALongGapCostsNothing) {
  ThroughputHistory history(2000);
  history.observe(reading(seconds(0), 0));
  history.observe(reading(hours(24 * 365), 1'000'000));
  EXPECT_LE(history.points().size(), 2000U);
  EXPECT_NEAR(sum(history).rows, 1'000'000, 1e-3);
}

TEST(ThroughputHistory, TwoReadingsAtOneTimeLoseNothing) {
  ThroughputHistory history;
  history.observe(reading(seconds(0), 0));
  history.observe(reading(seconds(1), 1));
  history.observe(reading(seconds(1), 5));
  history.observe(reading(seconds(2), 6));
  EXPECT_DOUBLE_EQ(sum(history).rows, 6);
}

}  // namespace
}  // namespace windrow::report
