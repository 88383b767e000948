#include "app/commands/run_summary.h"

#include <gtest/gtest.h>

namespace windrow::app {
namespace {

void fill(batch::JobCounters& counters) {
  counters.rows_total = 100;
  counters.rows_before = 40;
  counters.rows_before_failed = 4;
  counters.rows_succeeded = 50;
  counters.rows_failed = 2;
  counters.attempts = 53;
  counters.prompt_tokens = 1000;
  counters.completion_tokens = 200;
}

TEST(RunSummary, CountsTheWholeJobAndThisRun) {
  batch::JobCounters counters;
  fill(counters);
  report::Summary summary;
  add_result(counters, batch::JobReport{.end = batch::JobEnd::kInterrupted}, summary);
  EXPECT_EQ(summary.end, report::RunEnd::kInterrupted);
  EXPECT_EQ(summary.exit_code, 130);
  EXPECT_EQ(summary.rows_total, 100);
  EXPECT_EQ(summary.rows_succeeded, 86);
  EXPECT_EQ(summary.rows_failed, 6);
  EXPECT_EQ(summary.rows_left(), 8);
  EXPECT_EQ(summary.rows_before, 40);
  EXPECT_EQ(summary.rows_this_run, 52);
  EXPECT_EQ(summary.attempts, 53);
  EXPECT_EQ(summary.completion_tokens, 200);
  EXPECT_EQ(interrupted_text(summary),
            "interrupted: 92 of 100 rows are done; run the same command again to continue");
  summary.rows_total = -1;
  EXPECT_EQ(interrupted_text(summary),
            "interrupted: 92 rows are done; run the same command again to continue");
  summary.error = "--max-cost 1 is too little";
  EXPECT_EQ(interrupted_text(summary), "--max-cost 1 is too little; 92 rows are done");
}

TEST(RunSummary, SaysWhyARunFailed) {
  batch::JobCounters counters;
  fill(counters);
  report::Summary summary;
  add_result(counters, Error{ErrorKind::kDiskFull, "results.jsonl: no space"}, summary);
  EXPECT_EQ(summary.end, report::RunEnd::kFailed);
  EXPECT_EQ(summary.error, "results.jsonl: no space");
  EXPECT_EQ(summary.exit_code, 2);
}

TEST(RunSummary, ARefusedRunDidNothing) {
  batch::JobCounters counters;
  const Result<batch::JobReport> refused = Error{ErrorKind::kConflict, "changed"};
  EXPECT_FALSE(did_something(counters, refused));
  EXPECT_TRUE(did_something(counters, batch::JobReport{}));
  counters.rows_failed = 1;
  EXPECT_TRUE(did_something(counters, refused));
}

TEST(RunSummary, SaysWhichMistakeStoppedAJobAndHowToGoOn) {
  batch::JobCounters counters;
  counters.rows_total = 5000;
  counters.rows_failed = 100;
  batch::FailureStop stop{.alike = true,
                          .rows = 100,
                          .line = 1,
                          .custom_id = "a",
                          .status = 400,
                          .code = "unknown_field",
                          .message = "temprature is no field"};
  report::Summary summary;
  add_result(counters,
             batch::JobReport{.end = batch::JobEnd::kStoppedByFailures, .failure_stop = stop},
             summary);
  EXPECT_EQ(summary.end, report::RunEnd::kFailed);
  EXPECT_EQ(summary.exit_code, 5);
  EXPECT_EQ(failures_text(stop, summary, false),
            "stopped, because the first 100 rows all failed alike (400 unknown_field at line 1, "
            "custom_id \"a\": temprature is no field); 4,900 rows did not run. Correct the input "
            "or the flags, then run it again with --fresh; --max-failures all runs every row all "
            "the same");
  stop.alike = false;
  stop.rows = 7;
  summary.rows_total = -1;
  EXPECT_EQ(failures_text(stop, summary, true),
            "stopped, because --max-failures 7 is reached (the last one: 400 unknown_field at line "
            "1, custom_id \"a\": temprature is no field); the other rows did not run. Correct "
            "what failed, then retry again");
}

}  // namespace
}  // namespace windrow::app
