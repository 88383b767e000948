// `windrow exec`: a program for each row as a job that survives kills and signals, or once with its
// result printed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <string>
#include <string_view>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"
#include "end_to_end/sim_upstream.h"

namespace windrow::end_to_end {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kResults = "results.jsonl";
constexpr const char* kErrors = "results.errors.jsonl";

// Branches that share a prefix, with answers that are drawn at random.
constexpr std::string_view kProgram = R"(
return function(input)
  if input.bad then error("this input is bad: " .. input.bad) end
  local ctx <close> = Context.new()
  ctx:system("Answer briefly."):user(input.question)
  local forks = ctx:fork(3)
  local answers = map(forks, function(fork) return fork:generate{max_tokens = 8}.text end, 3)
  log("answered " .. input.question)
  return {answers = answers, dice = math.random(1000000)}
end
)";

constexpr const char* kInstant = "sim:instant,answer-tokens=8";
constexpr const char* kSlow = "sim:step-us=2000,row-us=0,prompt-token-us=0,answer-tokens=8";

std::string rows(int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) {
    text += fmt::format(
        "{{\"custom_id\": \"row-{0}\", \"input\": {{\"question\": \"number {0}?\"}}}}\n", i);
  }
  return text;
}

// The result of each row; its usage depends on what ran beside it.
std::map<std::string, std::string> results_in(const JobFolder& folder, std::string_view name) {
  std::map<std::string, std::string> results;
  for (const LogLine& line : read_log(folder, name)) {
    const std::string id(line.json.at("custom_id").as_string());
    EXPECT_TRUE(results.emplace(id, member(line.json, "response.body.result")).second) << id;
  }
  return results;
}

class Exec : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("program.lua", kProgram);
    folder_.write("rows.jsonl", rows(1, 40));
  }

  static Words job(const char* model, const Words& more = {}, const char* results = kResults) {
    Words words = {"exec", "program.lua", "--input", "rows.jsonl", "-o", results, "--model", model};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  JobFolder folder_;
};

TEST_F(Exec, EachRowIsAnInstanceWhoseResultIsItsAnswer) {
  folder_.write("rows.jsonl", rows(1, 3) +
                                  R"({"custom_id": "bad", "input": {"bad": "x"}})"
                                  "\n" +
                                  chat_line("request", "hi"));
  const Ended ended = folder_.windrow(job(kInstant, {"--ordered"}));
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_THAT(custom_ids(read_log(folder_, kResults)), ElementsAre("row-1", "row-2", "row-3"));
  const auto first = read_log(folder_, kResults).at(0).json;
  EXPECT_EQ(member(first, "response.body.object"), "\"program.result\"");
  EXPECT_EQ(member(first, "response.body.program"), "\"program.lua\"");
  EXPECT_EQ(member(first, "response.body.program_usage.calls"), "3");
  EXPECT_THAT(ended.errors, HasSubstr("row-1: answered number 1?"));
  const auto errors = read_log(folder_, kErrors);
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(member(errors[0].json, "error.code"), "\"program_error\"");
  EXPECT_THAT(member(errors[0].json, "error.message"), HasSubstr("this input is bad: x"));
  EXPECT_EQ(member(errors[1].json, "error.code"), "\"missing_input\"");
}

TEST_F(Exec, WhatWasKilledContinuesWithTheSameResults) {
  ASSERT_EQ(folder_.windrow(job(kInstant, {}, "whole.jsonl")).code, 0);
  const auto whole = results_in(folder_, "whole.jsonl");
  ASSERT_EQ(whole.size(), 40U);
  const Words words = job(kSlow, {"--programs-in-flight", "2"});
  {
    Process process(folder_.command(words));
    ASSERT_TRUE(process.wait_until([&] { return folder_.size_of(kResults) > 0; }))
        << process.wait();
    process.send(SIGKILL);
    EXPECT_EQ(process.wait().signal, SIGKILL);
  }
  const size_t before = read_torn_log(folder_, kResults).lines.size();
  EXPECT_LT(before, 40U);
  const Ended ended = folder_.windrow(words);
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("resuming"));
  EXPECT_EQ(results_in(folder_, kResults), whole);
}

TEST_F(Exec, ASignalLetsInstancesFinishAndTheSameCommandContinues) {
  const Words words = job(kSlow, {"--programs-in-flight", "2", "--grace", "3600"});
  Process process(folder_.command(words));
  ASSERT_TRUE(process.wait_until([&] { return folder_.size_of(kResults) > 0; })) << process.wait();
  process.send(SIGINT);
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 130) << ended;
  EXPECT_TRUE(read_log(folder_, kErrors).empty());
  const Ended continued = folder_.windrow(words);
  EXPECT_EQ(continued.code, 0) << continued;
  EXPECT_EQ(results_in(folder_, kResults).size(), 40U);
}

TEST_F(Exec, ASecondSignalEndsAtOnceAndNoInstanceIsAFailure) {
  const Words words =
      job("sim:step-us=20000,answer-tokens=100000,context=1000000", {"--grace", "3600"});
  folder_.write("program.lua",
                "return function() log('begun') return Context.new():user('x'):generate{"
                "max_tokens = 90000, temperature = 0}.text end");
  Process process(folder_.command(words));
  ASSERT_TRUE(process.wait_for_errors("row-1: begun")) << process.wait();
  process.send(SIGINT);
  ASSERT_TRUE(process.wait_for_errors("stopping: running rows may finish")) << process.wait();
  process.send(SIGINT);
  EXPECT_EQ(process.wait().code, 130);
  EXPECT_TRUE(read_log(folder_, kErrors).empty());
}

TEST_F(Exec, AChangedProgramIsRefusedAndAHigherLimitIsNot) {
  const Ended limited = folder_.windrow(job(kInstant, {"--program-tokens", "10"}));
  EXPECT_EQ(limited.code, 1) << limited;
  ASSERT_EQ(read_log(folder_, kErrors).size(), 40U);
  EXPECT_EQ(member(read_log(folder_, kErrors)[0].json, "error.code"), "\"program_token_limit\"");
  EXPECT_THAT(limited.errors, HasSubstr("windrow exec program.lua --input rows.jsonl -o "
                                        "results.jsonl --retry-failed"));
  EXPECT_THAT(limited.errors, Not(HasSubstr("windrow retry")));
  EXPECT_THAT(limited.errors, Not(HasSubstr("answers every row"))) << "rows name no models";

  const Ended retry = folder_.windrow({"retry", kErrors, "--model", kInstant});
  EXPECT_EQ(retry.code, 2) << retry;
  EXPECT_THAT(retry.errors, HasSubstr("windrow exec program.lua --input rows.jsonl -o"));
  EXPECT_THAT(retry.errors, HasSubstr("--retry-failed"));

  const Ended again = folder_.windrow(job(kInstant, {"--retry-failed"}));
  EXPECT_EQ(again.code, 0) << again;
  EXPECT_EQ(results_in(folder_, kResults).size(), 40U);

  folder_.write("program.lua", std::string(kProgram) + "-- changed\n");
  const Ended changed = folder_.windrow(job(kInstant));
  EXPECT_EQ(changed.code, 2) << changed;
  EXPECT_THAT(changed.errors, HasSubstr("program"));
  EXPECT_THAT(changed.errors, HasSubstr("--fresh"));
  EXPECT_EQ(folder_.windrow(job(kInstant, {"--fresh"})).code, 0);
}

TEST_F(Exec, RunsOnceWithoutFilesAndPrintsTheResult) {
  const auto names = folder_.names();
  const Ended ended = folder_.windrow(
      {"exec", "program.lua", "--arg", R"({"question": "why?"})", "--model", kInstant});
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.output, ::testing::StartsWith("{\"answers\":["));
  EXPECT_THAT(ended.errors, HasSubstr("windrow: answered why?"));
  EXPECT_EQ(folder_.names(), names);

  const Ended failed =
      folder_.windrow({"exec", "program.lua", "--arg", R"({"bad": "y"})", "--model", kInstant});
  EXPECT_EQ(failed.code, 1) << failed;
  EXPECT_THAT(failed.output, IsEmpty());
  EXPECT_THAT(failed.errors, HasSubstr("this input is bad: y"));
  const Ended no_json =
      folder_.windrow({"exec", "program.lua", "--arg", "why?", "--model", kInstant});
  EXPECT_EQ(no_json.code, 2) << no_json;
  EXPECT_THAT(no_json.errors, HasSubstr("--arg is not JSON"));
}

TEST_F(Exec, TracesAreWrittenInTheFormatOfTheirEnding) {
  ASSERT_EQ(folder_.windrow(job(kInstant, {"--trace", "out.json"})).code, 0);
  EXPECT_THAT(folder_.read("out.json"), HasSubstr("traceEvents"));
  EXPECT_THAT(folder_.read("out.json"), HasSubstr("row-40"));
  ASSERT_EQ(folder_.windrow(job(kInstant, {"--fresh", "--trace", "out.txt"})).code, 0);
  EXPECT_THAT(folder_.read("out.txt"), HasSubstr("row-1"));
  const Ended refused = folder_.windrow(job(kInstant, {"--fresh", "--trace", "out.png"}));
  EXPECT_EQ(refused.code, 2) << refused;
}

TEST_F(Exec, WhatCannotRunIsRefusedBeforeAnythingIsOpened) {
  folder_.write("broken.lua", "return function(input) retrn 1 end");
  const Ended broken = folder_.windrow(
      {"exec", "broken.lua", "--input", "rows.jsonl", "-o", kResults, "--model", "no.gguf"});
  EXPECT_EQ(broken.code, 2) << broken;
  EXPECT_THAT(broken.errors, HasSubstr("broken.lua"));
  const Ended unknown = folder_.windrow({"exec", "graph_of_thougth", "--model", kInstant});
  EXPECT_EQ(unknown.code, 2) << unknown;
  EXPECT_THAT(unknown.errors, HasSubstr("did you mean graph_of_thought?"));
  const Ended same = folder_.windrow(
      {"exec", "program.lua", "--input", "rows.jsonl", "-o", "program.lua", "--model", kInstant});
  EXPECT_EQ(same.code, 2) << same;
  EXPECT_EQ(folder_.read("program.lua"), kProgram);
  EXPECT_FALSE(folder_.has(kResults));
}

TEST_F(Exec, OfSeveralModelsTheOnlyOneThatAnswersIsTheDefault) {
  folder_.write("program.lua",
                "return function()\n"
                "  local ctx = Context.new():user('x')\n"
                "  ctx:generate{max_tokens = 4}\n"
                "  return #ctx:embed() > 1\n"
                "end");
  folder_.use_model(model_path("bert"), "embed.gguf");
  const Words two = {"exec", "program.lua", "--model", "chat=" + std::string(kInstant), "--model"};
  Words words = two;
  words.emplace_back("embed=embed.gguf");
  const Ended ended = folder_.windrow(words);
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(ended.output, "true\n");

  words = two;
  words.push_back("more=" + std::string(kInstant));
  const Ended unclear = folder_.windrow(words);
  EXPECT_EQ(unclear.code, 1) << unclear;
  EXPECT_THAT(unclear.errors, HasSubstr("chat, more answer /v1/chat/completions; name one with "
                                        "--program-model"));
}

TEST_F(Exec, AServerIsAskedForTheOnlyModelThatItLists) {
  const auto job_at = [](const std::string& url, const Words& more = {}) {
    Words words = {"exec", "program.lua", "--input",    "rows.jsonl",
                   "-o",   kResults,      "--upstream", url};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Words quick = {"--request-ms", "0", "--token-ms", "0", "--prompt-token-us", "0"};
  const auto with_models = [&](const Words& models) {
    Words words = quick;
    for (const std::string& model : models)
      words.insert(words.end(), {"--model", model});
    return words;
  };
  folder_.write("rows.jsonl", rows(1, 2));
  {
    const SimUpstream two(folder_, with_models({"m", "n"}));
    const Ended refused = folder_.windrow(job_at(two.url()));
    EXPECT_EQ(refused.code, 2) << refused;
    EXPECT_THAT(refused.errors, HasSubstr("has m, n"));
    EXPECT_THAT(refused.errors, HasSubstr("--program-model"));
    EXPECT_FALSE(folder_.has(kResults));
    const Ended once = folder_.windrow({"exec", "program.lua", "--upstream", two.url()});
    EXPECT_EQ(once.code, 2) << once;
    EXPECT_THAT(once.errors, HasSubstr("--program-model"));
    const Ended named = folder_.windrow(job_at(two.url(), {"--program-model", "n"}));
    EXPECT_EQ(named.code, 0) << named;
  }
  const SimUpstream one(folder_, with_models({"m"}));
  const Ended ended = folder_.windrow(job_at(one.url(), {"--fresh"}));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(results_in(folder_, kResults).size(), 2U);
}

TEST_F(Exec, AnInstanceThatLoopsHarmsNoOtherRow) {
  folder_.write("program.lua",
                "return function(input)\n"
                "  if input.loop then while true do end end\n"
                "  return Context.new():user('x'):generate{max_tokens = 4}.text\n"
                "end");
  folder_.write("rows.jsonl", R"({"custom_id": "loop", "input": {"loop": true}})"
                              "\n" +
                                  rows(1, 5));
  const Ended ended = folder_.windrow(job(kInstant));
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_EQ(results_in(folder_, kResults).size(), 5U);
  EXPECT_EQ(member(read_log(folder_, kErrors).at(0).json, "error.code"),
            "\"program_instruction_limit\"");
}

}  // namespace
}  // namespace windrow::end_to_end
