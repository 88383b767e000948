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

using store::testing::MemoryDisk;
using testing::echo;
using testing::Entries;
using testing::input_lines_of;
using testing::job_options;
using testing::JobOutcome;
using testing::JobRun;
using testing::row_line;
using testing::rows;
using testing::run_job;

using JobRunnerTest = testing::JobTest;

// --- a job ------------------------------------------------------------------------------------

TEST_F(JobRunnerTest, EveryRowGetsItsLine) {
  const std::string input = rows(1, 50) + row_line("x", "bad one") + "\nrubbish\n{}\n" +
                            row_line("row-3", "again") + R"({"custom_id":"u","url":"/v2"})";
  const JobOutcome outcome = run(input);
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  expect_all_of(input);
  EXPECT_EQ(exit_code(outcome.result), 1);
  EXPECT_EQ(outcome.result->rows_succeeded, 50);
  EXPECT_EQ(outcome.result->rows_failed, 5);
  EXPECT_EQ(outcome.submitted, 51);
  EXPECT_FALSE(outcome.start.resumed);

  const JobCounters& counters = *outcome.counters;
  EXPECT_EQ(counters.phase, JobPhase::kEnded);
  EXPECT_EQ(counters.rows_total, 55);
  EXPECT_EQ(counters.rows_before, 0);
  EXPECT_EQ(counters.rows_succeeded, 50);
  EXPECT_EQ(counters.rows_failed, 5);
  EXPECT_EQ(counters.rows_done(), 55);
  EXPECT_EQ(counters.prompt_tokens, 150);
  EXPECT_EQ(counters.completion_tokens, 100);
  EXPECT_EQ(counters.texts, 0) << "these are answers";
  EXPECT_EQ(counters.attempts, 51);
  int64_t failed = 0;
  for (const FailureKind& kind : counters.failures.read()) {
    failed += kind.rows;
    if (kind.code == "cannot") EXPECT_EQ(kind.status, 400);
    if (kind.code == "invalid_json_line") EXPECT_EQ(kind.status, 0);
  }
  EXPECT_EQ(failed, 5);
  EXPECT_EQ(counters.rows_queued, 0);
  EXPECT_EQ(counters.rows_in_flight, 0);
  EXPECT_EQ(counters.rows_unwritten, 0);
  EXPECT_EQ(counters.input_bytes_read, static_cast<int64_t>(input.size()));
  EXPECT_EQ(counters.input_bytes_total, static_cast<int64_t>(input.size()));
  EXPECT_EQ(counters.log_bytes, static_cast<int64_t>(memory_.get("r.jsonl").size() +
                                                     memory_.get("r.errors.jsonl").size()));
}

TEST_F(JobRunnerTest, EmbeddingsAreCountedAsTexts) {
  const auto embed = [](const llm::Request& request) -> llm::Outcome {
    llm::Answer answer;
    answer.embeddings.resize(request.inputs.size(), {1.0F});
    answer.usage = {.prompt_tokens = 4};
    return answer;
  };
  const JobOutcome outcome = run_job(
      memory_, {.input = R"({"custom_id":"a","url":"/v1/embeddings","body":{"input":["x","y"]}})"
                         "\n"
                         R"({"custom_id":"b","url":"/v1/embeddings","body":{"input":"z"}})"
                         "\n",
                .script = embed});
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(outcome.counters->rows_of_texts, 2);
  EXPECT_EQ(outcome.counters->texts, 3);
}

TEST_F(JobRunnerTest, WithoutFailuresTheCodeIsZero) {
  EXPECT_EQ(exit_code(run(rows(1, 3)).result), 0);
  MemoryDisk other;
  EXPECT_EQ(exit_code(run_job(other, {.input = ""}).result), 0);
}

TEST_F(JobRunnerTest, NoBadLineCostsMoreThanItself) {
  const std::string input = rows(1, 1) + "{\"custom_id\":\"a\xFF\"}\n" + std::string(70'000, '[') +
                            "\n" + rows(2, 2) + "null\n\"x\"\n" +
                            R"({"custom_id":7})"
                            "\n" +
                            R"({"custom_id":"g","method":"GET","url":"/v1/completions","body":{}})"
                            "\n" +
                            rows(3, 3);
  ASSERT_TRUE(run(input).completed());
  EXPECT_EQ(results(), (Entries{"row-1: echo p1", "row-2: echo p2", "row-3: echo p3"}));
  EXPECT_EQ(errors(), (Entries{"line 2: invalid_json_line", "line 3: invalid_json_line",
                               "line 5: invalid_json_line", "line 6: invalid_json_line",
                               "line 7: invalid_custom_id", "g: invalid_method"}));
  // None of them is reported again.
  const JobOutcome again = run(input);
  ASSERT_TRUE(again.completed());
  EXPECT_EQ(again.submitted, 0);
  EXPECT_EQ(results().size(), 3U);
  EXPECT_EQ(errors().size(), 6U);
  EXPECT_EQ(exit_code(again.result), 1);
  EXPECT_EQ(again.result->rows_failed, 6);
}

TEST_F(JobRunnerTest, RowsOfATransientFailureAreTriedAgain) {
  std::set<std::string> tried;  // on the backend's thread alone
  const auto flaky = [&](const llm::Request& request) -> llm::Outcome {
    if (!tried.insert(request.inputs.at(0).text).second) return echo(request);
    return llm::Failure{.failure_class = llm::FailureClass::kTransient, .status = 503};
  };
  const JobOutcome outcome = run_job(memory_, {.input = rows(1, 4), .script = flaky});
  ASSERT_TRUE(outcome.completed());
  expect_all_of(rows(1, 4));
  EXPECT_EQ(outcome.submitted, 8);
  EXPECT_EQ(outcome.counters->attempts, 8);
  EXPECT_NE(memory_.get("r.jsonl").find("\"attempts\":2"), std::string::npos);
}

TEST_F(JobRunnerTest, ATransientFailureThatStaysIsAResult) {
  const auto down = [](const llm::Request&) -> llm::Outcome {
    return llm::Failure{.failure_class = llm::FailureClass::kTransient,
                        .status = 503,
                        .code = "overloaded",
                        .message = "try later"};
  };
  const JobOutcome outcome =
      run_job(memory_, {.input = rows(1, 1), .script = down, .attempts_max = 2});
  ASSERT_TRUE(outcome.completed());
  EXPECT_EQ(errors(), (Entries{"row-1: overloaded"}));
  EXPECT_NE(memory_.get("r.errors.jsonl").find("\"attempts\":2"), std::string::npos);
}

TEST_F(JobRunnerTest, AStructuredAnswerThatWasCutFailsUnlessItIsKept) {
  const auto cut = [](const llm::Request& request) {
    llm::Outcome outcome = echo(request);
    auto& answer = std::get<llm::Answer>(outcome);
    answer.choices[0].structure = llm::StructureLabel::kTruncated;
    answer.choices[0].finish_reason = llm::FinishReason::kLength;
    answer.truncated = true;
    return outcome;
  };
  for (const bool kept : {false, true}) {
    MemoryDisk disk;
    JobOptions options = testing::job_options();
    options.keep_truncated = kept;
    const JobOutcome outcome =
        run_job(disk, {.input = row_line("a", "p"), .options = options, .script = cut});
    ASSERT_TRUE(outcome.completed()) << outcome.error();
    EXPECT_EQ(outcome.result->rows_succeeded, kept ? 1 : 0);
    EXPECT_EQ(outcome.result->rows_failed, kept ? 0 : 1);
    EXPECT_EQ(outcome.submitted, 1) << "it would be cut again";
  }
}

TEST_F(JobRunnerTest, DefaultsAreLaidUnderEveryBody) {
  JobRun job{.input = rows(1, 2), .options = job_options()};
  job.options.body_defaults["max_tokens"] = 17;
  job.script = [](const llm::Request& request) -> llm::Outcome {
    return llm::Answer{
        .choices = {{.text = fmt::format("{}", request.output_tokens_max.value_or(0))}}};
  };
  ASSERT_TRUE(run_job(memory_, job).completed());
  EXPECT_EQ(results(), (Entries{"row-1: 17", "row-2: 17"}));
  EXPECT_NE(memory_.get("r.job.json").find("{\"name\": \"set max_tokens\", \"value\": \"17\"}"),
            std::string::npos);
}

TEST_F(JobRunnerTest, FieldsThatAreNotKnownAreCountedWhereTheyAreIgnored) {
  const auto row = [](int number, std::string_view more) {
    return fmt::format(R"({{"custom_id":"row-{}","url":"/v1/completions",)"
                       R"("body":{{"prompt":"p"{}}}}})"
                       "\n",
                       number, more);
  };
  const std::string input = row(1, R"(,"tone":1)") + row(2, "") +
                            row(3, R"(,"tone":2,"mood":"x","gone":null)") +
                            row(4, R"(,"suffix":"known and refused")");
  JobRun job{.input = input, .options = job_options()};
  const JobOutcome refused = run_job(memory_, job);
  ASSERT_TRUE(refused.completed());
  EXPECT_EQ(refused.result->rows_failed, 3);
  EXPECT_TRUE(refused.result->ignored_fields.empty());

  job.options.unknown_fields = llm::UnknownFields::kIgnore;
  job.options.retry_failed = true;
  const JobOutcome ignored = run_job(memory_, job);
  ASSERT_TRUE(ignored.completed());
  EXPECT_EQ(ignored.result->rows_failed, 1);
  EXPECT_EQ(ignored.result->ignored_fields,
            (std::map<std::string, int64_t>{{"mood", 1}, {"tone", 2}}));
}

TEST_F(JobRunnerTest, RowsGoToTheModelTheyName) {
  llm::testing::ScriptedBackend big(
      [](const llm::Request&) { return llm::Answer{.choices = {{.text = "B"}}}; });
  llm::testing::ScriptedBackend small(
      [](const llm::Request&) { return llm::Answer{.choices = {{.text = "S"}}}; });
  dispatch::Dispatcher to_big(big, {});
  dispatch::Dispatcher to_small(small, {});
  const auto row = [](std::string_view id, std::string_view model) {
    return fmt::format(
        R"({{"custom_id":"{}","url":"/v1/completions","body":{{"prompt":"p","model":"{}"}}}})"
        "\n",
        id, model);
  };
  testing::MemoryInput input(row("a", "big") + row("b", "small") + row("c", "other"));
  JobOptions options = job_options();
  options.models = {"big", "small"};
  options.any_model = false;
  windrow::testing::ManualClock clock;
  JobCounters counters;
  auto runner =
      JobRunner::open(options, {.disk = memory_, .clock = clock, .input = input}, counters);
  ASSERT_TRUE(runner.has_value());
  const std::vector<ModelRoute> routes{{"small", &to_small}, {"big", &to_big}};
  ASSERT_TRUE((*runner)->run(routes, {}).has_value());
  EXPECT_EQ(results(), (Entries{"a: B", "b: S"}));
  EXPECT_EQ(errors(), (Entries{"c: model_not_found"}));
}

TEST_F(JobRunnerTest, ManyRowsAreAnsweredInWhateverOrderTheyEnd) {
  const std::string input = rows(1, 2000);
  const JobOutcome outcome =
      run_job(memory_, {.input = input, .backend = {.rows_max = 16, .order_seed = 5}});
  ASSERT_TRUE(outcome.completed());
  expect_all_of(input);
  const std::vector<int64_t> order = input_lines_of(memory_.get("r.jsonl"));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(JobRunnerTest, CompressedInputIsReadAsWritten) {
  const std::string input = rows(1, 20) + "rubbish\n";
  ASSERT_TRUE(run(testing::gzipped(input)).completed());
  expect_all_of(input);
  // The same rows, packed otherwise or not at all, are done.
  EXPECT_EQ(run(testing::zstd_packed(input)).submitted, 0);
  EXPECT_EQ(run(input).submitted, 0);
  expect_all_of(input);
}

// --- which rows, and in which order -----------------------------------------------------------

TEST_F(JobRunnerTest, ALimitTakesTheFirstRowsAndALaterRunGoesOn) {
  const std::string input = "\n" + rows(1, 2) + "rubbish\n" + rows(3, 9);
  JobRun limited{.input = input, .options = job_options()};
  limited.options.rows_max = 4;
  JobOutcome outcome = run_job(memory_, limited);
  ASSERT_TRUE(outcome.completed());
  EXPECT_EQ(outcome.submitted, 3);
  EXPECT_EQ(outcome.counters->rows_total, 4);
  outcome = run_job(memory_, limited);
  EXPECT_EQ(outcome.submitted, 0);
  EXPECT_EQ(outcome.counters->rows_total, 4);
  EXPECT_EQ(run(input).submitted, 6);
  expect_all_of(input);
  limited.options.rows_max = 0;
  EXPECT_TRUE(run_job(memory_, limited).completed());
}

TEST_F(JobRunnerTest, OrderedLogsFollowTheInput) {
  std::string input;
  for (int i = 0; i < 200; ++i) {
    input += i % 5 == 0 ? "rubbish\n" : row_line(fmt::format("r{}", i), i % 7 == 0 ? "bad" : "p");
  }
  JobRun job{.input = input, .options = job_options(), .backend = {.rows_max = 8, .order_seed = 1}};
  job.options.ordered = true;
  const JobOutcome outcome = run_job(memory_, job);
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_TRUE(outcome.result->ordered);
  expect_all_of(input);
  for (const char* name : {"r.jsonl", "r.errors.jsonl"}) {
    const std::vector<int64_t> order = input_lines_of(memory_.get(name));
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end())) << name;
  }
  // The sorted log is a log: it is continued, and sorted again.
  job.input += rows(1, 30);
  EXPECT_EQ(run_job(memory_, job).submitted, 30);
  expect_all_of(job.input);
  const std::vector<int64_t> order = input_lines_of(memory_.get("r.jsonl"));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(JobRunnerTest, AFinishedJobCanBeOrderedLater) {
  const std::string input = rows(1, 100);
  ASSERT_TRUE(
      run_job(memory_, {.input = input, .backend = {.rows_max = 8, .order_seed = 1}}).completed());
  JobRun job{.input = input, .options = job_options()};
  job.options.ordered = true;
  EXPECT_EQ(run_job(memory_, job).submitted, 0);
  const std::vector<int64_t> order = input_lines_of(memory_.get("r.jsonl"));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(order.size(), 100U);
}

// --- ends -------------------------------------------------------------------------------------

TEST_F(JobRunnerTest, ACutOffInputRunsItsWholeLinesAndThenFails) {
  const std::string input = rows(1, 300);
  const std::string packed = testing::gzipped(input);
  const JobOutcome outcome = run(packed.substr(0, packed.size() * 2 / 3));
  ASSERT_FALSE(outcome.result.has_value());
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(exit_code(outcome.result), 2);
  EXPECT_NE(outcome.error().find("stops in the middle"), std::string::npos);
  EXPECT_GT(results().size(), 0U);
  EXPECT_EQ(static_cast<int64_t>(results().size()), outcome.submitted);
  EXPECT_TRUE(errors().empty());
  ASSERT_TRUE(run(packed).completed());
  expect_all_of(input);
}

TEST_F(JobRunnerTest, AnInputThatCannotBeReadFurtherFails) {
  const std::string input = rows(1, 300);
  const JobOutcome outcome =
      run_job(memory_, {.input = input, .input_options = {.piece_bytes = 512, .fails_at = 20'000}});
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::kIo);
  EXPECT_EQ(static_cast<int64_t>(results().size()), outcome.submitted);
  ASSERT_TRUE(run(input).completed());
  expect_all_of(input);
}

// A table, a picture: an error for each of its lines would be of no use.
TEST_F(JobRunnerTest, AnInputWithoutARequestInItsFirstThousandLinesIsRefused) {
  std::string noise;
  for (int i = 0; i < 5000; ++i)
    noise += fmt::format("name {};value {}\n", i, i);
  const JobOutcome outcome = run(noise + rows(1, 10));
  EXPECT_EQ(exit_code(outcome.result), 2);
  EXPECT_NE(outcome.error().find("none of the first 1,000 lines is a request (line 1 "),
            std::string::npos)
      << outcome.error();
  EXPECT_EQ(outcome.submitted, 0);
  EXPECT_EQ(errors().size(), 1000U);
  EXPECT_FALSE(run(noise + rows(1, 10)).result.has_value()) << "and again";
}

TEST_F(JobRunnerTest, OneRequestAmongTheFirstThousandLinesIsEnough) {
  std::string noise;
  for (int i = 0; i < 1500; ++i)
    noise += "noise\n";
  EXPECT_TRUE(run(rows(1, 1) + noise).completed());
  EXPECT_EQ(errors().size(), 1500U);
}

TEST_F(JobRunnerTest, AnEmptyInputBesideResultsIsRefused) {
  ASSERT_TRUE(run(rows(1, 20)).completed());
  const std::string before = memory_.get("r.jsonl");
  for (const std::string_view empty : {"", "\n \n"}) {
    const JobOutcome outcome = run(std::string(empty));
    EXPECT_EQ(exit_code(outcome.result), 2);
    EXPECT_NE(outcome.error().find("has no rows, but r.jsonl and its errors have 20 of an earlier"),
              std::string::npos)
        << outcome.error();
  }
  JobRun stream{.input = ""};
  stream.input_options.rereadable = false;
  EXPECT_EQ(exit_code(run_job(memory_, stream).result), 2);
  EXPECT_EQ(memory_.get("r.jsonl"), before);
  MemoryDisk fresh;
  EXPECT_TRUE(run_job(fresh, {.input = ""}).completed())
      << "without results it is a job of no rows";
}

// Answers are asked again when the process is killed before they are synced.
TEST_F(JobRunnerTest, AnswersGatherForPartOfFiftyMillisecondsAtMost) {
  EXPECT_LE(2 * kGroupGather + 2 * std::chrono::milliseconds(15), std::chrono::milliseconds(50));
}

TEST_F(JobRunnerTest, ABackendThatIsGoneStopsTheJobAndIsNoResult) {
  const std::string input = rows(1, 100);
  std::atomic<int> calls = 0;
  const auto dies = [&](const llm::Request& request) -> llm::Outcome {
    if (++calls < 20) return echo(request);
    return llm::Failure{.failure_class = llm::FailureClass::kBackend,
                        .status = 500,
                        .code = "device_lost",
                        .message = "the device is gone"};
  };
  const JobOutcome outcome = run_job(memory_, {.input = input, .script = dies});
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(exit_code(outcome.result), 3);
  EXPECT_NE(outcome.error().find("the device is gone; rows that were written are safe"),
            std::string::npos);
  EXPECT_EQ(results().size(), 19U);
  EXPECT_TRUE(errors().empty());
  ASSERT_TRUE(run(input).completed());
  expect_all_of(input);
}

TEST_F(JobRunnerTest, AStopBeforeTheStartRunsNothing) {
  JobRun job{.input = rows(1, 5)};
  job.before = [](JobRunner& runner) { runner.stop(); };
  const JobOutcome outcome = run_job(memory_, job);
  EXPECT_EQ(outcome.result->end, JobEnd::kInterrupted);
  EXPECT_EQ(exit_code(outcome.result), 130);
  EXPECT_EQ(outcome.submitted, 0);
  EXPECT_TRUE(memory_.names().empty());
}

// A backend that is pumped, so that a test knows what runs and what waits.
class StoppedJobTest : public JobRunnerTest {
 protected:
  void start(const std::string& input, Duration grace, bool rereadable = true,
             int64_t submitted = 4) {
    input_ = std::make_unique<testing::MemoryInput>(
        input, testing::MemoryInputOptions{.rereadable = rereadable});
    JobOptions options = job_options();
    options.grace = grace;
    runner_ =
        *JobRunner::open(options, {.disk = memory_, .clock = clock_, .input = *input_}, counters_);
    thread_ = std::thread([this] {
      const std::vector<ModelRoute> routes{{"m", &dispatcher_}};
      result_ = runner_->run(routes, {});
    });
    backend_.wait_for_submitted(submitted);
  }

  Result<JobReport> end() {
    thread_.join();
    runner_ = nullptr;
    return result_;
  }

  windrow::testing::ManualClock clock_;
  std::unique_ptr<testing::MemoryInput> input_;
  llm::testing::ScriptedBackend backend_{echo, {.rows_max = 2, .pumped = true}};
  dispatch::Dispatcher dispatcher_{backend_, {}};  // two run, two wait
  JobCounters counters_;
  std::unique_ptr<JobRunner> runner_;
  std::thread thread_;
  Result<JobReport> result_ = Error{};
};

TEST_F(StoppedJobTest, RunningRowsFinishWithinTheGrace) {
  const std::string input = rows(1, 10);
  start(input, std::chrono::hours(24));
  runner_->stop();
  backend_.wait_for_pending(2);  // the waiting ones are cancelled
  EXPECT_TRUE(backend_.pump());
  EXPECT_TRUE(backend_.pump());
  const auto result = end();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->end, JobEnd::kInterrupted);
  EXPECT_EQ(results(), (Entries{"row-1: echo p1", "row-2: echo p2"}));
  EXPECT_TRUE(errors().empty());
  ASSERT_TRUE(run(input).completed());
  expect_all_of(input);
}

TEST_F(StoppedJobTest, ASecondStopEndsRunningRowsAtOnce) {
  start(rows(1, 10), std::chrono::hours(24));
  runner_->stop();
  backend_.wait_for_pending(2);
  runner_->stop_now();
  const auto result = end();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(exit_code(result), 130);
  EXPECT_TRUE(results().empty());
}

TEST_F(StoppedJobTest, AGraceThatIsOverEndsRunningRows) {
  start(rows(1, 10), Duration(0));
  runner_->stop();
  EXPECT_EQ(end()->end, JobEnd::kInterrupted);
  EXPECT_TRUE(results().empty());
}

TEST_F(StoppedJobTest, TheGraceIsMeasuredByTheClockThatWasGiven) {
  start(rows(1, 10), std::chrono::hours(24));
  runner_->stop();
  backend_.wait_for_pending(2);
  clock_.advance(std::chrono::hours(24));
  EXPECT_EQ(end()->end, JobEnd::kInterrupted);
  EXPECT_TRUE(results().empty());
}

TEST_F(StoppedJobTest, AStopThatCostsNoRowIsNoInterruption) {
  start(rows(1, 2), std::chrono::hours(24), false, 2);
  while (counters_.rows_total < 2)
    std::this_thread::yield();  // the end of the stream was reached
  runner_->stop();
  EXPECT_TRUE(backend_.pump());
  EXPECT_TRUE(backend_.pump());
  EXPECT_EQ(end()->end, JobEnd::kCompleted);
}

TEST_F(StoppedJobTest, ProgressIsSeenWhileRowsRun) {
  start(rows(1, 10), std::chrono::hours(24));
  EXPECT_EQ(counters_.phase, JobPhase::kRunning);
  EXPECT_GE(counters_.rows_in_flight, 4);
  EXPECT_TRUE(backend_.pump());
  while (counters_.rows_succeeded < 1)
    std::this_thread::yield();
  EXPECT_EQ(results(), (Entries{"row-1: echo p1"}));
  runner_->stop_now();
  EXPECT_EQ(end()->end, JobEnd::kInterrupted);
}

}  // namespace
}  // namespace windrow::batch
