#include "report/job_status.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

#include "base/testing/manual_clock.h"
#include "batch/result_line.h"
#include "batch/testing/job_rig.h"
#include "report/summary.h"
#include "store/testing/memory_disk.h"

namespace windrow::report {
namespace {

using batch::testing::row_line;
using batch::testing::run_job;
using store::testing::MemoryDisk;
using ::testing::HasSubstr;
using ::testing::Not;

const batch::JobPaths kPaths = *batch::job_paths("r.jsonl");

llm::PriceTable prices_of(std::string_view text) {
  return *llm::PriceTable::parse(boost::json::parse(text),
                                 [](std::string_view, std::string_view) { return "p"; });
}

class JobStatusTest : public ::testing::Test {
 protected:
  // A job of three rows, one of which failed, and a bad line; as a run leaves it.
  void leave_a_job() {
    ASSERT_TRUE(run_job(memory_, {.input = row_line("a", "1") + row_line("b", "bad") +
                                           row_line("c", "3") + "rubbish\n"})
                    .completed());
    leave_a_summary(RunEnd::kCompleted, 4);
  }

  void leave_a_summary(RunEnd end, int64_t rows_total) {
    ASSERT_TRUE(write_summary(memory_, {.end = end,
                                        .files = kPaths,
                                        .rows_total = rows_total,
                                        .rows_succeeded = 2,
                                        .rows_failed = 2,
                                        .rows_this_run = 4})
                    .has_value());
  }

  JobStatus status(size_t failures_held_max = kFailuresHeldMax) {
    auto read = read_job_status(memory_, kPaths, clock_, failures_held_max);
    EXPECT_TRUE(read.has_value()) << read.error().message;
    return *std::move(read);
  }

  // As a run does every second.
  void leave_progress(ProgressNumbers numbers) {
    ASSERT_TRUE(
        memory_
            .write_atomically(kPaths.progress,
                              progress_record_text({.numbers = std::move(numbers),
                                                    .written_unix_s = clock_.unix_seconds()}))
            .has_value());
  }

  windrow::testing::ManualClock clock_;
  MemoryDisk memory_;
};

TEST_F(JobStatusTest, AFinishedJob) {
  leave_a_job();
  const JobStatus found = status();
  EXPECT_EQ(found.state, JobState::kFinished);
  EXPECT_EQ(found.input, "requests.jsonl");
  EXPECT_EQ(found.tally->succeeded(), 2);
  EXPECT_EQ(found.tally->failed(), 2);
  EXPECT_EQ(found.superseded, 0);
  const std::string text = status_to_text(found, nullptr, 0);
  EXPECT_THAT(text, HasSubstr("job           finished; the same command with --retry-failed runs "
                              "the failed rows again\n"));
  EXPECT_THAT(text, HasSubstr("rows          2 succeeded, 2 failed\n"));
  EXPECT_THAT(text, HasSubstr("1 x 400 cannot (request); line 2, custom_id \"b\": this prompt "
                              "cannot be answered"));
  EXPECT_THAT(text, HasSubstr("1 x invalid_json_line (line); line 4: "));
  EXPECT_THAT(text, HasSubstr("tokens        6 prompt, 4 generated\n"));
  EXPECT_THAT(text, Not(HasSubstr("#")));
  EXPECT_THAT(text, Not(HasSubstr("cost")));
}

TEST_F(JobStatusTest, AJobThatAProcessRuns) {
  leave_a_job();
  const auto lock = memory_.lock(kPaths.lock);
  const JobStatus found = status();
  EXPECT_EQ(found.state, JobState::kRunning);
  EXPECT_THAT(status_to_text(found, nullptr, 0), HasSubstr("running: process 1\n"));
}

TEST_F(JobStatusTest, ARunningJobHasTotalRateAndTimeLeft) {
  leave_a_job();
  leave_progress({.phase = batch::JobPhase::kRunning,
                  .rows_done = 4,
                  .rows_total = 16,
                  .rows_failed = 2,
                  .retries = {.waiting = 3, .try_next = 2, .tries_max = 3},
                  .rows_per_s = 0.5,
                  .prompt_tokens_per_s = 20,
                  .generated_tokens_per_s = 10,
                  .elapsed = std::chrono::seconds(8),
                  .left = std::chrono::seconds(24),
                  .upstreams = {{.name = "http://gpu1:8000",
                                 .answers = 2,
                                 .in_flight = 3,
                                 .in_flight_max = 8,
                                 .state = "ok"}}});
  EXPECT_FALSE(status().progress.has_value()) << "no process runs the job";
  const auto lock = memory_.lock(kPaths.lock);
  const std::string text = status_to_text(status(), nullptr, 0);
  EXPECT_THAT(text, HasSubstr("rows          2 succeeded, 2 failed, 12 left\n"
                              "progress      4 of 16 (25.0 %) rows, 2 failed\n"
                              "rate          0.50 rows/s, 20.0 prompt and 10.0 output tokens/s\n"
                              "time          8.0 s so far, about 24 s left\n"
                              "retries       3 trying again, 2 of 3\n"
                              "server        gpu1:8000 3/8\n"));
  const boost::json::object json = status_to_json(status(), nullptr);
  EXPECT_EQ(json.at("rows").at("total"), 16);
  EXPECT_EQ(json.at("rows").at("left"), 12);
  EXPECT_EQ(json.at("progress").at("left_s"), 24.0);
  EXPECT_EQ(json.at("progress").at("age_s"), 0);
  clock_.advance(std::chrono::minutes(2));
  EXPECT_THAT(status_to_text(status(), nullptr, 0), HasSubstr("2 failed, 2 min 0 s ago\n"));
}

TEST_F(JobStatusTest, HalfAProgressRecordIsNone) {
  leave_a_job();
  const auto lock = memory_.lock(kPaths.lock);
  ASSERT_TRUE(memory_.write_atomically(kPaths.progress, "{\"version\": 1, \"pha").has_value());
  EXPECT_FALSE(status().progress.has_value());
  EXPECT_TRUE(status_to_json(status(), nullptr).at("progress").is_null());
}

TEST_F(JobStatusTest, HowTheLastRunEnded) {
  leave_a_job();
  leave_a_summary(RunEnd::kInterrupted, 9);
  EXPECT_EQ(status().state, JobState::kInterrupted);
  EXPECT_THAT(status_to_text(status(), nullptr, 0), HasSubstr("2 failed, 5 left\n"));
  leave_a_summary(RunEnd::kFailed, 9);
  EXPECT_EQ(status().state, JobState::kFailed);
  leave_a_summary(RunEnd::kCompleted, 9);
  EXPECT_EQ(status().state, JobState::kIncomplete);
}

TEST_F(JobStatusTest, LogsThatGrewSinceTheSummaryWereCutShort) {
  leave_a_job();
  const std::string results = memory_.get("r.jsonl");
  memory_.put("r.jsonl", results + "{\"id\":\"batch_re");
  const JobStatus torn = status();
  EXPECT_EQ(torn.state, JobState::kCutShort);
  EXPECT_EQ(torn.results_torn_bytes, 15U);
  EXPECT_THAT(status_to_text(torn, nullptr, 0), HasSubstr("the last 15 bytes of r.jsonl"));
  memory_.put("r.jsonl", results);
  EXPECT_EQ(status().state, JobState::kFinished);
  ASSERT_TRUE(memory_.remove(kPaths.summary).has_value());
  EXPECT_EQ(status().state, JobState::kCutShort);
}

// A server writes no summary, and whether its batch has ended is in its database.
TEST_F(JobStatusTest, ABatchOfAServerIsNotCalledKilled) {
  leave_a_job();
  ASSERT_TRUE(memory_.remove(kPaths.summary).has_value());
  JobStatus batch = status();
  batch.input = "file-0123456789abcdef0123456789abcdef";
  batch.paths.results = "data/batches/batch_12/results.jsonl";
  const std::string text = status_to_text(batch, nullptr, 0);
  EXPECT_THAT(text, HasSubstr("GET /v1/batches/batch_12\n"));
  EXPECT_EQ(text.find("killed"), std::string::npos) << text;
}

TEST_F(JobStatusTest, OddLinesAreSaidAndTheRestIsCounted) {
  leave_a_job();
  memory_.put("r.jsonl", "my notes\n" + memory_.get("r.jsonl"));
  memory_.put("r.errors.jsonl", memory_.get("r.errors.jsonl") + "{}\n");
  const JobStatus found = status();
  EXPECT_EQ(found.tally->succeeded(), 2);
  EXPECT_EQ(found.tally->odd(batch::LogKind::kResults).lines, 1);
  EXPECT_EQ(found.tally->odd(batch::LogKind::kErrors).lines, 1);
  EXPECT_THAT(status_to_text(found, nullptr, 0),
              HasSubstr("1 of r.jsonl were not written by Windrow; the first is line 1 (it "
                        "is not JSON)"));
}

// A retry that was killed, or goes on: the old line of a row that succeeded since counts no more.
TEST_F(JobStatusTest, ARowThatSucceededSinceHasNotFailed) {
  leave_a_job();
  const batch::RowKey key{
      .line = 2, .custom_id = "b", .identity = batch::row_identity("b"), .fingerprint = 1};
  memory_.put("r.jsonl", memory_.get("r.jsonl") + result_line(key, llm::Endpoint::kCompletions, "m",
                                                              {.choices = {{.text = "x"}}},
                                                              {.attempts = 1}, 0));
  const JobStatus found = status();
  EXPECT_EQ(found.tally->succeeded(), 3);
  EXPECT_EQ(found.tally->failed(), 1);
  EXPECT_EQ(found.superseded, 1);
  const JobStatus blind = status(1);
  EXPECT_TRUE(blind.superseded_unknown);
  EXPECT_EQ(blind.tally->failed(), 2);
}

TEST_F(JobStatusTest, NoFilesAreNoRows) {
  const JobStatus found = status();
  EXPECT_EQ(found.state, JobState::kCutShort);
  EXPECT_EQ(found.tally->succeeded() + found.tally->failed(), 0);
}

TEST_F(JobStatusTest, CostIsOfTheModelsThatHaveAPrice) {
  leave_a_job();
  const auto prices = prices_of(R"({"m": {"input": 100000, "output": 200000}})");
  EXPECT_DOUBLE_EQ(cost_of(*status().tally, prices).usd, 0.6 + 0.8);
  EXPECT_THAT(status_to_text(status(), &prices, 0), HasSubstr("cost          $1.40\n"));
  const auto others = prices_of(R"({"other": {"input": 1, "output": 2}})");
  EXPECT_EQ(cost_of(*status().tally, others).unpriced, std::vector<std::string>{"m"});
  EXPECT_THAT(status_to_text(status(), &others, 0),
              HasSubstr("without 2 rows of m, which have no price"));
}

TEST_F(JobStatusTest, JsonSaysTheSame) {
  leave_a_job();
  const auto prices = prices_of(R"({"m": {"input": 1, "output": 2}})");
  const boost::json::object json = status_to_json(status(), &prices);
  EXPECT_EQ(json.at("state"), "finished");
  EXPECT_EQ(json.at("running"), false);
  EXPECT_EQ(json.at("rows").at("succeeded"), 2);
  EXPECT_EQ(json.at("rows").at("total"), 4);
  EXPECT_EQ(json.at("failures").as_array().size(), 2U);
  EXPECT_TRUE(json.at("failures").at(0).at("example").at("custom_id").is_null());
  EXPECT_EQ(json.at("usage").at("prompt_tokens"), 6);
  EXPECT_EQ(json.at("latency").at("rows"), 2);
  EXPECT_EQ(json.at("models").at(0).at("model"), "m");
  EXPECT_TRUE(json.at("cost").at("usd").is_double());
  EXPECT_FALSE(status_to_json(status(), nullptr).contains("cost"));
}

TEST_F(JobStatusTest, ADrawingIsMadeWhenAsked) {
  leave_a_job();
  EXPECT_THAT(status_to_text(status(), nullptr, 60), HasSubstr("0 ms  ####"));
}

TEST(JudgeState, OnlyLogsOfTheSummaryAreJudgedByIt) {
  const batch::LastRun done{.end = "completed",
                            .error = {},
                            .rows_total = 5,
                            .rows_left = 0,
                            .results_bytes = 10,
                            .errors_bytes = 20};
  EXPECT_EQ(judge_state(done, 10, 20), JobState::kFinished);
  EXPECT_EQ(judge_state(done, 11, 20), JobState::kCutShort);
  EXPECT_EQ(judge_state(done, 10, 0), JobState::kCutShort);
  EXPECT_EQ(judge_state(std::nullopt, 0, 0), JobState::kCutShort);
}

TEST(ReadLastRun, ASummaryMayBeAnything) {
  for (const char* text : {"", "[]", "{", "{}", R"({"rows": 3})", R"({"rows": {}})"}) {
    EXPECT_FALSE(batch::read_last_run(text).has_value()) << text;
  }
  const auto last = batch::read_last_run(R"({"end": "interrupted", "error": null,
      "rows": {"total": null, "left": null}, "log_bytes": {"results": 3, "errors": 4}})");
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->rows_total, -1);
  EXPECT_EQ(last->results_bytes, 3);
}

}  // namespace
}  // namespace windrow::report
