// `windrow compare`, and the report of a job of several runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

class Compare : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.use_model(model_path("llama"));
    folder_.write("requests.jsonl",
                  completion_line("one", "the", {{"max_tokens", 3}, {"ignore_eos", true}}) +
                      completion_line("two", "a", {{"max_tokens", 4}, {"ignore_eos", true}}) +
                      completion_line("hot", "the", {{"temperature", 9}}));
  }

  JobFolder folder_;
};

TEST_F(Compare, TwoRunsOfOneInputAreTheSame) {
  EXPECT_EQ(folder_.windrow(exact_run("requests.jsonl", "a.jsonl")).code, 1);
  EXPECT_EQ(folder_.windrow(exact_run("requests.jsonl", "b.jsonl")).code, 1);
  const Ended same = folder_.windrow({"compare", "a.jsonl", "b.jsonl"});
  EXPECT_EQ(same.code, 0) << same;
  EXPECT_THAT(same.output, HasSubstr("rows          3 in both\n"));
  EXPECT_THAT(same.output, HasSubstr("answers       2 (100.0 %) equal, 0 (0.0 %) different\n"));
  EXPECT_THAT(same.output, HasSubstr("invalid_value: 1\n"));
}

TEST_F(Compare, ChangedAnswersAreShownAndSaidByTheExitCode) {
  EXPECT_EQ(folder_.windrow(exact_run("requests.jsonl", "a.jsonl")).code, 1);
  EXPECT_EQ(folder_.windrow(exact_run("requests.jsonl", "b.jsonl", {"--limit", "1"})).code, 0);
  const Ended fewer = folder_.windrow({"compare", "a.jsonl", "b.jsonl", "--json"});
  EXPECT_EQ(fewer.code, 1) << fewer;
  const json::value compared = json::parse(fewer.output);
  EXPECT_EQ(compared.at("rows_in_both"), 1);
  EXPECT_EQ(compared.at("first").at("rows_only_here"), 2);
  EXPECT_EQ(folder_.windrow({"compare", "a.jsonl", "none.jsonl"}).code, 2);
  EXPECT_EQ(folder_.windrow({"compare", "a.jsonl", "requests.jsonl"}).code, 2);
}

TEST_F(Compare, TheReportCoversAllRunsOfTheJob) {
  EXPECT_EQ(folder_
                .windrow(exact_run("requests.jsonl", "a.jsonl",
                                   {"--report", "report.html", "--limit", "1"}))
                .code,
            0);
  EXPECT_EQ(
      folder_.windrow(exact_run("requests.jsonl", "a.jsonl", {"--report", "report.html"})).code, 1);
  const std::string html = folder_.read("report.html");
  EXPECT_THAT(html, HasSubstr("<h2>Runs "));
  EXPECT_THAT(html, HasSubstr("<h2>Latency "));
  EXPECT_THAT(html, HasSubstr("<td>length</td><td class=\"number\">2</td>"))
      << "one answer of each run";
  EXPECT_THAT(html, HasSubstr("hot, line 3: temperature is 9"));
  EXPECT_THAT(html, Not(HasSubstr("<td>default</td>")));
  const json::value summary = json::parse(folder_.read("a.summary.json"));
  ASSERT_EQ(summary.at("runs").as_array().size(), 2U);
  EXPECT_EQ(summary.at("runs").at(0).at("rows"), 1);
  EXPECT_EQ(summary.at("runs").at(1).at("rows"), 2);
}

}  // namespace
}  // namespace windrow::end_to_end
