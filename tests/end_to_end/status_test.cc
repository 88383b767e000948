// `windrow status`: the state of a job, also while it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <csignal>
#include <string>
#include <vector>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

class Status : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.use_model(model_path("llama"));
    folder_.write("requests.jsonl",
                  completion_line("good", "the", {{"max_tokens", 3}, {"ignore_eos", true}}) +
                      completion_line("hot", "the", {{"temperature", 9}}) + "not json\n" +
                      completion_line("better", "the", {{"max_tokens", 2}, {"ignore_eos", true}}));
  }

  Ended run_job(const Words& more = {}) {
    return folder_.windrow(exact_run("requests.jsonl", "results.jsonl", more));
  }

  json::object status_json(const Words& more = {}) {
    Words words = {"status", "results.jsonl", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = folder_.windrow(words);
    EXPECT_EQ(ended.code, 0) << ended;
    boost::system::error_code error;
    const json::value value = json::parse(ended.output, error);
    EXPECT_FALSE(error) << ended;
    return value.is_object() ? value.get_object() : json::object();
  }

  JobFolder folder_;
};

TEST_F(Status, AJobThatIsFinished) {
  EXPECT_EQ(run_job().code, 1);
  const std::vector<std::string> names = folder_.names();
  const Ended ended = folder_.windrow({"status", "results.jsonl"});
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(ended.errors, "");
  EXPECT_THAT(ended.output, HasSubstr("job           finished"));
  EXPECT_THAT(ended.output, HasSubstr("input         requests.jsonl\n"));
  EXPECT_THAT(ended.output, HasSubstr("rows          2 succeeded, 2 failed\n"));
  EXPECT_THAT(ended.output, HasSubstr("1 x 400 invalid_value (request); line 2, custom_id \"hot\": "
                                      "temperature is 9; it must be from 0 to 2\n"));
  EXPECT_THAT(ended.output, HasSubstr("5 generated\n"));
  EXPECT_THAT(ended.output, HasSubstr("latency"));
  EXPECT_THAT(ended.output, Not(HasSubstr("#"))) << "a drawing that nobody sees";
  EXPECT_EQ(folder_.names(), names);
  EXPECT_EQ(folder_.windrow({"status", "results.errors.jsonl"}).output, ended.output);
  EXPECT_THAT(folder_.windrow({"status", "results.jsonl", "--histogram"}).output, HasSubstr("##"));
}

TEST_F(Status, ATerminalGetsADrawingThatFits) {
  EXPECT_EQ(run_job().code, 1);
  Command command = folder_.command({"status", "results.jsonl"});
  command.terminal = true;
  const Ended drawn = run(command);
  EXPECT_EQ(drawn.code, 0) << drawn;
  const size_t bar = drawn.output.find("  #");
  ASSERT_NE(bar, std::string::npos) << drawn;
  const size_t begin = drawn.output.rfind('\n', bar) + 1;
  EXPECT_LE(drawn.output.find_first_of("\r\n", bar) - begin, 100U) << drawn;
  command.words.emplace_back("--no-histogram");
  EXPECT_THAT(run(command).output, Not(HasSubstr("##")));
}

TEST_F(Status, AsJsonWithPrices) {
  EXPECT_EQ(run_job().code, 1);
  folder_.write("prices.toml", "[\"*\"]\ninput = 1000000\noutput = 2000000\n");
  const json::object status = status_json({"--prices", "prices.toml"});
  EXPECT_EQ(status.at("state"), "finished");
  EXPECT_EQ(status.at("rows").at("succeeded"), 2);
  EXPECT_EQ(status.at("attempts"), 2);
  const json::value& usage = status.at("usage");
  const double expected = usage.at("prompt_tokens").to_number<double>() +
                          2 * usage.at("completion_tokens").to_number<double>();
  EXPECT_DOUBLE_EQ(status.at("cost").at("usd").to_number<double>(), expected);
  folder_.write("prices.toml", "[m]\ninput = 1\n");
  const Ended mistaken = folder_.windrow({"status", "results.jsonl", "--prices", "prices.toml"});
  EXPECT_EQ(mistaken.code, 2) << mistaken;
  EXPECT_THAT(mistaken.errors, HasSubstr("prices.toml:1: m: output is missing"));
}

TEST_F(Status, WhileARunIsAtWork) {
  folder_.write(
      "endless.jsonl",
      completion_line("short", "the", {{"max_tokens", 1}}) +
          completion_line("endless", "the", {{"max_tokens", 90000}, {"ignore_eos", true}}));
  folder_.use_model(endless_model_path(), "endless.gguf");
  const Words words = {"run",     "endless.jsonl", "-o",      "results.jsonl",
                       "--model", "endless.gguf",  "--grace", "0"};
  Process process(folder_.command(words));
  ASSERT_TRUE(process.wait_until([&] { return folder_.size_of("results.jsonl") > 0; }))
      << process.wait();
  const json::object running = status_json();
  EXPECT_EQ(running.at("state"), "running");
  EXPECT_EQ(running.at("holder"), json::value("process " + std::to_string(process.id())));
  EXPECT_EQ(running.at("rows").at("succeeded"), 1);
  EXPECT_EQ(running.at("rows").at("failed"), 0);
  // Written a second after the rows began to run.
  ASSERT_TRUE(process.wait_until([&] { return folder_.has("results.progress.json"); }));
  ASSERT_TRUE(process.wait_until([&] { return status_json().at("rows").at("left") == 1; }));
  const json::object later = status_json();
  EXPECT_EQ(later.at("rows").at("total"), 2);
  EXPECT_EQ(later.at("progress").at("rows_done"), 1);
  EXPECT_EQ(later.at("progress").at("phase"), "running");
  process.send(SIGKILL);
  process.wait();
  EXPECT_EQ(status_json().at("state"), "cut_short");
  EXPECT_TRUE(status_json().at("progress").is_null()) << "the file of a killed run counts no more";
  const Ended text = folder_.windrow({"status", "results.jsonl"});
  EXPECT_THAT(text.output, HasSubstr("not running; the last run was killed"));
}

TEST_F(Status, IsWatchedUntilTheJobEnds) {
  folder_.write(
      "endless.jsonl",
      completion_line("short", "the", {{"max_tokens", 1}}) +
          completion_line("endless", "the", {{"max_tokens", 90000}, {"ignore_eos", true}}));
  folder_.use_model(endless_model_path(), "endless.gguf");
  Process job(folder_.command(
      {"run", "endless.jsonl", "-o", "results.jsonl", "--model", "endless.gguf", "--grace", "0"}));
  ASSERT_TRUE(job.wait_until([&] { return folder_.has("results.progress.json"); })) << job.wait();
  Command command = folder_.command({"status", "results.jsonl", "--watch", "--no-histogram"});
  command.terminal = true;
  Process watch(command);
  Process lines(folder_.command({"status", "results.jsonl", "--watch"}));
  ASSERT_TRUE(watch.wait_until([&] {
    return watch.output().find("1 of 2 (50.0 %) rows") != std::string::npos;
  })) << watch.output();
  EXPECT_THAT(watch.output(), HasSubstr("running: process " + std::to_string(job.id())));
  ASSERT_TRUE(
      lines.wait_until([&] { return lines.output().find("of 2 rows done") != std::string::npos; }));
  Process interrupted(folder_.command({"status", "results.jsonl", "--watch", "--json"}));
  ASSERT_TRUE(interrupted.wait_until(
      [&] { return interrupted.output().find("\"rows_total\": 2") != std::string::npos; }));
  interrupted.send(SIGINT);
  EXPECT_EQ(interrupted.wait().code, 130);
  job.send(SIGINT);
  EXPECT_EQ(job.wait().code, 130);
  const Ended shown = watch.wait();
  EXPECT_EQ(shown.code, 0) << shown;
  EXPECT_THAT(shown.output, HasSubstr("interrupted; the same command continues"));
  const Ended told = lines.wait();
  EXPECT_EQ(told.code, 0) << told;
  EXPECT_THAT(told.output, HasSubstr("interrupted; the same command continues"));
  EXPECT_THAT(told.output, Not(HasSubstr("\x1b")));
  EXPECT_FALSE(folder_.has("results.progress.json"));
}

TEST_F(Status, WhatAStrangerWroteIsCountedAndCannotMoveTheCursor) {
  folder_.write("requests.jsonl", completion_line("\x1b[31mred", "the", {{"temperature", 9}}));
  EXPECT_EQ(run_job().code, 1);
  folder_.write("results.jsonl", "my notes\n");
  const Ended ended = folder_.windrow({"status", "results.jsonl"});
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.output, HasSubstr("1 of results.jsonl were not written by Windrow"));
  EXPECT_THAT(ended.output, Not(HasSubstr("\x1b")));
  EXPECT_THAT(ended.output, HasSubstr("red"));
}

TEST_F(Status, WhatIsNoJob) {
  const Ended ended = folder_.windrow({"status", "none.jsonl"});
  EXPECT_EQ(ended.code, 2) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("there is no job of this name: neither none.jsonl nor "
                                      "none.errors.jsonl exists"));
  EXPECT_EQ(folder_.windrow({"status"}).code, 2);
}

}  // namespace
}  // namespace windrow::end_to_end
