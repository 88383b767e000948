// A mistake that concerns the whole job stops it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

using ::testing::HasSubstr;

std::string rows_with(int first, int last, const boost::json::object& body) {
  std::string text;
  for (int i = first; i <= last; ++i)
    text += chat_line(fmt::format("row-{}", i), "hello", body);
  return text;
}

class Failures : public ::testing::Test {
 protected:
  Ended run_job(const Words& more = {}) {
    Words words = {"run",           "requests.jsonl", "-o",
                   "results.jsonl", "--model",        "sim:instant,answer-tokens=8"};
    words.insert(words.end(), more.begin(), more.end());
    return folder_.windrow(words);
  }

  JobFolder folder_;
};

TEST_F(Failures, TheSameMistakeInAllRowsIsSaidOnceAndStopsTheJob) {
  folder_.write("requests.jsonl", rows_with(1, 3000, {{"temprature", 0}}));
  const Ended ended = run_job();
  EXPECT_EQ(ended.code, 5) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("because the first 100 rows all failed alike (400 "));
  EXPECT_THAT(ended.errors, HasSubstr("at line 1, custom_id \"row-1\": "));
  EXPECT_THAT(ended.errors, HasSubstr("--max-failures all"));
  EXPECT_EQ(read_log(folder_, "results.errors.jsonl").size(), 100U);
  const boost::json::value summary = boost::json::parse(folder_.read("results.summary.json"));
  EXPECT_EQ(summary.at("exit_code"), 5);
  EXPECT_EQ(summary.at("end"), "failed");

  // The mistake was one of the flags, so that the rows stay.
  const Ended fresh = run_job({"--fresh", "--unknown-fields", "ignore"});
  EXPECT_EQ(fresh.code, 0) << fresh;
  EXPECT_EQ(read_log(folder_, "results.jsonl").size(), 3000U);
}

TEST_F(Failures, EveryRowRunsWhereThatIsWanted) {
  folder_.write("requests.jsonl", rows_with(1, 150, {{"temperature", 9}}));
  EXPECT_EQ(run_job({"--max-failures", "all"}).code, 1);
  EXPECT_EQ(read_log(folder_, "results.errors.jsonl").size(), 150U);
}

TEST_F(Failures, ANumberOfFailuresStopsTheJobAndItContinues) {
  folder_.write("requests.jsonl", rows_with(1, 3, {}) + rows_with(4, 2000, {{"temperature", 9}}));
  const Ended mistaken = run_job({"--max-failures", "0"});
  EXPECT_EQ(mistaken.code, 2) << mistaken;
  EXPECT_THAT(mistaken.errors, HasSubstr("--max-failures 0: this takes a whole number from 1 up"));
  const Ended ended = run_job({"--max-failures", "5"});
  EXPECT_EQ(ended.code, 5) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("--max-failures 5 is reached"));
  EXPECT_EQ(read_log(folder_, "results.errors.jsonl").size(), 5U);

  folder_.write("requests.jsonl", rows_with(1, 2000, {}));
  const Ended corrected = run_job({"--retry-failed"});
  EXPECT_EQ(corrected.code, 0) << corrected;
  EXPECT_EQ(read_log(folder_, "results.jsonl").size(), 2000U);
}

}  // namespace
}  // namespace windrow::end_to_end
