#include "batch/job_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "batch/testing/job_rig.h"
#include "store/posix_disk.h"
#include "store/testing/memory_disk.h"
#include "store/testing/temporary_folder.h"

namespace windrow::batch {
namespace {

using store::testing::MemoryDisk;
using testing::job_options;
using testing::JobOutcome;
using testing::JobRun;
using testing::row_line;
using testing::run_job;

class JobFilesTest : public ::testing::Test {
 protected:
  // A job of three rows, one of which failed, and a bad line.
  void leave_a_job() {
    ASSERT_TRUE(run_job(memory_, {.input = row_line("a", "1") + row_line("b", "bad") +
                                           row_line("c", "3") + "rubbish\n"})
                    .completed());
  }

  Error error_of(const JobOptions& options) {
    auto files = open_job_files(options, memory_);
    return files ? Error{ErrorKind::kIo, "it was opened"} : files.error();
  }

  MemoryDisk memory_;
};

TEST_F(JobFilesTest, ANewJobHasNothing) {
  const auto files = open_job_files(job_options(), memory_);
  ASSERT_TRUE(files.has_value());
  EXPECT_FALSE(files->start.resumed);
  EXPECT_EQ(files->index.size(), 0U);
  EXPECT_FALSE(files->record.has_value());
  EXPECT_TRUE(memory_.names().empty());
}

TEST_F(JobFilesTest, AnOldJobIsFoundWholeAndLeftAlone) {
  leave_a_job();
  memory_.put("r.jsonl", memory_.get("r.jsonl") + "{\"id\":\"batch_req_12");
  const std::string before = memory_.get("r.jsonl");
  const auto files = open_job_files(job_options(), memory_);
  ASSERT_TRUE(files.has_value());
  EXPECT_TRUE(files->start.resumed);
  EXPECT_EQ(files->start.results_before, 2);
  EXPECT_EQ(files->start.errors_before, 2);
  EXPECT_EQ(files->start.torn_bytes, 19);
  EXPECT_EQ(files->index.size(), 4U);
  EXPECT_EQ(files->record->input, "requests.jsonl");
  EXPECT_EQ(memory_.get("r.jsonl"), before);
}

TEST_F(JobFilesTest, AJobKeepsTheDayItBegan) {
  JobRun run{.input = row_line("a", "1"), .options = job_options()};
  run.options.now_unix_s = 1'000;
  JobOutcome outcome = run_job(memory_, run);
  ASSERT_TRUE(outcome.completed());
  EXPECT_EQ(outcome.start.began_unix_s, 1'000);
  run.options.now_unix_s = 90'000;
  outcome = run_job(memory_, run);
  ASSERT_TRUE(outcome.completed());
  EXPECT_EQ(outcome.start.began_unix_s, 1'000) << "another day, the same job";
  run.options.fresh = true;
  outcome = run_job(memory_, run);
  ASSERT_TRUE(outcome.completed());
  EXPECT_EQ(outcome.start.began_unix_s, 90'000);

  // A record of the time before it was kept.
  JobRecord record = *parse_job_record(memory_.get("r.job.json"), "r.job.json");
  record.began_unix_s = std::nullopt;
  memory_.put("r.job.json", job_record_text(record));
  run.options.fresh = false;
  run.options.now_unix_s = 200'000;
  outcome = run_job(memory_, run);
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(outcome.start.began_unix_s, 200'000);
}

TEST_F(JobFilesTest, ASecondHolderIsRefused) {
  const auto first = open_job_files(job_options(), memory_);
  ASSERT_TRUE(first.has_value());
  const Error error = error_of(job_options());
  EXPECT_EQ(error.kind, ErrorKind::kConflict);
  EXPECT_NE(error.message.find("another run writes r.jsonl"), std::string::npos);
}

TEST_F(JobFilesTest, AFileOfAnotherProgramIsNotTouched) {
  for (const std::string& text : {std::string("my notes\n"), std::string("my notes")}) {
    memory_.put("r.jsonl", text);
    EXPECT_EQ(error_of(job_options()).kind, ErrorKind::kInvalid);
    EXPECT_EQ(memory_.get("r.jsonl"), text);
  }
}

TEST_F(JobFilesTest, ResultsHaveOneHolderWhateverTheyAreCalled) {
  leave_a_job();
  memory_.link("r.jsonl", "same.jsonl");
  memory_.put("same.job.json", memory_.get("r.job.json"));
  JobOptions other = job_options();
  other.output_path = "same.jsonl";
  const auto first = open_job_files(job_options(), memory_);
  ASSERT_TRUE(first.has_value());
  const Error error = error_of(other);
  EXPECT_EQ(error.kind, ErrorKind::kConflict);
  EXPECT_NE(error.message.find("another run writes same.jsonl"), std::string::npos);
}

// Neither is there when both are opened.
TEST_F(JobFilesTest, OfTwoNewJobsWithOneFileTheSecondIsRefused) {
  const store::testing::TemporaryFolder folder;
  std::filesystem::create_symlink("r.jsonl", folder / "link.jsonl");
  store::PosixDisk disk;
  JobOptions options = job_options();
  options.output_path = folder / "r.jsonl";
  JobOptions linked = options;
  linked.output_path = folder / "link.jsonl";
  auto first = open_job_files(options, disk);
  auto second = open_job_files(linked, disk);
  ASSERT_TRUE(first.has_value());
  ASSERT_TRUE(second.has_value()) << second.error().message;
  EXPECT_EQ(second->paths.results, options.output_path);
  ASSERT_TRUE(begin_job_files(*first, {}, disk).has_value());
  const auto refused = begin_job_files(*second, {}, disk);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::kConflict);
  EXPECT_FALSE(std::filesystem::exists(folder / "link.job.json"));
}

TEST_F(JobFilesTest, WhatAnotherProgramWroteMeanwhileIsNotCut) {
  leave_a_job();
  for (const char* name : {"r.jsonl", "r.errors.jsonl"}) {
    auto files = open_job_files(job_options(), memory_);
    ASSERT_TRUE(files.has_value());
    const std::string before = memory_.get(name);
    memory_.put(name, before + "more\n");
    const auto begun = begin_job_files(*files, *files->record, memory_);
    ASSERT_FALSE(begun.has_value());
    EXPECT_EQ(begun.error().kind, ErrorKind::kConflict);
    EXPECT_EQ(memory_.get(name), before + "more\n");
    memory_.put(name, before);
  }
}

TEST_F(JobFilesTest, ResultsOfAnotherEndingAreRefused) {
  leave_a_job();
  const auto before = memory_.names();
  for (const bool fresh : {false, true}) {
    for (const bool named : {true, false}) {
      JobRecord record = *parse_job_record(memory_.get("r.job.json"), "r.job.json");
      EXPECT_EQ(record.results, "r.jsonl");
      if (!named) record.results.clear();  // of the time before it was told
      MemoryDisk disk;
      for (const std::string& name : before)
        disk.put(name, memory_.get(name));
      disk.put("r.job.json", job_record_text(record));
      for (const char* other : {"r.ndjson", "r.json", "r"}) {
        JobOptions options = job_options();
        options.output_path = other;
        options.fresh = fresh;
        const auto files = open_job_files(options, disk);
        ASSERT_FALSE(files.has_value()) << other;
        EXPECT_EQ(files.error().kind, ErrorKind::kConflict);
        EXPECT_NE(files.error().message.find("belongs to the results in r.jsonl"),
                  std::string::npos)
            << files.error().message;
      }
      EXPECT_TRUE(open_job_files(job_options(), disk).has_value());
    }
  }
}

TEST_F(JobFilesTest, AJobMayMoveAsAWhole) {
  leave_a_job();
  for (const std::string& name : memory_.names())
    memory_.put("s" + name.substr(1), memory_.get(name));
  JobOptions options = job_options();
  options.output_path = "s.jsonl";
  EXPECT_TRUE(open_job_files(options, memory_).has_value());
}

TEST_F(JobFilesTest, TwoResultsOfOneRowAreAnErrorWhereNoneMayBeTakenOut) {
  leave_a_job();
  const std::string results = memory_.get("r.jsonl");
  memory_.put("r.jsonl", results + results);
  JobOptions options = job_options();
  options.unattended = true;
  const Error error = error_of(options);
  EXPECT_EQ(error.kind, ErrorKind::kInvalid);
  EXPECT_NE(error.message.find(
                "r.jsonl: 2 lines are for a custom_id that an earlier line has (the first: line "),
            std::string::npos)
      << error.message;
}

TEST_F(JobFilesTest, ResultsWithoutARecordAreRefused) {
  leave_a_job();
  ASSERT_TRUE(memory_.remove("r.job.json").has_value());
  const Error error = error_of(job_options());
  EXPECT_EQ(error.kind, ErrorKind::kConflict);
  EXPECT_NE(error.message.find("r.job.json"), std::string::npos);
  memory_.put("r.job.json", "{}");
  EXPECT_EQ(error_of(job_options()).kind, ErrorKind::kInvalid);
}

TEST_F(JobFilesTest, AChangedOptionIsNamed) {
  leave_a_job();
  JobOptions options = job_options();
  options.settings = {{"model", "other.gguf"}};
  const Error error = error_of(options);
  EXPECT_EQ(error.kind, ErrorKind::kConflict);
  EXPECT_NE(error.message.find("model: m.gguf -> other.gguf"), std::string::npos);
  options = job_options();
  options.body_defaults["temperature"] = 0;
  EXPECT_NE(error_of(options).message.find("set temperature: (not set) -> 0"), std::string::npos);
  options.body_defaults["temperature"] = 0.5;
  EXPECT_NE(error_of(options).message.find("set temperature: (not set) -> 0.5"), std::string::npos)
      << error_of(options).message;
}

TEST_F(JobFilesTest, AnOptionThatIsGoneIsNamedOnceAllAreKnown) {
  leave_a_job();
  JobOptions options = job_options();
  options.settings = {};
  auto files = open_job_files(options, memory_);
  ASSERT_TRUE(files.has_value());  // it may still come
  const auto begun = begin_job_files(*files, {.input = "i", .settings = {}}, memory_);
  ASSERT_FALSE(begun.has_value());
  EXPECT_NE(begun.error().message.find("model: m.gguf -> (not set)"), std::string::npos);
}

TEST_F(JobFilesTest, WithoutResultsOptionsMayChange) {
  ASSERT_TRUE(run_job(memory_, {.input = ""}).completed());
  JobOptions options = job_options();
  options.settings = {{"model", "other.gguf"}};
  ASSERT_TRUE(run_job(memory_, {.input = "", .options = options}).completed());
  EXPECT_NE(memory_.get("r.job.json").find("other.gguf"), std::string::npos);
}

TEST_F(JobFilesTest, FreshLooksAtNothingAndMovesAll) {
  memory_.put("r.jsonl", "my notes\n");
  JobOptions options = job_options();
  options.fresh = true;
  auto files = open_job_files(options, memory_);
  ASSERT_TRUE(files.has_value());
  EXPECT_EQ(files->start.moved, std::vector<std::string>{"r.old-1.jsonl"});
  EXPECT_EQ(memory_.get("r.jsonl"), "my notes\n");  // not before run()
  ASSERT_TRUE(begin_job_files(*files, {}, memory_).has_value());
  EXPECT_EQ(memory_.get("r.old-1.jsonl"), "my notes\n");
  EXPECT_EQ(memory_.get("r.jsonl"), "");
}

TEST_F(JobFilesTest, WhatAKilledOrderingLeftIsRemoved) {
  leave_a_job();
  memory_.put("r.jsonl.ordered.tmp", "half");
  auto files = open_job_files(job_options(), memory_);
  ASSERT_TRUE(files.has_value());
  ASSERT_TRUE(begin_job_files(*files, *files->record, memory_).has_value());
  EXPECT_FALSE(memory_.exists("r.jsonl.ordered.tmp"));
}

TEST_F(JobFilesTest, TheInputIsNoOutput) {
  const store::testing::TemporaryFolder folder;
  const std::string input = folder / "requests.jsonl";
  std::ofstream(input) << row_line("a", "1");
  std::filesystem::create_hard_link(input, folder / "same.jsonl");
  store::PosixDisk disk;
  JobOptions options = job_options();
  options.input_name = input;
  for (const std::string& output : {input, folder / "./requests.jsonl", folder / "same.jsonl"}) {
    options.output_path = output;
    for (const bool fresh : {false, true}) {
      options.fresh = fresh;
      const auto files = open_job_files(options, disk);
      ASSERT_FALSE(files.has_value()) << output;
      EXPECT_EQ(files.error().kind, ErrorKind::kInvalid);
    }
  }
  options.output_path = folder / "no/r.jsonl";
  const auto missing = open_job_files(options, disk);
  EXPECT_EQ(missing.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(missing.error().message.find("folder of the output"), std::string::npos);
}

}  // namespace
}  // namespace windrow::batch
