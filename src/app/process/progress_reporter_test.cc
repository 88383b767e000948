#include "app/process/progress_reporter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>

#include "base/testing/manual_clock.h"

namespace windrow::app {
namespace {

using std::chrono::seconds;

class ProgressReporterTest : public ::testing::Test {
 protected:
  ProgressReporterTest()
      : nowhere_(open("/dev/null", O_WRONLY | O_CLOEXEC)),
        console_({.output_fd = nowhere_, .error_fd = nowhere_}, {}, clock_) {}
  ~ProgressReporterTest() override { close(nowhere_); }

  report::ProgressReading reading(batch::JobPhase phase, int64_t rows) const {
    return {.at = clock_.now(), .phase = phase, .rows_this_run = rows};
  }

  windrow::testing::ManualClock clock_;
  int nowhere_;
  Console console_;
};

TEST_F(ProgressReporterTest, TheHistoryBeginsWithTheFirstRowAndEndsWithTheLast) {
  ProgressReporter::Watch watch;
  watch.look(reading(batch::JobPhase::kWaiting, 0), console_);
  clock_.advance(seconds(100));  // loading
  watch.look(reading(batch::JobPhase::kRunning, 0), console_);
  clock_.advance(seconds(4));
  watch.look(reading(batch::JobPhase::kRunning, 8), console_);
  clock_.advance(seconds(2));
  watch.look(reading(batch::JobPhase::kOrdering, 10), console_);
  clock_.advance(seconds(50));
  watch.look(reading(batch::JobPhase::kEnded, 10), console_);
  EXPECT_EQ(watch.history.length(), seconds(6));
  double rows = 0;
  for (const report::ThroughputPoint& point : watch.history.points())
    rows += point.rows;
  EXPECT_DOUBLE_EQ(rows, 10);
}

TEST_F(ProgressReporterTest, ARunBetweenTwoLooksIsNotMissed) {
  ProgressReporter::Watch watch;
  watch.look(reading(batch::JobPhase::kWaiting, 0), console_);
  clock_.advance(std::chrono::milliseconds(150));
  watch.look(reading(batch::JobPhase::kEnded, 6), console_);
  ASSERT_EQ(watch.history.points().size(), 1U);
  EXPECT_DOUBLE_EQ(watch.history.points()[0].rows, 6);
}

TEST_F(ProgressReporterTest, LooksWhileItLivesAndOnceMoreAtTheEnd) {
  std::promise<void> looked_twice;
  int looks = 0;
  batch::JobPhase phase = batch::JobPhase::kRunning;
  std::mutex mutex;
  ProgressReporter reporter(console_, [&] {
    const std::scoped_lock lock(mutex);
    clock_.advance(seconds(1));
    if (++looks == 2) looked_twice.set_value();
    return reading(phase, looks);
  });
  looked_twice.get_future().get();
  {
    const std::scoped_lock lock(mutex);
    phase = batch::JobPhase::kEnded;
  }
  reporter.stop();
  const int looks_at_the_end = looks;
  reporter.stop();  // nothing more
  EXPECT_EQ(looks, looks_at_the_end);
  EXPECT_GE(reporter.history().length(), seconds(1));
}

}  // namespace
}  // namespace windrow::app
