#include "batch/quarantine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>
#include <vector>

#include "base/random.h"
#include "batch/testing/job_rig.h"
#include "json/limits.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/memory_disk.h"

namespace windrow::batch {
namespace {

using store::testing::FaultyDisk;
using store::testing::MemoryDisk;
using testing::entries_of;
using testing::expected_of;
using testing::job_options;
using testing::JobOutcome;
using testing::row_line;
using testing::run_job;
using testing::split_lines;

const std::string kInput = row_line("a", "one") + row_line("b", "bad") + row_line("c", "three") +
                           row_line("d", "four") + row_line("e", "bad too");

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += line + "\n";
  return text;
}

// A line of a log after an edit by hand: still JSON, and with its custom_id.
std::string without_windrow(const std::string& line) {
  boost::json::value value = boost::json::parse(line);
  value.as_object().erase("windrow");
  return boost::json::serialize(value);
}

class QuarantineTest : public ::testing::Test {
 protected:
  QuarantineTest() {
    // One after the other, so that the lines are in the order of the rows.
    EXPECT_TRUE(run_job(disk_, {.input = kInput, .backend = {.rows_max = 1}}).completed());
    results_ = split_lines(disk_.get("r.jsonl"));
    errors_ = split_lines(disk_.get("r.errors.jsonl"));
    EXPECT_EQ(results_.size(), 3U);
    EXPECT_EQ(errors_.size(), 2U);
  }

  void expect_all_done(const MemoryDisk& disk) {
    EXPECT_EQ(entries_of(disk.get("r.jsonl")), expected_of(kInput).results);
    EXPECT_EQ(entries_of(disk.get("r.errors.jsonl")), expected_of(kInput).errors);
  }

  MemoryDisk disk_;
  std::vector<std::string> results_;
  std::vector<std::string> errors_;
};

TEST_F(QuarantineTest, AnEditedLineCostsItsRowAndNoOther) {
  results_[1] = without_windrow(results_[1]);
  errors_[0] = without_windrow(errors_[0]);
  disk_.put("r.jsonl", joined(results_));
  disk_.put("r.errors.jsonl", joined(errors_));
  const JobOutcome outcome = run_job(disk_, {.input = kInput});
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(outcome.start.quarantined, 2);
  EXPECT_EQ(outcome.start.quarantined_first,
            "r.jsonl: line 2 (custom_id \"c\"): it has no object \"windrow\"");
  EXPECT_EQ(outcome.start.results_before, 2);
  EXPECT_EQ(outcome.start.errors_before, 1);
  EXPECT_EQ(outcome.submitted, 2);
  expect_all_done(disk_);
  EXPECT_EQ(disk_.get("r.quarantine.jsonl"), results_[1] + "\n" + errors_[0] + "\n");
}

TEST_F(QuarantineTest, OfTwoResultsOfARowTheFirstStays) {
  disk_.put("r.jsonl", joined(results_) + results_[0] + "\n");
  const JobOutcome outcome = run_job(disk_, {.input = kInput});
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(outcome.start.results_before, 3);
  EXPECT_EQ(outcome.start.quarantined, 1);
  EXPECT_EQ(outcome.submitted, 0);
  expect_all_done(disk_);
  EXPECT_EQ(disk_.get("r.quarantine.jsonl"), results_[0] + "\n");
}

TEST_F(QuarantineTest, WhatWasTakenOutBeforeStays) {
  disk_.put("r.quarantine.jsonl", "half a li");
  disk_.put("r.jsonl", without_windrow(results_[0]) + "\n" + results_[1] + "\n" + results_[2] +
                           "\n" + "{\"id\":\"batch_req_1");
  ASSERT_TRUE(run_job(disk_, {.input = kInput}).completed());
  expect_all_done(disk_);
  EXPECT_EQ(disk_.get("r.quarantine.jsonl"), "half a li\n" + without_windrow(results_[0]) + "\n");
}

TEST_F(QuarantineTest, NothingIsTakenOutOfAFileThatIsNotKnownToBeOurs) {
  const std::string edited = joined({results_[0], without_windrow(results_[1]), results_[2]});
  disk_.put("r.jsonl", edited);
  JobOptions options = job_options();
  options.unattended = true;  // a server has its own way
  EXPECT_FALSE(run_job(disk_, {.input = kInput, .options = options}).completed());
  ASSERT_TRUE(disk_.remove("r.job.json").has_value());
  const JobOutcome outcome = run_job(disk_, {.input = kInput});
  ASSERT_FALSE(outcome.completed());
  EXPECT_NE(outcome.error().find("r.jsonl: line 2"), std::string::npos) << outcome.error();
  EXPECT_EQ(disk_.get("r.jsonl"), edited);
  EXPECT_FALSE(disk_.exists("r.quarantine.jsonl"));
}

TEST_F(QuarantineTest, ARefusedJobChangesNothing) {
  const std::string edited = joined({results_[0], without_windrow(results_[1]), results_[2]});
  disk_.put("r.jsonl", edited);
  JobOptions options = job_options();
  options.settings = {{"model", "other.gguf"}};
  EXPECT_FALSE(run_job(disk_, {.input = kInput, .options = options}).completed());
  EXPECT_EQ(disk_.get("r.jsonl"), edited);
  EXPECT_FALSE(disk_.exists("r.quarantine.jsonl"));
}

TEST_F(QuarantineTest, AnEndAtAnyMomentLosesNothing) {
  results_[1] = without_windrow(results_[1]);
  errors_[1] = without_windrow(errors_[1]);
  for (int64_t operations = 0;; ++operations) {
    ASSERT_LT(operations, 100);
    MemoryDisk memory;
    memory.put("r.job.json", disk_.get("r.job.json"));
    memory.put("r.jsonl", joined(results_));
    memory.put("r.errors.jsonl", joined(errors_));
    FaultyDisk dying(memory, {.operations_until_death = operations});
    const bool lived = run_job(dying, {.input = kInput}).completed();
    Random random(static_cast<uint64_t>(operations));
    if (operations % 2 == 0) memory.lose_power(random);
    const JobOutcome again = run_job(memory, {.input = kInput});
    ASSERT_TRUE(again.completed()) << operations << ": " << again.error();
    expect_all_done(memory);
    const std::string kept = memory.get("r.quarantine.jsonl");
    ASSERT_NE(kept.find(results_[1] + "\n"), std::string::npos) << operations;
    ASSERT_NE(kept.find(errors_[1] + "\n"), std::string::npos) << operations;
    if (lived) break;
  }
}

// A reply as deep as one may be: the job goes on, in whatever way it is read again.
TEST(DeepReplies, AreResultsLikeOthers) {
  const std::string deep = R"({"choices":[{"text":"x"}],"vendor":)" +
                           std::string(kJsonDepthMax - 1, '[') +
                           std::string(kJsonDepthMax - 1, ']') + "}";
  MemoryDisk disk;
  const std::string input = row_line("a", "1") + row_line("b", "2") + row_line("c", "3");
  JobOptions options = job_options();
  options.rows_max = 2;
  const auto answer = [&](const llm::Request&) -> llm::Outcome {
    llm::Answer answer;
    answer.raw = deep;
    return answer;
  };
  ASSERT_TRUE(run_job(disk, {.input = input, .options = options, .script = answer}).completed());
  options = job_options();
  options.ordered = true;
  options.retry_failed = true;
  const JobOutcome again = run_job(disk, {.input = input, .options = options, .script = answer});
  ASSERT_TRUE(again.completed()) << again.error();
  EXPECT_EQ(again.start.results_before, 2);
  EXPECT_EQ(again.start.quarantined, 0);
  EXPECT_EQ(again.submitted, 1);
}

}  // namespace
}  // namespace windrow::batch
