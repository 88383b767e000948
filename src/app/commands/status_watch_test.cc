#include "app/commands/status_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "base/testing/manual_clock.h"
#include "store/testing/memory_disk.h"

namespace windrow::app {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

const batch::JobPaths kPaths = *batch::job_paths("r.jsonl");

// A job of which every wait of the watch is a second.
class StatusWatchTest : public ::testing::Test {
 protected:
  void SetUp() override { start(); }

  void start() {
    auto lock = disk_.lock(kPaths.lock);
    ASSERT_TRUE(lock.has_value());
    lock_ = *std::move(lock);
  }

  void leave(int64_t rows_done, batch::JobPhase phase = batch::JobPhase::kRunning) {
    report::ProgressRecord record{.numbers = {.phase = phase,
                                              .rows_done = rows_done,
                                              .rows_total = 100,
                                              .elapsed = seconds(rows_done)},
                                  .written_unix_s = clock_.unix_seconds()};
    record.numbers.failures = failures_;
    ASSERT_TRUE(
        disk_.write_atomically(kPaths.progress, report::progress_record_text(record)).has_value());
  }

  // `each` is called while the watch waits, with the number of the wait from 1; false stops it.
  Result<WatchEnd> watch(WatchForm form, const std::function<bool(int)>& each) {
    return watch_job(disk_, kPaths, clock_,
                     {.form = form,
                      .width = [this] { return width_; },
                      .write = [this](std::string_view text) { written_ += text; },
                      .wait =
                          [&](Duration time) {
                            clock_.advance(time);
                            return each(++waits_);
                          }});
  }

  windrow::testing::ManualClock clock_;
  store::testing::MemoryDisk disk_;
  std::unique_ptr<store::FileLock> lock_;
  std::vector<batch::FailureKind> failures_;
  std::string written_;
  size_t width_ = 100;
  int waits_ = 0;
};

TEST_F(StatusWatchTest, ATerminalHasOneBlockThatEndsWithTheJob) {
  leave(1);
  std::vector<std::string> drawn;
  const auto end = watch(WatchForm::kRedrawn, [&](int wait) {
    drawn.push_back(std::exchange(written_, ""));
    leave(1 + wait);
    if (wait == 3) lock_.reset();
    return true;
  });
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(*end, WatchEnd::kJobEnded);
  ASSERT_EQ(drawn.size(), 3U);
  EXPECT_EQ(drawn[0],
            "job           running: process 1\n"
            "progress      1 of 100 (1.0 %) rows\n"
            "rate          0 rows/s, 0 prompt and 0 output tokens/s, 0 rows in batch\n"
            "time          1.0 s so far, time left not known yet\n"
            "Ctrl-C ends this display, not the job.\n");
  EXPECT_THAT(drawn[1], ::testing::StartsWith("\x1b[5F\x1b[Jjob "));
  EXPECT_THAT(drawn[1], HasSubstr("2 of 100"));
  EXPECT_EQ(written_, "\x1b[5F\x1b[J");
}

TEST_F(StatusWatchTest, LinesAreNeverWiderThanTheTerminal) {
  failures_ = {{.status = 400, .code = std::string(200, 'x'), .rows = 7}};
  leave(1);
  width_ = 30;
  ASSERT_TRUE(watch(WatchForm::kRedrawn, [](int) { return false; }).has_value());
  size_t begin = 0;
  for (size_t end = written_.find('\n'); end != std::string::npos;
       end = written_.find('\n', begin)) {
    EXPECT_LT(end - begin, width_);
    begin = end + 1;
  }
  EXPECT_THAT(written_, HasSubstr("failures      7 x 400 xxxx"));
}

TEST_F(StatusWatchTest, AFileGetsALineEveryTenSecondsAndInEachPhase) {
  leave(0);
  const auto end = watch(WatchForm::kLines, [&](int wait) {
    leave(wait, wait < 25 ? batch::JobPhase::kRunning : batch::JobPhase::kStopping);
    return wait < 26;
  });
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(*end, WatchEnd::kStopped);
  EXPECT_THAT(written_, ::testing::MatchesRegex("0 of 100 rows done[^\n]*\n"
                                                "10 of 100 rows done[^\n]*\n"
                                                "20 of 100 rows done[^\n]*\n"
                                                "stopping: 25 of 100 rows done[^\n]*\n"));
  EXPECT_THAT(written_, Not(HasSubstr("\x1b")));
}

TEST_F(StatusWatchTest, AsJson) {
  leave(4);
  ASSERT_TRUE(watch(WatchForm::kJson, [](int) { return false; }).has_value());
  const boost::json::value value = boost::json::parse(written_);
  EXPECT_EQ(value.at("rows_done"), 4);
  EXPECT_EQ(value.at("rows_total"), 100);
}

TEST_F(StatusWatchTest, AJobThatLoadsItsModelHasNoProgressYet) {
  ASSERT_TRUE(watch(WatchForm::kRedrawn, [](int) { return false; }).has_value());
  EXPECT_THAT(written_, HasSubstr("no row has run yet"));
}

TEST_F(StatusWatchTest, AJobThatNoProcessRunsIsNotWaitedFor) {
  lock_.reset();
  const auto end = watch(WatchForm::kRedrawn, [](int) { return true; });
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(*end, WatchEnd::kJobEnded);
  EXPECT_EQ(waits_, 0);
  EXPECT_EQ(written_, "");
}

}  // namespace
}  // namespace windrow::app
