#include "batch/last_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/testing/eventually.h"
#include "batch/testing/job_rig.h"
#include "store/testing/memory_disk.h"

namespace windrow::batch {

namespace {

using store::testing::MemoryDisk;
using testing::echo;
using testing::entries_of;
using testing::expected_of;
using testing::job_options;
using testing::JobOutcome;
using testing::row_line;
using testing::run_job;

const std::string kInput = row_line("a", "1") + row_line("b", "2") + row_line("c", "3");

class LostResultsTest : public ::testing::Test {
 protected:
  LostResultsTest() { EXPECT_TRUE(run_job(disk_, {.input = kInput}).completed()); }

  void leave_a_summary(int64_t succeeded) {
    const std::string summary = fmt::format(
        R"({{"end":"completed","rows":{{"total":3,"left":0,"succeeded":{}}}}})", succeeded);
    ASSERT_TRUE(disk_.write_atomically("r.summary.json", summary).has_value());
  }

  void expect_refused(std::string_view why) {
    const JobOutcome outcome = run_job(disk_, {.input = kInput});
    ASSERT_FALSE(outcome.result.has_value());
    EXPECT_EQ(outcome.result.error().kind, ErrorKind::kConflict);
    EXPECT_EQ(exit_code(outcome.result), 2);
    EXPECT_EQ(outcome.submitted, 0);
    EXPECT_NE(outcome.error().find(why), std::string::npos) << outcome.error();
    EXPECT_NE(outcome.error().find("--fresh"), std::string::npos);
  }

  MemoryDisk disk_;
};

TEST_F(LostResultsTest, RemovedOnesAreSaidBeforeTheyArePaidForAgain) {
  leave_a_summary(3);
  const std::string results = disk_.get("r.jsonl");
  ASSERT_TRUE(disk_.remove("r.jsonl").has_value());
  expect_refused("r.summary.json counts 3 rows with a result, and r.jsonl is not there");
  disk_.put("r.jsonl", "");
  expect_refused("r.jsonl is empty");

  disk_.put("r.jsonl", results);
  EXPECT_EQ(run_job(disk_, {.input = kInput}).submitted, 0);

  ASSERT_TRUE(disk_.remove("r.jsonl").has_value());
  JobOptions options = job_options();
  options.fresh = true;
  const JobOutcome fresh = run_job(disk_, {.input = kInput, .options = options});
  ASSERT_TRUE(fresh.completed()) << fresh.error();
  EXPECT_TRUE(disk_.exists("r.old-1.summary.json"));
}

// Killed, so that nothing counts its rows.
TEST_F(LostResultsTest, ThoseOfAKilledRunAreMissedToo) {
  ASSERT_TRUE(disk_.remove("r.jsonl").has_value());
  expect_refused("r.job.json says that a job was begun here");
}

TEST_F(LostResultsTest, FewerThanWereCountedAreSaid) {
  leave_a_summary(3);
  const std::string results = disk_.get("r.jsonl");
  disk_.put("r.jsonl", results.substr(0, results.find('\n') + 1));
  const JobOutcome outcome = run_job(disk_, {.input = kInput});
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(outcome.start.results_before, 1);
  EXPECT_EQ(outcome.start.results_counted, 3);
  EXPECT_EQ(outcome.submitted, 2);
  EXPECT_EQ(run_job(disk_, {.input = kInput}).start.results_counted, 0);
}

TEST_F(LostResultsTest, WhereNothingWasCountedNothingIsMissing) {
  leave_a_summary(0);
  ASSERT_TRUE(disk_.remove("r.jsonl").has_value());
  EXPECT_TRUE(run_job(disk_, {.input = kInput}).completed());
}

TEST_F(LostResultsTest, AServerGoesOnByItself) {
  leave_a_summary(3);
  ASSERT_TRUE(disk_.remove("r.jsonl").has_value());
  JobOptions options = job_options();
  options.unattended = true;
  EXPECT_TRUE(run_job(disk_, {.input = kInput, .options = options}).completed());
}

// --- while a job runs -------------------------------------------------------------------------

// Each in a job of 60 rows, once there are results.
TEST(ChangedResults, EndTheJobAndSayWhy) {
  std::string input;
  for (int i = 0; i < 60; ++i)
    input += row_line(fmt::format("r{}", i), fmt::format("p{}", i));
  for (int change = 0; change < 3; ++change) {
    SCOPED_TRACE(change);
    MemoryDisk disk;
    std::string before;
    const auto script = [&](const llm::Request& request) {
      if (request.inputs.at(0).text == "p40") {
        EXPECT_TRUE(windrow::testing::eventually([&] { return !disk.get("r.jsonl").empty(); }));
        before = disk.get("r.jsonl");
        if (change == 0) EXPECT_TRUE(disk.remove("r.jsonl").has_value());
        if (change == 1) EXPECT_TRUE(disk.rename("r.jsonl", "mine.jsonl").has_value());
        if (change == 2) EXPECT_TRUE((*disk.open_append("r.jsonl"))->truncate(0).has_value());
      }
      return echo(request);
    };
    const JobOutcome outcome =
        run_job(disk, {.input = input, .script = script, .backend = {.rows_max = 1}});
    ASSERT_FALSE(outcome.result.has_value());
    EXPECT_EQ(exit_code(outcome.result), 2);
    EXPECT_NE(outcome.error().find("r.jsonl was changed while it was written; the job stopped"),
              std::string::npos)
        << outcome.error();

    // Put back, it goes on.
    disk.put("r.jsonl", before);
    ASSERT_TRUE(run_job(disk, {.input = input}).completed());
    EXPECT_EQ(entries_of(disk.get("r.jsonl")), expected_of(input).results);
  }
}

}  // namespace
}  // namespace windrow::batch
