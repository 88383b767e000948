// The same command continues, and what must not be continued is refused and named.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;

class Resume : public ::testing::Test {
 protected:
  void SetUp() override { folder_.use_model(model_path("llama")); }

  Ended run_job(const Words& more = {}) {
    return folder_.windrow(exact_run("requests.jsonl", "results.jsonl", more));
  }

  Words ids(std::string_view log = "results.jsonl") { return custom_ids(read_log(folder_, log)); }

  JobFolder folder_;
};

TEST_F(Resume, AFinishedJobHasNothingToDo) {
  folder_.write("requests.jsonl", some_requests(4));
  const Ended first = run_job();
  EXPECT_EQ(first.code, 0) << first;
  const std::string results = folder_.read("results.jsonl");
  const Ended second = run_job();
  EXPECT_EQ(second.code, 0) << second;
  EXPECT_EQ(folder_.read("results.jsonl"), results);
}

TEST_F(Resume, AppendedRowsRun) {
  folder_.write("requests.jsonl", some_requests(4));
  EXPECT_EQ(run_job().code, 0);
  const std::string results = folder_.read("results.jsonl");
  folder_.write("requests.jsonl", some_requests(6));
  const Ended ended = run_job();
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_TRUE(folder_.read("results.jsonl").starts_with(results));
  EXPECT_THAT(ids(), UnorderedElementsAre("row-1", "row-2", "row-3", "row-4", "row-5", "row-6"));
}

TEST_F(Resume, RowsMayChangePlacesAndLayout) {
  folder_.write("requests.jsonl", completion_line("a", "the", {{"max_tokens", 1}}) +
                                      completion_line("b", "house", {{"max_tokens", 1}}));
  EXPECT_EQ(run_job().code, 0);
  folder_.write("requests.jsonl",
                "{ \"body\" : { \"model\":\"any\", \"prompt\":\"house\", \"max_tokens\":1 }, "
                "\"url\": \"/v1/completions\", \"method\": \"POST\", \"custom_id\": \"b\" }\n" +
                    completion_line("a", "the", {{"max_tokens", 1}}));
  const Ended ended = run_job();
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(ids().size(), 2U);
}

TEST_F(Resume, AChangedRowStopsTheJobAndIsNamed) {
  folder_.write("requests.jsonl", completion_line("a", "the", {{"max_tokens", 1}}) +
                                      completion_line("b", "house", {{"max_tokens", 1}}) +
                                      completion_line("c", "of", {{"temperature", 9}}));
  EXPECT_EQ(run_job().code, 1);
  const std::string results = folder_.read("results.jsonl");
  folder_.write("requests.jsonl", completion_line("a", "the", {{"max_tokens", 1}}) +
                                      completion_line("b", "houses", {{"max_tokens", 1}}) +
                                      completion_line("c", "of", {{"temperature", 1}}) +
                                      completion_line("d", "new", {{"max_tokens", 1}}));
  const Ended changed = run_job();
  EXPECT_EQ(changed.code, 2) << changed;
  EXPECT_THAT(
      changed.errors,
      HasSubstr(
          "requests.jsonl: 2 rows changed since they have been run:\n"
          "  line 2, custom_id \"b\"\n"
          "  line 3, custom_id \"c\" (failed before)\n"
          "restore the original rows, or give the changed ones new custom_ids; --retry-failed "
          "reruns failed rows with their new content; --fresh starts over and keeps the old "
          "files under new names\n"));
  EXPECT_EQ(folder_.read("results.jsonl"), results);

  const Ended fresh = run_job({"--fresh"});
  EXPECT_EQ(fresh.code, 0) << fresh;
  EXPECT_THAT(ids(), UnorderedElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(folder_.read("results.old-1.jsonl"), results);
}

TEST_F(Resume, AChangedRowOfAPipeStopsTheJobToo) {
  Command command = folder_.command(exact_run("-", "results.jsonl"));
  command.input = completion_line("a", "the", {{"max_tokens", 1}});
  EXPECT_EQ(run(command).code, 0);
  command.input = completion_line("new", "one", {{"max_tokens", 1}}) +
                  completion_line("a", "another", {{"max_tokens", 1}});
  const Ended changed = run(command);
  EXPECT_EQ(changed.code, 2) << changed;
  EXPECT_THAT(changed.errors, HasSubstr("standard input: a row changed since it has been run:\n"
                                        "  line 2, custom_id \"a\"\n"));
}

TEST_F(Resume, OnlyTwentyOfManyChangedRowsAreNamed) {
  std::string before;
  std::string after;
  for (int i = 1; i <= 23; ++i) {
    before += completion_line(std::to_string(i), "the", {{"max_tokens", 1}});
    after += completion_line(std::to_string(i), "the", {{"max_tokens", 2}});
  }
  folder_.write("requests.jsonl", before);
  EXPECT_EQ(run_job().code, 0);
  folder_.write("requests.jsonl", after);
  const Ended changed = run_job();
  EXPECT_EQ(changed.code, 2) << changed;
  EXPECT_THAT(changed.errors, HasSubstr("requests.jsonl: 23 rows changed"));
  EXPECT_THAT(changed.errors, HasSubstr("\n  line 20, custom_id \"20\"\n  and 3 more\n"));
}

struct Changed {
  const char* name;
  Words before;
  Words after;
  std::string change;  // as the message names it
};

std::ostream& operator<<(std::ostream& stream, const Changed& changed) {
  return stream << changed.name;
}

class ChangedOption : public ::testing::TestWithParam<Changed> {};

const Changed kChanged[] = {
    {"Set",
     {"--set", "temperature=0"},
     {"--set", "temperature=0.5"},
     "\n  set temperature: 0 -> 0.5\n"},
    {"SetMore", {}, {"--set", "stop=house"}, "\n  set stop: (not set) -> \"house\"\n"},
    {"SetLess", {"--set", "top_p=0.5"}, {}, "\n  set top_p: 0.5 -> (not set)\n"},
    {"MaxTokensDefault", {}, {"--max-tokens-default", "5"}, "\n  max-tokens-default: 4096 -> 5\n"},
    {"KeepTruncated", {}, {"--keep-truncated"}, "\n  keep-truncated: (not set) -> true\n"},
    {"KvType", {"--kv-type", "f32"}, {"--kv-type", "q8_0"}, "\n  kv-type: f32 -> q8_0\n"},
    {"Model", {}, {"--model", "other.gguf"}, "model"},
    {"ModelName", {}, {"--model", "any=model.gguf"}, "model any"},
    {"Several",
     {},
     {"--max-tokens-default", "5", "--set", "seed=1"},
     "\n  max-tokens-default: 4096 -> 5\n  set seed: (not set) -> 1\n"},
};

INSTANTIATE_TEST_SUITE_P(All, ChangedOption, ::testing::ValuesIn(kChanged),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(ChangedOption, StopsTheJobAndIsNamed) {
  const Changed& changed = GetParam();
  JobFolder folder;
  folder.use_model(model_path("llama"));
  folder.use_model(model_path("qwen3"), "other.gguf");
  folder.write("requests.jsonl", completion_line("a", "the", {{"max_tokens", 2}}));
  const auto words = [](const Words& more) {
    Words all = {"run", "requests.jsonl", "-o", "results.jsonl"};
    if (std::find(more.begin(), more.end(), "--model") == more.end()) {
      all.insert(all.end(), {"--model", "model.gguf"});
    }
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const Ended first = folder.windrow(words(changed.before));
  EXPECT_EQ(first.code, 0) << first;
  const std::string results = folder.read("results.jsonl");
  const Ended second = folder.windrow(words(changed.after));
  EXPECT_EQ(second.code, 2) << second;
  EXPECT_THAT(second.errors,
              HasSubstr("the results in results.jsonl were made with other options:\n"));
  EXPECT_THAT(second.errors, HasSubstr(changed.change));
  EXPECT_THAT(second.errors,
              HasSubstr("\nuse the old ones to continue, or --fresh to start over and keep the old "
                        "files under another name\n"));
  EXPECT_EQ(folder.read("results.jsonl"), results);

  Words fresh = words(changed.after);
  fresh.emplace_back("--fresh");
  const Ended started_over = folder.windrow(fresh);
  EXPECT_EQ(started_over.code, 0) << started_over;
  EXPECT_EQ(folder.read("results.old-1.jsonl"), results);
  EXPECT_TRUE(folder.has("results.old-1.job.json"));
}

TEST_F(Resume, OptionsThatAlterNoAnswerMayChange) {
  folder_.write("requests.jsonl", some_requests(4));
  EXPECT_EQ(run_job({"--limit", "2"}).code, 0);
  const Ended ended = run_job({"--rows-max", "3", "--batch-tokens", "16", "--step-ms", "50",
                               "--threads", "2", "--grace", "1", "--ordered", "--quiet"});
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(ids().size(), 4U);
}

TEST_F(Resume, RetryFailedRunsTheFailedRowsAgain) {
  folder_.write("requests.jsonl", completion_line("good", "the", {{"max_tokens", 1}}) +
                                      completion_line("bad", "the", {{"temperature", 9}}) +
                                      "not json\n");
  EXPECT_EQ(run_job().code, 1);
  const std::string results = folder_.read("results.jsonl");

  // Corrected in the meantime.
  folder_.write("requests.jsonl",
                completion_line("good", "the", {{"max_tokens", 1}}) +
                    completion_line("bad", "the", {{"temperature", 1}, {"max_tokens", 1}}) +
                    "not json\n");
  const Ended retried = run_job({"--retry-failed"});
  EXPECT_EQ(retried.code, 1) << retried;
  EXPECT_EQ(ids(), (Words{"good", "bad"}));
  EXPECT_TRUE(folder_.read("results.jsonl").starts_with(results));
  EXPECT_EQ(read_log(folder_, "results.errors.jsonl").size(), 1U);

  const std::string second_errors = folder_.read("results.errors.jsonl");
  const Ended again = run_job({"--retry-failed"});
  EXPECT_EQ(again.code, 1) << again;
  EXPECT_EQ(folder_.read("results.errors.jsonl"), second_errors);
}

TEST_F(Resume, LimitTakesTheFirstRowsAndWithoutItTheJobGoesOn) {
  folder_.write("requests.jsonl", "\n" + some_requests(5));
  const Ended two = run_job({"--limit", "2"});
  EXPECT_EQ(two.code, 0) << two;
  EXPECT_THAT(ids(), UnorderedElementsAre("row-1", "row-2"));
  const Ended three = run_job({"--limit", "3"});
  EXPECT_EQ(three.code, 0) << three;
  EXPECT_THAT(ids(), UnorderedElementsAre("row-1", "row-2", "row-3"));
  const Ended all = run_job();
  EXPECT_EQ(all.code, 0) << all;
  EXPECT_EQ(ids().size(), 5U);
}

TEST_F(Resume, ARunWithNothingToDoKeepsTheFiguresOfTheOneBefore) {
  folder_.write("requests.jsonl", some_requests(3));
  const Ended first = run_job({"--report", "report.html"});
  EXPECT_EQ(first.code, 0) << first;
  const auto summary = [&] {
    return boost::json::parse(folder_.read("results.summary.json")).as_object();
  };
  const boost::json::object before = summary();
  const std::string report = folder_.read("report.html");
  const Ended second = run_job({"--report", "report.html", "--ordered"});
  EXPECT_EQ(second.code, 0) << second;
  boost::json::object after = summary();
  EXPECT_GT(after.at("this_run").at("running_s").to_number<double>(), 0);
  EXPECT_EQ(after.at("this_run").at("attempts"), 3);
  EXPECT_EQ(after.at("ordered"), true);
  after["ordered"] = false;
  EXPECT_EQ(after, before);
  EXPECT_EQ(folder_.read("report.html"), report);
}

TEST_F(Resume, FreshCountsUpAndKeepsEveryFile) {
  folder_.write("requests.jsonl", some_requests(2) + "bad\n");
  EXPECT_EQ(run_job().code, 1);
  EXPECT_EQ(run_job({"--fresh"}).code, 1);
  EXPECT_EQ(run_job({"--fresh"}).code, 1);
  EXPECT_THAT(
      folder_.names(),
      IsSupersetOf({"results.jsonl", "results.errors.jsonl", "results.job.json",
                    "results.summary.json", "results.old-1.jsonl", "results.old-1.errors.jsonl",
                    "results.old-1.job.json", "results.old-1.summary.json", "results.old-2.jsonl",
                    "results.old-2.errors.jsonl", "results.old-2.job.json",
                    "results.old-2.summary.json"}));
}

TEST_F(Resume, AForeignFileIsNeitherContinuedNorOverwritten) {
  folder_.write("requests.jsonl", some_requests(2));
  for (const std::string text : {"my notes\n", "{\"custom_id\": \"row-1\"}\n", "no line end"}) {
    folder_.write("results.jsonl", text);
    const Ended ended = run_job();
    EXPECT_EQ(ended.code, 2) << ended;
    EXPECT_THAT(ended.errors,
                HasSubstr("results.jsonl: line 1 is not one that Windrow wrote there"));
    EXPECT_EQ(folder_.read("results.jsonl"), text);
  }
}

TEST_F(Resume, ADeletedLineRunsAgain) {
  folder_.write("requests.jsonl", some_requests(3));
  EXPECT_EQ(run_job().code, 0);
  const Outcomes before = outcomes_of_job(folder_);
  const std::vector<LogLine> lines = read_log(folder_, "results.jsonl");
  folder_.write("results.jsonl", lines[0].text + "\n" + lines[2].text + "\n");
  const Ended ended = run_job();
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(difference(before, outcomes_of_job(folder_)), "");
}

TEST_F(Resume, ADoubledLineIsTakenOut) {
  folder_.write("requests.jsonl", some_requests(2));
  EXPECT_EQ(run_job().code, 0);
  const std::string text = folder_.read("results.jsonl");
  folder_.write("results.jsonl", text + text);
  const Ended ended = run_job();
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("2 lines of the results and errors are not as Windrow wrote "
                                      "them: results.jsonl: line 3 (custom_id"));
  EXPECT_EQ(folder_.read("results.jsonl"), text);
  EXPECT_EQ(folder_.read("results.quarantine.jsonl"), text);
}

TEST_F(Resume, ResultsThatAreGoneAreNotPaidForAgainUnasked) {
  folder_.write("requests.jsonl", some_requests(2));
  EXPECT_EQ(run_job().code, 0);
  std::filesystem::remove(folder_.path("results.jsonl"));
  const Ended ended = run_job();
  EXPECT_EQ(ended.code, 2) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("results.summary.json counts 2 rows with a result, and "
                                      "results.jsonl is not there"));
  EXPECT_EQ(run_job({"--fresh"}).code, 0);
}

TEST_F(Resume, ResultsWithoutTheirRecordAreNotContinued) {
  folder_.write("requests.jsonl", some_requests(2));
  EXPECT_EQ(run_job().code, 0);
  std::filesystem::remove(folder_.path("results.job.json"));
  const Ended ended = run_job();
  EXPECT_EQ(ended.code, 2) << ended;
  EXPECT_THAT(ended.errors,
              HasSubstr("results.jsonl holds results, but results.job.json, which says how they "
                        "were made, is gone"));
}

}  // namespace
}  // namespace windrow::end_to_end
