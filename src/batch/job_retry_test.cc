// Failed rows that are tried again: `run --retry-failed` and `windrow retry`.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "batch/testing/job_rig.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/memory_disk.h"

namespace windrow::batch {
namespace {

using store::testing::FaultyDisk;
using store::testing::MemoryDisk;
using testing::echo;
using testing::Entries;
using testing::entries_of;
using testing::job_options;
using testing::JobOutcome;
using testing::JobRun;
using testing::row_line;
using testing::run_job;

// Whatever is asked.
llm::Outcome answer(const llm::Request& request) {
  return llm::Answer{.choices = {{.text = "echo " + request.inputs.at(0).text}}};
}

JobOptions retry_options(FailureChoice choice = {}) {
  JobOptions options = job_options();
  options.retry_failed = true;
  options.only_retried = true;
  options.retried = std::move(choice);
  return options;
}

std::string rows(int first, int last, std::string_view prompt) {
  std::string text;
  for (int i = first; i <= last; ++i)
    text += row_line(fmt::format("row-{}", i), prompt);
  return text;
}

class JobRetryTest : public ::testing::Test {
 protected:
  JobOutcome retry(const std::string& input, FailureChoice choice = {},
                   const llm::testing::ScriptedBackend::Script& script = answer) {
    return run_job(memory_,
                   {.input = input, .options = retry_options(std::move(choice)), .script = script});
  }

  Entries results() { return entries_of(memory_.get("r.jsonl")); }
  Entries errors() { return entries_of(memory_.get("r.errors.jsonl")); }

  MemoryDisk memory_;
};

TEST_F(JobRetryTest, OnlyWhatFailedRuns) {
  const std::string input = rows(1, 2, "p") + row_line("x", "bad") + row_line("y", "bad too");
  ASSERT_TRUE(run_job(memory_, {.input = input}).completed());
  const std::string results_before = memory_.get("r.jsonl");
  const JobOutcome outcome = retry(rows(3, 4, "new") + input + "rubbish\n" + rows(5, 6, "new"));
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(outcome.submitted, 2);
  EXPECT_EQ(outcome.start.retried, 2);
  EXPECT_EQ(outcome.result->rows_gone, 0);
  EXPECT_TRUE(memory_.get("r.jsonl").starts_with(results_before));
  EXPECT_EQ(results(),
            (Entries{"row-1: echo p", "row-2: echo p", "x: echo bad", "y: echo bad too"}));
  EXPECT_EQ(errors(), Entries{});
  EXPECT_EQ(outcome.counters->rows_total, 9);
  EXPECT_EQ(outcome.counters->rows_done(), 4);
}

TEST_F(JobRetryTest, WhatFailsAgainHasOneLine) {
  const std::string input = rows(1, 1, "p") + row_line("x", "bad") + row_line("y", "bad");
  ASSERT_TRUE(run_job(memory_, {.input = input}).completed());
  const auto script = [](const llm::Request& request) -> llm::Outcome {
    if (request.inputs.at(0).text == "bad 2") return answer(request);
    return llm::Failure{.status = 500, .code = "worse"};
  };
  const std::string changed = rows(1, 1, "p") + row_line("x", "bad") + row_line("y", "bad 2");
  const JobOutcome outcome = retry(changed, {}, script);
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(errors(), Entries{"x: worse"});
  EXPECT_TRUE(results().contains("y: echo bad 2"));
  EXPECT_EQ(outcome.result->rows_failed, 1);
}

TEST_F(JobRetryTest, OnlyWhatIsNamedIsTriedAgain) {
  const auto script = [](const llm::Request& request) -> llm::Outcome {
    const std::string& prompt = request.inputs.at(0).text;
    if (prompt == "p") return answer(request);
    return llm::Failure{.status = prompt == "late" ? 429 : 500, .code = prompt};
  };
  const std::string input = row_line("a", "p") + row_line("b", "late") + row_line("c", "lost") +
                            row_line("d", "odd") + "rubbish\n";
  ASSERT_TRUE(run_job(memory_, {.input = input, .script = script}).completed());
  const JobOutcome outcome = retry(input, FailureChoice::of({"429", "odd"}));
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(outcome.submitted, 2);
  EXPECT_EQ(outcome.start.errors_before, 2);
  EXPECT_EQ(errors(), (Entries{"c: lost", "line 5: invalid_json_line"}));
}

TEST_F(JobRetryTest, ALineThatWasMendedRunsAndItsFaultIsGone) {
  const std::string good = rows(1, 1, "p");
  ASSERT_TRUE(
      run_job(memory_, {.input = good + "rubbish\n" + row_line("row-1", "p") + "[\n"}).completed());
  ASSERT_EQ(errors().size(), 3U);
  const JobOutcome outcome = retry(good + row_line("two", "p") + row_line("row-1", "p") + "[\n");
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(outcome.submitted, 1);
  EXPECT_EQ(results(), (Entries{"row-1: echo p", "two: echo p"}));
  EXPECT_EQ(errors(), (Entries{"line 3: duplicate_custom_id", "line 4: invalid_json_line"}));
}

TEST_F(JobRetryTest, WhatIsGoneFromTheInputIsNamedAndKept) {
  ASSERT_TRUE(
      run_job(memory_, {.input = rows(1, 1, "p") + row_line("x", "bad") + row_line("y", "bad")})
          .completed());
  const JobOutcome outcome = retry(rows(1, 1, "p") + row_line("y", "bad"));
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(outcome.result->rows_gone, 1);
  ASSERT_EQ(outcome.result->gone.size(), 1U);
  EXPECT_EQ(outcome.result->gone[0].custom_id, "x");
  EXPECT_EQ(outcome.result->gone[0].line, 2U);
  EXPECT_EQ(errors(), Entries{"x: cannot"});
  EXPECT_EQ(exit_code(outcome.result), 1);
}

TEST_F(JobRetryTest, AnInputWithoutAnyOfThemIsRefused) {
  ASSERT_TRUE(run_job(memory_, {.input = rows(1, 2, "p") + row_line("x", "bad")}).completed());
  const std::string before = memory_.get("r.errors.jsonl");
  const JobOutcome outcome = retry(rows(7, 9, "p"));
  EXPECT_NE(outcome.error().find("does not have the row that failed"), std::string::npos)
      << outcome.error();
  EXPECT_EQ(outcome.submitted, 0);
  EXPECT_EQ(memory_.get("r.errors.jsonl"), before);
}

TEST_F(JobRetryTest, APipeIsReadOnce) {
  const std::string input = rows(1, 2, "p") + row_line("x", "bad");
  ASSERT_TRUE(run_job(memory_, {.input = input}).completed());
  JobRun run{.input = input, .options = retry_options(), .script = answer};
  run.input_options.rereadable = false;
  const JobOutcome outcome = run_job(memory_, run);
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(outcome.submitted, 1);
  EXPECT_EQ(errors(), Entries{});
}

TEST_F(JobRetryTest, StrictLooksOnlyAtWhatRuns) {
  ASSERT_TRUE(run_job(memory_, {.input = rows(1, 1, "p") + row_line("x", "bad")}).completed());
  JobRun run{.input = rows(1, 1, "p") + row_line("x", "bad") + "rubbish\n",
             .options = retry_options(),
             .script = answer};
  run.options.strict = true;
  ASSERT_TRUE(run_job(memory_, run).completed());
  EXPECT_EQ(errors(), Entries{});
}

TEST_F(JobRetryTest, WhereEveryRowFailedOtherOptionsMayBeTried) {
  ASSERT_TRUE(run_job(memory_, {.input = row_line("x", "bad")}).completed());
  JobRun run{.input = row_line("x", "bad"), .options = retry_options(), .script = answer};
  run.options.settings = {{"model", "better.gguf"}};
  ASSERT_TRUE(run_job(memory_, run).completed());
  EXPECT_NE(memory_.get("r.job.json").find("better.gguf"), std::string::npos);
}

// Killed after every operation, with what was never synced lost: no row loses both its lines, and
// the same command ends where the undisturbed one does.
TEST_F(JobRetryTest, KilledAnywhereNothingIsLost) {
  const std::string input =
      rows(1, 3, "p") + rows(4, 7, "bad") + "rubbish\n" + rows(8, 9, "bad for ever");
  ASSERT_TRUE(run_job(memory_, {.input = input}).completed());
  const Entries before = results();
  const auto script = [](const llm::Request& request) -> llm::Outcome {
    return request.inputs.at(0).text == "bad" ? answer(request) : echo(request);
  };
  Random random(3);
  bool died = true;
  for (int64_t operations = 0; died; ++operations) {
    MemoryDisk memory;
    for (const char* name : {"r.jsonl", "r.errors.jsonl", "r.job.json"})
      memory.put(name, memory_.get(name));
    FaultyDisk disk(memory,
                    {.operations_until_death = operations, .last_append_part = random.unit()});
    const JobRun job{.input = input,
                     .options = retry_options(),
                     .script = script,
                     .backend = {.rows_max = 2, .order_seed = static_cast<uint64_t>(operations)}};
    died = !run_job(disk, job).result.has_value();
    memory.lose_power(random);

    const std::string left = memory.get("r.jsonl") + memory.get("r.errors.jsonl");
    for (int i = 1; i <= 9; ++i) {
      const std::string id = fmt::format("\"custom_id\":\"row-{}\"", i);
      ASSERT_NE(left.find(id), std::string::npos) << id << " killed after " << operations;
    }
    ASSERT_NE(left.find("invalid_json_line"), std::string::npos) << "killed after " << operations;

    const JobOutcome again = run_job(memory, job);
    ASSERT_TRUE(again.completed()) << again.error() << " killed after " << operations;
    ASSERT_EQ(entries_of(memory.get("r.jsonl")),
              (Entries{"row-1: echo p", "row-2: echo p", "row-3: echo p", "row-4: echo bad",
                       "row-5: echo bad", "row-6: echo bad", "row-7: echo bad"}));
    ASSERT_EQ(entries_of(memory.get("r.errors.jsonl")),
              (Entries{"line 8: invalid_json_line", "row-8: cannot", "row-9: cannot"}));
  }
}

// A plain run after a retry that was killed takes out what counts no more, too.
TEST_F(JobRetryTest, ARowWithBothLinesHasItsResult) {
  const std::string input = rows(1, 1, "p") + row_line("x", "bad");
  ASSERT_TRUE(run_job(memory_, {.input = input}).completed());
  const std::string failed = memory_.get("r.errors.jsonl");
  ASSERT_TRUE(retry(input).completed());
  memory_.put("r.errors.jsonl", failed);
  const JobOutcome outcome = run_job(memory_, {.input = input});
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(outcome.submitted, 0);
  EXPECT_EQ(outcome.start.errors_before, 0);
  EXPECT_EQ(errors(), Entries{});
}

}  // namespace
}  // namespace windrow::batch
