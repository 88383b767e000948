// Jobs that stop because their rows fail.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "batch/testing/job_rig.h"

namespace windrow::batch {
namespace {

using testing::job_options;
using testing::JobOutcome;
using testing::row_line;
using testing::rows;
using testing::run_job;

using JobFailuresTest = testing::JobTest;

// Rows that no backend is asked for: their bodies have a field that there is not.
std::string mistaken_rows(int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) {
    text += fmt::format(
        "{{\"custom_id\":\"m-{}\",\"method\":\"POST\",\"url\":\"/v1/completions\","
        "\"body\":{{\"model\":\"m\",\"prompt\":\"p\",\"temprature\":0.{}}}}}\n",
        i, i);
  }
  return text;
}

JobOptions stopping() {
  JobOptions options = job_options();
  options.failure_limit = {.first_alike = true};
  return options;
}

TEST_F(JobFailuresTest, TheSameMistakeInTheFirstRowsStopsTheJob) {
  const JobOutcome outcome =
      run_job(memory_, {.input = mistaken_rows(1, 5000), .options = stopping()});
  ASSERT_TRUE(outcome.result.has_value()) << outcome.error();
  EXPECT_EQ(outcome.result->end, JobEnd::kStoppedByFailures);
  EXPECT_EQ(exit_code(outcome.result), 5);
  ASSERT_TRUE(outcome.result->failure_stop.has_value());
  EXPECT_TRUE(outcome.result->failure_stop->alike);
  EXPECT_EQ(outcome.result->failure_stop->custom_id, "m-1");
  EXPECT_EQ(outcome.submitted, 0);
  EXPECT_EQ(errors().size(), 100U) << "no more than what shows the mistake";
  EXPECT_EQ(outcome.counters->rows_failed, 100);

  // The same command goes on, and meets the same mistake.
  const JobOutcome again =
      run_job(memory_, {.input = mistaken_rows(1, 5000), .options = stopping()});
  EXPECT_EQ(exit_code(again.result), 5);
  EXPECT_EQ(errors().size(), 200U);
}

TEST_F(JobFailuresTest, CorrectedRowsRunWithRetryFailed) {
  const std::string input = mistaken_rows(1, 150);
  ASSERT_EQ(exit_code(run_job(memory_, {.input = input, .options = stopping()}).result), 5);
  JobOptions options = stopping();
  options.retry_failed = true;
  std::string corrected;
  for (int i = 1; i <= 150; ++i)
    corrected += row_line(fmt::format("m-{}", i), "p");
  const JobOutcome outcome = run_job(memory_, {.input = corrected, .options = options});
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(exit_code(outcome.result), 0);
  EXPECT_EQ(results().size(), 150U);
  EXPECT_EQ(errors().size(), 0U);
}

TEST_F(JobFailuresTest, AHundredRowsEndLikeAnyOtherJob) {
  const JobOutcome outcome =
      run_job(memory_, {.input = mistaken_rows(1, 100), .options = stopping()});
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(exit_code(outcome.result), 1);
  EXPECT_EQ(errors().size(), 100U);
}

TEST_F(JobFailuresTest, OneAnswerIsEnoughForTheOthersToRun) {
  const std::string input = rows(1, 1) + mistaken_rows(1, 500);
  const JobOutcome outcome = run_job(memory_, {.input = input, .options = stopping()});
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(errors().size(), 500U);
}

TEST_F(JobFailuresTest, RowsThatABackendRefusesCountToo) {
  std::string input;
  for (int i = 1; i <= 1000; ++i)
    input += row_line(fmt::format("row-{}", i), fmt::format("bad {}", i));
  const JobOutcome outcome = run_job(memory_, {.input = input, .options = stopping()});
  ASSERT_TRUE(outcome.result.has_value()) << outcome.error();
  EXPECT_EQ(exit_code(outcome.result), 5);
  EXPECT_EQ(outcome.result->failure_stop->code, "cannot");
  EXPECT_GE(errors().size(), 100U);
  EXPECT_EQ(results().size(), 0U);
}

TEST_F(JobFailuresTest, ANumberOfFailuresStopsTheJob) {
  JobOptions options = job_options();
  options.failure_limit = {.rows_max = 7};
  const std::string input = rows(1, 3) + mistaken_rows(1, 5000);
  const JobOutcome outcome = run_job(memory_, {.input = input, .options = options});
  ASSERT_TRUE(outcome.result.has_value()) << outcome.error();
  EXPECT_EQ(exit_code(outcome.result), 5);
  EXPECT_EQ(outcome.result->failure_stop->rows, 7);
  EXPECT_EQ(errors().size(), 7U);
}

TEST_F(JobFailuresTest, WithoutALimitEveryRowRuns) {
  const JobOutcome outcome =
      run_job(memory_, {.input = mistaken_rows(1, 300), .options = job_options()});
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(errors().size(), 300U);
}

}  // namespace
}  // namespace windrow::batch
