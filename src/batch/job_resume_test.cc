// What a job does about its input and the files of an earlier run before rows run: it continues,
// compares, starts over, or refuses.
#include "batch/job_runner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "batch/outcome_writer.h"
#include "batch/testing/job_rig.h"
#include "batch/testing/pack.h"
#include "store/testing/memory_disk.h"

namespace windrow::batch {
namespace {

using testing::echo;
using testing::Entries;
using testing::expected_of;
using testing::job_options;
using testing::JobOutcome;
using testing::JobRun;
using testing::row_line;
using testing::rows;
using testing::run_job;

using JobResumeTest = testing::JobTest;

// --- resume -----------------------------------------------------------------------------------

TEST_F(JobResumeTest, AFinishedJobHasNothingToDo) {
  const std::string input = rows(1, 10) + row_line("x", "bad") + "rubbish\n" +
                            row_line("row-1", "p1") + row_line("row-1", "other");
  ASSERT_TRUE(run(input).completed());
  const std::string results_before = memory_.get("r.jsonl");
  const std::string errors_before = memory_.get("r.errors.jsonl");
  const JobOutcome again = run(input);
  ASSERT_TRUE(again.completed()) << again.error();
  EXPECT_EQ(again.submitted, 0);
  EXPECT_TRUE(again.start.resumed);
  EXPECT_EQ(memory_.get("r.jsonl"), results_before);
  EXPECT_EQ(memory_.get("r.errors.jsonl"), errors_before);
  EXPECT_EQ(again.counters->rows_before, 14);
  EXPECT_EQ(again.counters->rows_before_failed, 4);
  EXPECT_EQ(again.counters->rows_skipped, 14);
  EXPECT_EQ(again.counters->rows_done(), 14);
  EXPECT_EQ(again.result->rows_succeeded, 10);
  EXPECT_EQ(again.result->rows_failed, 4);
}

TEST_F(JobResumeTest, AppendedRowsRunAndRemovedOnesStay) {
  ASSERT_TRUE(run(rows(1, 5)).completed());
  const JobOutcome again = run(rows(3, 8));
  ASSERT_TRUE(again.completed());
  EXPECT_EQ(again.submitted, 3);
  EXPECT_EQ(results(), expected_of(rows(1, 8)).results);
}

TEST_F(JobResumeTest, RowsMayChangePlaces) {
  ASSERT_TRUE(run(rows(1, 3)).completed());
  EXPECT_EQ(run(rows(3, 3) + "\n" + rows(1, 2)).submitted, 0);
}

TEST_F(JobResumeTest, AChangedBodyStopsTheJobAndIsNamed) {
  ASSERT_TRUE(run(rows(1, 3) + row_line("x", "bad")).completed());
  const std::string results_before = memory_.get("r.jsonl");
  const std::string errors_before = memory_.get("r.errors.jsonl");
  const std::string changed =
      rows(1, 1) + row_line("row-2", "other") + rows(3, 4) + row_line("x", "good");
  const JobOutcome outcome = run(changed);
  ASSERT_FALSE(outcome.result.has_value());
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::kConflict);
  EXPECT_EQ(exit_code(outcome.result), 2);
  EXPECT_NE(outcome.error().find("2 rows"), std::string::npos) << outcome.error();
  EXPECT_NE(outcome.error().find("line 2, custom_id \"row-2\""), std::string::npos);
  EXPECT_NE(outcome.error().find("line 5, custom_id \"x\" (failed before)"), std::string::npos);
  EXPECT_EQ(outcome.submitted, 0);  // row-4 did not run either
  EXPECT_EQ(memory_.get("r.jsonl"), results_before);
  EXPECT_EQ(memory_.get("r.errors.jsonl"), errors_before);
}

TEST_F(JobResumeTest, WhatTheModelNeedNotBeLoadedForIsKnownEarly) {
  ASSERT_TRUE(run(rows(1, 1)).completed());
  JobRun job{.input = row_line("row-1", "other")};
  std::optional<Error> refusal;
  job.before = [&](JobRunner& runner) {
    while (!(refusal = runner.refusal()))
      std::this_thread::yield();
  };
  const JobOutcome outcome = run_job(memory_, job);
  EXPECT_EQ(outcome.error(), refusal->message);
}

TEST_F(JobResumeTest, ANewLayoutIsNoChange) {
  ASSERT_TRUE(run(rows(1, 1)).completed());
  const std::string laid_out =
      R"(  { "body" : { "model" : "m",  "prompt": "p1" }, "url":"/v1/completions",)"
      R"( "custom_id": "row-1" } )";
  EXPECT_EQ(run(laid_out).submitted, 0);
}

TEST_F(JobResumeTest, AChangedRowOfAStreamStopsTheJobWhereItStands) {
  ASSERT_TRUE(run(rows(1, 2)).completed());
  const JobOutcome outcome =
      run_job(memory_, {.input = rows(1, 1) + row_line("row-2", "other") + rows(3, 4),
                        .input_options = {.rereadable = false}});
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::kConflict);
  EXPECT_NE(outcome.error().find("line 2, custom_id \"row-2\""), std::string::npos);
  EXPECT_EQ(results().size(), 2U);
}

TEST_F(JobResumeTest, AStreamIsResumedToo) {
  const std::string input = rows(1, 6) + "rubbish\n";
  ASSERT_TRUE(
      run_job(memory_, {.input = rows(1, 3), .input_options = {.rereadable = false}}).completed());
  const JobOutcome outcome =
      run_job(memory_, {.input = input, .input_options = {.rereadable = false}});
  ASSERT_TRUE(outcome.completed());
  EXPECT_EQ(outcome.submitted, 3);
  EXPECT_EQ(outcome.counters->rows_before, 3);
  EXPECT_EQ(outcome.counters->rows_total, 7);
  EXPECT_EQ(outcome.counters->rows_done(), 7);
  expect_all_of(input);
}

TEST_F(JobResumeTest, TheFirstOfTwoLinesWithOneNameWins) {
  const std::string input = row_line("a", "first") + row_line("a", "second") + row_line("b", "x") +
                            row_line("a", "first");
  ASSERT_TRUE(run(input).completed());
  expect_all_of(input);
  EXPECT_EQ(errors(), (Entries{"line 2: duplicate_custom_id", "line 4: duplicate_custom_id"}));
  EXPECT_NE(memory_.get("r.errors.jsonl").find("\"custom_id\":\"a\""), std::string::npos);
  const JobOutcome again = run(input + row_line("a", "third"));
  ASSERT_TRUE(again.completed());
  EXPECT_EQ(errors(), (Entries{"line 2: duplicate_custom_id", "line 4: duplicate_custom_id",
                               "line 5: duplicate_custom_id"}));
}

TEST_F(JobResumeTest, AFailedRowIsFinalUntilItIsRetried) {
  const std::string input = rows(1, 2) + row_line("x", "bad") + "rubbish\n";
  ASSERT_TRUE(run(input).completed());
  EXPECT_EQ(run(input).submitted, 0);

  JobRun retry{.input = input, .options = job_options()};
  retry.options.retry_failed = true;
  JobOutcome outcome = run_job(memory_, retry);
  ASSERT_TRUE(outcome.completed());
  EXPECT_EQ(outcome.submitted, 1);
  EXPECT_EQ(outcome.start.retried, 2);
  EXPECT_EQ(outcome.start.errors_before, 0);
  expect_all_of(input);

  retry.script = [](const llm::Request& request) -> llm::Outcome {
    return llm::Answer{.choices = {{.text = "echo " + request.inputs.at(0).text}}};
  };
  outcome = run_job(memory_, retry);
  ASSERT_TRUE(outcome.completed());
  EXPECT_TRUE(results().contains("x: echo bad"));
  EXPECT_EQ(errors(), (Entries{"line 4: invalid_json_line"}));
}

TEST_F(JobResumeTest, ARetriedRowMayHaveChanged) {
  ASSERT_TRUE(run(rows(1, 1) + row_line("x", "bad")).completed());
  JobRun retry{.input = rows(1, 1) + row_line("x", "better"), .options = job_options()};
  retry.options.retry_failed = true;
  ASSERT_TRUE(run_job(memory_, retry).completed());
  expect_all_of(retry.input);
}

TEST_F(JobResumeTest, FreshStartsOverAndKeepsTheOldFiles) {
  ASSERT_TRUE(run(rows(1, 3) + "rubbish\n").completed());
  const std::string old = memory_.get("r.jsonl");
  JobRun fresh{.input = row_line("row-1", "other"), .options = job_options()};
  fresh.options.fresh = true;
  fresh.options.settings = {{"model", "other.gguf"}};
  const JobOutcome outcome = run_job(memory_, fresh);
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(results(), (Entries{"row-1: echo other"}));
  EXPECT_EQ(errors(), Entries{});
  EXPECT_EQ(memory_.get("r.old-1.jsonl"), old);
  EXPECT_EQ(outcome.start.moved, (std::vector<std::string>{"r.old-1.job.json", "r.old-1.jsonl",
                                                           "r.old-1.errors.jsonl"}));
}

TEST_F(JobResumeTest, SettingsKnownLateAreComparedToo) {
  JobRun job{.input = rows(1, 1)};
  job.hooks.late_settings = {{"ctx", "4096"}};
  ASSERT_TRUE(run_job(memory_, job).completed());
  EXPECT_EQ(run_job(memory_, job).error(), "");
  job.hooks.late_settings = {{"ctx", "8192"}};
  const JobOutcome outcome = run_job(memory_, job);
  EXPECT_NE(outcome.error().find("ctx: 4096 -> 8192"), std::string::npos);
  EXPECT_EQ(exit_code(outcome.result), 2);
}

// --- strict -----------------------------------------------------------------------------------

TEST_F(JobResumeTest, StrictRefusesWithEveryOffendingLine) {
  JobRun job{.input = rows(1, 2) + "rubbish\n" + row_line("row-1", "x") + row_line("l", "long"),
             .options = job_options()};
  job.options.strict = true;
  std::vector<std::string> faults;
  job.hooks.check = [](const llm::Request& request) -> std::optional<llm::Failure> {
    if (request.inputs.at(0).text != "long") return std::nullopt;
    return llm::Failure{.code = "context_length_exceeded", .message = "too long"};
  };
  job.hooks.on_fault = [&](const LineFault& fault) {
    faults.push_back(fmt::format("{} {} {}", fault.line, fault.custom_id, fault.failure.code));
  };
  const JobOutcome outcome = run_job(memory_, job);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(exit_code(outcome.result), 2);
  EXPECT_NE(outcome.error().find("3 of 5 rows"), std::string::npos) << outcome.error();
  EXPECT_EQ(faults, (std::vector<std::string>{"3  invalid_json_line", "4 row-1 duplicate_custom_id",
                                              "5 l context_length_exceeded"}));
  EXPECT_EQ(outcome.submitted, 0);
  EXPECT_TRUE(memory_.names().empty());

  job.hooks.on_fault = nullptr;
  EXPECT_NE(run_job(memory_, job).error().find("\n  line 3 "), std::string::npos);
}

TEST_F(JobResumeTest, StrictRunsWhatIsWithoutFault) {
  JobRun job{.input = rows(1, 20), .options = job_options()};
  job.options.strict = true;
  JobOutcome outcome = run_job(memory_, job);
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  expect_all_of(job.input);
  job.input = rows(1, 30);
  outcome = run_job(memory_, job);
  EXPECT_EQ(outcome.submitted, 10);
  EXPECT_EQ(outcome.counters->rows_before, 20);
  EXPECT_EQ(outcome.counters->rows_total, 30);
  job.input = row_line("row-1", "other");
  EXPECT_EQ(run_job(memory_, job).result.error().kind, ErrorKind::kConflict);
}

TEST_F(JobResumeTest, StrictNeedsAnInputThatCanBeReadTwice) {
  JobRun job{.input = rows(1, 1), .input_options = {.rereadable = false}, .options = job_options()};
  job.options.strict = true;
  EXPECT_EQ(run_job(memory_, job).result.error().kind, ErrorKind::kInvalid);
}

TEST_F(JobResumeTest, StrictRefusesAnInputThatIsCutOff) {
  const std::string packed = testing::gzipped(rows(1, 200));
  JobRun job{.input = packed.substr(0, packed.size() / 2), .options = job_options()};
  job.options.strict = true;
  EXPECT_EQ(run_job(memory_, job).submitted, 0);
  EXPECT_TRUE(memory_.names().empty());
}

}  // namespace
}  // namespace windrow::batch
