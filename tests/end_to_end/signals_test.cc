// Told to stop: once lets running rows finish, twice does not wait for them, and the same command
// goes on afterwards.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

constexpr int kShortRows = 400;

// One row that takes a while, and short ones that all together take longer.
std::string a_long_row_and_short_ones() {
  std::string text = completion_line(
      "long", "the", {{"max_tokens", 600}, {"ignore_eos", true}, {"temperature", 0}});
  for (int i = 1; i <= kShortRows; ++i) {
    text += completion_line(fmt::format("short-{}", i), "the house of",
                            {{"max_tokens", 5}, {"ignore_eos", true}, {"temperature", i % 2}});
  }
  return text;
}

bool has_row(const JobFolder& folder, const std::string& custom_id) {
  const std::vector<std::string> ids = custom_ids(read_log(folder, "results.jsonl"));
  return std::find(ids.begin(), ids.end(), custom_id) != ids.end();
}

std::string signal_name(const ::testing::TestParamInfo<int>& info) {
  if (info.param == SIGINT) return "Int";
  return info.param == SIGTERM ? "Term" : "Hup";
}

class Signals : public ::testing::TestWithParam<int> {
 protected:
  JobFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(All, Signals, ::testing::Values(SIGINT, SIGTERM, SIGHUP), signal_name);

TEST_P(Signals, OnceLetsRunningRowsFinishAndTheSameCommandContinues) {
  folder_.use_model(model_path("llama"));
  folder_.write("requests.jsonl", a_long_row_and_short_ones());
  const Words whole = exact_run("requests.jsonl", "whole.jsonl", {"--rows-max", "2"});
  const Words words =
      exact_run("requests.jsonl", "results.jsonl", {"--rows-max", "2", "--grace", "3600"});

  Process process(folder_.command(words));
  // The long row came first, so it runs while the first short one ends.
  ASSERT_TRUE(process.wait_until([&] { return folder_.size_of("results.jsonl") > 0; }))
      << process.wait();
  process.send(GetParam());
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 130) << ended;
  EXPECT_TRUE(has_row(folder_, "long"));
  const size_t rows = read_log(folder_, "results.jsonl").size();
  EXPECT_LT(rows, size_t{kShortRows});
  EXPECT_TRUE(read_log(folder_, "results.errors.jsonl").empty());

  const Ended continued = folder_.windrow(words);
  EXPECT_EQ(continued.code, 0) << continued;
  const Ended undisturbed = folder_.windrow(whole);
  EXPECT_EQ(undisturbed.code, 0) << undisturbed;
  EXPECT_EQ(difference(outcomes_of_job(folder_, "whole"), outcomes_of_job(folder_)), "");
}

TEST_P(Signals, TwiceStopsAtOnce) {
  folder_.use_model(endless_model_path());
  folder_.write(
      "requests.jsonl",
      completion_line("short", "the", {{"max_tokens", 1}}) +
          completion_line("endless", "the", {{"max_tokens", 90000}, {"ignore_eos", true}}));
  Process process(folder_.command({"run", "requests.jsonl", "-o", "results.jsonl", "--model",
                                   "model.gguf", "--grace", "86400"}));
  ASSERT_TRUE(process.wait_until([&] { return folder_.size_of("results.jsonl") > 0; }))
      << process.wait();
  process.send(GetParam());
  ASSERT_TRUE(process.wait_for_errors("stopping")) << process.wait();
  process.send(GetParam());
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 130) << ended;
  EXPECT_EQ(custom_ids(read_log(folder_, "results.jsonl")), Words{"short"});
}

TEST_P(Signals, RowsAreCancelledWhenTheGraceIsOver) {
  folder_.use_model(endless_model_path());
  folder_.write(
      "requests.jsonl",
      completion_line("short", "the", {{"max_tokens", 1}}) +
          completion_line("endless", "the", {{"max_tokens", 90000}, {"ignore_eos", true}}));
  Process process(folder_.command(
      {"run", "requests.jsonl", "-o", "results.jsonl", "--model", "model.gguf", "--grace", "0"}));
  ASSERT_TRUE(process.wait_until([&] { return folder_.size_of("results.jsonl") > 0; }))
      << process.wait();
  process.send(GetParam());
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 130) << ended;
  EXPECT_EQ(custom_ids(read_log(folder_, "results.jsonl")), Words{"short"});
  EXPECT_TRUE(read_log(folder_, "results.errors.jsonl").empty());
}

TEST_P(Signals, APipeThatSaysNothingIsNotWaitedFor) {
  folder_.use_model(model_path("llama"));
  Command command = folder_.command(exact_run("-", "results.jsonl"));
  command.input = some_requests(1);
  command.input_stays_open = true;
  Process process(command);
  ASSERT_TRUE(process.wait_until([&] { return folder_.size_of("results.jsonl") > 0; }))
      << process.wait();
  process.send(GetParam());
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 130) << ended;
  EXPECT_EQ(read_log(folder_, "results.jsonl").size(), 1U);
}

TEST(SignalsOfATerminal, CtrlCStopsTheRun) {
  JobFolder folder;
  folder.use_model(endless_model_path());
  folder.write(
      "requests.jsonl",
      completion_line("short", "the", {{"max_tokens", 1}}) +
          completion_line("endless", "the", {{"max_tokens", 90000}, {"ignore_eos", true}}));
  Command command = folder.command(
      {"run", "requests.jsonl", "-o", "results.jsonl", "--model", "model.gguf", "--grace", "0"});
  command.terminal = true;
  Process process(command);
  ASSERT_TRUE(process.wait_until([&] { return folder.size_of("results.jsonl") > 0; }))
      << process.wait();
  process.write("\x03");
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 130) << ended;
  EXPECT_EQ(custom_ids(read_log(folder, "results.jsonl")), Words{"short"});
}

}  // namespace
}  // namespace windrow::end_to_end
