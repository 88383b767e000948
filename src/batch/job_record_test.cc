#include "batch/job_record.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string>

#include "base/testing/eventually.h"
#include "batch/testing/job_rig.h"
#include "store/testing/memory_disk.h"

namespace windrow::batch {
namespace {

const JobRecord kRecord{.input = "re\"quests.jsonl",
                        .settings = {{"model", "tiny.gguf"}, {"kv-type", "f16"}}};

TEST(JobRecord, IsReadBackAsItWasWritten) {
  const std::string text = job_record_text(kRecord);
  EXPECT_EQ(*parse_job_record(text, "p"), kRecord);
  EXPECT_TRUE(boost::json::parse(text).is_object());
  JobRecord dated = kRecord;
  dated.began_unix_s = 1'700'000'000;
  EXPECT_EQ(*parse_job_record(job_record_text(dated), "p"), dated);
  const JobRecord empty{.input = "-", .settings = {}};
  EXPECT_EQ(*parse_job_record(job_record_text(empty), "p"), empty);
}

TEST(JobRecord, AnythingElseIsRefused) {
  const std::string text = job_record_text(kRecord);
  for (const std::string& bad :
       {std::string(), std::string("{}"), std::string("[]"), text.substr(0, text.size() / 2),
        std::string("{\"windrow_job\":1,\"input\":\"a\"}"),
        std::string("{\"windrow_job\":1,\"input\":\"a\",\"settings\":[],\"began_unix_s\":\"x\"}"),
        std::string("{\"windrow_job\":1,\"input\":\"a\",\"settings\":[{\"name\":\"a\"}]}")}) {
    const auto record = parse_job_record(bad, "r.job.json");
    ASSERT_FALSE(record.has_value()) << bad;
    EXPECT_EQ(record.error().kind, ErrorKind::kInvalid);
    EXPECT_TRUE(record.error().message.starts_with("r.job.json is not a job record"));
  }
  const auto later = parse_job_record("{\"windrow_job\":2}", "r.job.json");
  EXPECT_NE(later.error().message.find("later version"), std::string::npos);
}

TEST(JobRecord, ChangesAreNamedInOrder) {
  const std::vector<JobSetting> before{{"a", "1"}, {"gone", "x"}, {"b", "2"}};
  const std::vector<JobSetting> now{{"new", "y"}, {"b", "3"}, {"a", "1"}};
  using Changes = std::vector<SettingChange>;
  const Changes so_far{{.name = "new", .before = {}, .now = "y"},
                       {.name = "b", .before = "2", .now = "3"}};
  EXPECT_EQ(changed_so_far(before, now), so_far);
  Changes all = so_far;
  all.push_back({.name = "gone", .before = "x", .now = {}});
  EXPECT_EQ(changed_settings(before, now), all);
  EXPECT_EQ(changed_settings(before, before), Changes{});
  const Error error = changed_settings_error(all, "r.jsonl");
  EXPECT_EQ(error.kind, ErrorKind::kConflict);
  for (const char* part : {"r.jsonl", "\n  new: (not set) -> y", "\n  b: 2 -> 3",
                           "\n  gone: x -> (not set)", "--fresh"}) {
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  }
}

TEST(JobRecord, BodyDefaultsAreSettings) {
  JobOptions options;
  options.settings = {{"model", "m"}};
  options.body_defaults = {{"temperature", 0}, {"stop", {"a", "b"}}};
  const std::vector<JobSetting> expected{
      {"model", "m"}, {"set temperature", "0"}, {"set stop", "[\"a\",\"b\"]"}};
  EXPECT_EQ(settings_of(options), expected);
}

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
TEST_F(LostResultsTest, ResultsOfAKilledRunAreMissedToo) {
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
