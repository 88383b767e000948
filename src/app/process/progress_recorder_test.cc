#include "app/process/progress_recorder.h"

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "report/progress_record.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/memory_disk.h"

namespace windrow::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ProgressRecorderTest : public ::testing::Test {
 protected:
  static report::ProgressNumbers numbers(int64_t rows_done,
                                         batch::JobPhase phase = batch::JobPhase::kRunning) {
    return {.phase = phase, .rows_done = rows_done, .rows_total = 100};
  }

  // -1: there is no file.
  int64_t rows_in_file() {
    const auto text = disk_.read_all("r.progress.json");
    if (!text) return -1;
    const auto record = report::read_progress_record(*text);
    EXPECT_TRUE(record.has_value()) << *text;
    return record ? record->numbers.rows_done : -1;
  }

  windrow::testing::ManualClock clock_;
  store::testing::MemoryDisk disk_;
};

TEST_F(ProgressRecorderTest, TheFileIsThereWhileRowsRun) {
  {
    ProgressRecorder recorder(disk_, clock_, "r.progress.json");
    recorder.observe(numbers(0, batch::JobPhase::kWaiting));
    EXPECT_EQ(rows_in_file(), -1);
    recorder.observe(numbers(1));
    EXPECT_EQ(rows_in_file(), 1);
    EXPECT_FALSE(disk_.exists("r.progress.json.tmp"));
  }
  EXPECT_EQ(rows_in_file(), -1);
}

TEST_F(ProgressRecorderTest, IsWrittenOnceASecondAndInANewPhase) {
  ProgressRecorder recorder(disk_, clock_, "r.progress.json");
  recorder.observe(numbers(1));
  clock_.advance(milliseconds(900));
  recorder.observe(numbers(2));
  EXPECT_EQ(rows_in_file(), 1);
  clock_.advance(milliseconds(100));
  recorder.observe(numbers(3));
  EXPECT_EQ(rows_in_file(), 3);
  recorder.observe(numbers(4, batch::JobPhase::kStopping));
  EXPECT_EQ(rows_in_file(), 4);
}

TEST_F(ProgressRecorderTest, AFileThatAKilledRunLeftIsNotTakenForThisRun) {
  ASSERT_TRUE(disk_.write_atomically("r.progress.json", "of a killed run").has_value());
  const ProgressRecorder recorder(disk_, clock_, "r.progress.json");
  EXPECT_FALSE(disk_.exists("r.progress.json"));
}

TEST_F(ProgressRecorderTest, AFullDiskKeepsTheOldFileAndNothingElse) {
  store::testing::FaultyDisk full(disk_);
  ProgressRecorder recorder(full, clock_, "r.progress.json");
  recorder.observe(numbers(1));
  full.set_faults({.bytes_until_full = 10});
  clock_.advance(seconds(1));
  recorder.observe(numbers(2));
  EXPECT_EQ(rows_in_file(), 1);
  EXPECT_FALSE(disk_.exists("r.progress.json.tmp"));
  full.set_faults({});
  clock_.advance(seconds(1));
  recorder.observe(numbers(3));
  EXPECT_EQ(rows_in_file(), 3);
}

}  // namespace
}  // namespace windrow::app
