// `windrow run` with servers elsewhere: the program, and the simulated server as a program.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <csignal>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"
#include "end_to_end/sim_upstream.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;

using ::testing::HasSubstr;
using ::testing::Not;

// What a run asks a server before it sends it rows: its models and who it is.
constexpr int64_t kQuestionsBefore = 3;

// Quick answers of few words.
Words quick(Words more = {}) {
  more.insert(more.begin(), {"--token-ms", "1", "--answer-tokens", "4"});
  return more;
}

Words job(const std::vector<std::string>& urls, Words more = {}) {
  Words words{"run", "requests.jsonl", "-o", "results.jsonl"};
  for (const std::string& url : urls)
    words.insert(words.end(), {"--upstream", url});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Each asks for its own number.
std::string rows(int count, const json::object& body = {}) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += chat_line("row-" + std::to_string(i), "number " + std::to_string(i), body);
  return text;
}

// What the server saw.
json::object stats(SimUpstream& server) {
  const Ended ended = server.stop();
  const size_t line = ended.output.rfind('{', ended.output.find("\"requests\""));
  return json::parse(ended.output.substr(line)).as_object();
}

std::string content_of(const LogLine& line) {
  return std::string(line.json.at("response")
                         .at("body")
                         .at("choices")
                         .at(0)
                         .at("message")
                         .at("content")
                         .as_string());
}

class Upstream : public ::testing::Test {
 protected:
  // Of a job that is done: every row there was answered, by its own answer, once.
  void expect_own_answers(int count) const {
    std::set<std::string> ids;
    for (const LogLine& line : read_log(folder_, "results.jsonl")) {
      const std::string id(line.json.at("custom_id").as_string());
      EXPECT_TRUE(ids.insert(id).second) << id << " is there twice";
      EXPECT_EQ(content_of(line), "number " + id.substr(4));
    }
    EXPECT_EQ(ids.size(), static_cast<size_t>(count));
  }

  JobFolder folder_;
};

TEST_F(Upstream, SeveralServersAnswerTheRowsOfOneFile) {
  SimUpstream one(folder_, quick({"--answer", "echo", "--slots", "4", "--stats"}));
  SimUpstream two(folder_, quick({"--answer", "echo", "--slots", "4", "--stats"}));
  folder_.write("requests.jsonl", rows(200));
  const Ended ended = folder_.windrow(job({one.url(), two.url()}));
  EXPECT_EQ(ended.code, 0) << ended;
  expect_own_answers(200);
  const int64_t first = stats(one).at("requests").as_int64();
  const int64_t second = stats(two).at("requests").as_int64();
  EXPECT_EQ(first + second, 200 + 2 * kQuestionsBefore) << "each row was asked once";
  EXPECT_GT(first, 20);
  EXPECT_GT(second, 20);
  const json::object summary = json::parse(folder_.read("results.summary.json")).as_object();
  const json::array& servers = summary.at("this_run").at("upstreams").as_array();
  ASSERT_EQ(servers.size(), 2U);
  EXPECT_EQ(servers[0].at("answers"), first - kQuestionsBefore);
  EXPECT_EQ(servers[1].at("answers"), second - kQuestionsBefore);
}

TEST_F(Upstream, TheReplyIsStoredAsItCame) {
  SimUpstream server(folder_, quick());
  folder_.write("requests.jsonl",
                chat_line("a", "hi", {{"vendor_field", {1, 2}}, {"temperature", 7}}));
  const Ended ended = folder_.windrow(job({server.url()}));
  EXPECT_EQ(ended.code, 0) << "the server judges bodies: " << ended;
  const std::vector<LogLine> log = read_log(folder_, "results.jsonl");
  ASSERT_EQ(log.size(), 1U);
  const json::object& body = log[0].json.at("response").at("body").as_object();
  EXPECT_THAT(std::string(body.at("id").as_string()), ::testing::StartsWith("chatcmpl-sim-"));
  EXPECT_EQ(member(log[0].json, "windrow.attempts"), "1");
}

TEST_F(Upstream, EqualQuestionsAreAskedOnce) {
  SimUpstream server(folder_, quick({"--request-ms", "200", "--stats"}));
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += chat_line("same-" + std::to_string(i), "the same", {{"temperature", 0}});
  for (int i = 0; i < 5; ++i)
    text += chat_line("drawn-" + std::to_string(i), "the same", {{"temperature", 1}});
  folder_.write("requests.jsonl", text);
  EXPECT_EQ(folder_.windrow(job({server.url()})).code, 0);
  EXPECT_EQ(read_log(folder_, "results.jsonl").size(), 45U);
  EXPECT_EQ(stats(server).at("requests"), 1 + 5 + kQuestionsBefore);

  SimUpstream other(folder_, quick({"--stats"}));
  EXPECT_EQ(folder_.windrow(job({other.url()}, {"--no-dedupe", "--fresh"})).code, 0);
  EXPECT_EQ(stats(other).at("requests"), 45 + kQuestionsBefore);
}

TEST_F(Upstream, FaultsThatPassCostNoRow) {
  SimUpstream server(folder_, quick({"--answer", "echo", "--slots", "8", "--fault", "5xx=0.05",
                                     "--fault", "reset=0.05", "--fault", "truncated=0.05",
                                     "--fault", "content-type=0.03", "--seed", "3"}));
  folder_.write("requests.jsonl", rows(150));
  const Ended ended =
      folder_.windrow(job({server.url()}, {"--max-attempts", "20", "--concurrency", "8"}));
  EXPECT_EQ(ended.code, 0) << ended;
  expect_own_answers(150);
  int64_t more_than_once = 0;
  for (const LogLine& line : read_log(folder_, "results.jsonl")) {
    if (line.json.at("windrow").at("attempts").as_int64() > 1) ++more_than_once;
  }
  EXPECT_GT(more_than_once, 0) << "the test means nothing";
}

TEST_F(Upstream, WhatTheServerRefusesIsInTheErrorsWithItsWords) {
  SimUpstream server(folder_, quick({"--model", "llama3", "--model", "qwen3"}));
  folder_.write("requests.jsonl", chat_line("bad", "hi", {{"model", "gpt-4"}}) +
                                      chat_line("good", "hi", {{"model", "qwen3"}}));
  const Ended ended = folder_.windrow(job({server.url()}));
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("it has llama3, qwen3"));
  const std::vector<LogLine> errors = read_log(folder_, "results.errors.jsonl");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(member(errors[0].json, "response.status_code"), "404");
  EXPECT_THAT(member(errors[0].json, "error.message"), HasSubstr("it has llama3, qwen3"));

  // And what to do about it.
  const Ended again = folder_.windrow({"retry", "results.errors.jsonl", "--upstream", server.url(),
                                       "--model-alias", "gpt-4=llama3"});
  EXPECT_EQ(again.code, 2) << "an alias changes answers: " << again;
  EXPECT_THAT(again.errors, HasSubstr("model-alias"));
}

TEST_F(Upstream, ARowGoesToAServerThatHasItsModel) {
  SimUpstream one(folder_, quick({"--model", "llama3", "--stats"}));
  SimUpstream two(folder_, quick({"--model", "qwen3", "--stats"}));
  folder_.write("windrow.toml", "[[upstreams]]\nurl = \"" + one.url() +
                                    "\"\nmodels = { big = \"llama3\" }\n[[upstreams]]\nurl = \"" +
                                    two.url() + "\"\n");
  std::string text;
  for (int i = 0; i < 30; ++i) {
    const std::string number = std::to_string(i);
    text += chat_line("big-" + number, "number " + number, {{"model", "big"}});
    text += chat_line("small-" + number, "number " + number, {{"model", "qwen3"}});
  }
  folder_.write("requests.jsonl", text);
  const Ended ended = folder_.windrow({"run", "requests.jsonl", "-o", "results.jsonl"});
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(stats(one).at("requests"), 30 + kQuestionsBefore);
  EXPECT_EQ(stats(two).at("requests"), 30 + kQuestionsBefore);
}

TEST_F(Upstream, AnAliasIsTheServersName) {
  SimUpstream server(folder_, quick({"--model", "llama3"}));
  folder_.write("requests.jsonl", chat_line("a", "hi", {{"model", "gpt-4"}}));
  const Ended ended = folder_.windrow(job({server.url()}, {"--model-alias", "gpt-4=llama3"}));
  EXPECT_EQ(ended.code, 0) << ended;
}

TEST_F(Upstream, AServerThatIsNotThereIsSaidAndNothingIsLost) {
  folder_.write("requests.jsonl", rows(3));
  const Ended ended = folder_.windrow(job({"http://127.0.0.1:1"}));
  EXPECT_EQ(ended.code, 3) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("127.0.0.1:1"));
  EXPECT_THAT(ended.errors, HasSubstr("nothing listens"));
  SimUpstream server(folder_, quick({"--answer", "echo"}));
  EXPECT_EQ(folder_.windrow(job({server.url()})).code, 0);
  expect_own_answers(3);
}

TEST_F(Upstream, AServerThatNeverAnswersEndsTheJobAndKeepsTheRows) {
  SimUpstream useless(folder_, quick({"--slots", "8", "--fault", "content-type=1"}));
  folder_.write("requests.jsonl", rows(200));
  const Ended ended = folder_.windrow(job({useless.url()}, {"--max-attempts", "50"}));
  EXPECT_EQ(ended.code, 3) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("none was answered; the last failure: "));
  EXPECT_EQ(read_log(folder_, "results.errors.jsonl").size(), 0U);
  SimUpstream server(folder_, quick({"--answer", "echo", "--slots", "8"}));
  EXPECT_EQ(folder_.windrow(job({server.url()})).code, 0);
  expect_own_answers(200);
}

TEST_F(Upstream, OfSeveralTheOthersGoOn) {
  SimUpstream server(folder_, quick({"--answer", "echo"}));
  folder_.write("requests.jsonl", rows(3));
  const Ended ended = folder_.windrow(job({"http://127.0.0.1:1", server.url()}));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("goes without this server"));
  expect_own_answers(3);
}

TEST_F(Upstream, AKeyComesFromAVariableAndIsShownNowhere) {
  SimUpstream server(folder_, quick({"--want-key", "sk-secret"}));
  folder_.write("requests.jsonl", rows(3));
  const Ended without = folder_.windrow(job({server.url()}));
  EXPECT_EQ(without.code, 3) << without;
  EXPECT_THAT(without.errors, HasSubstr("--api-key-env NAME"));

  Command command = folder_.command(job({server.url()}, {"--api-key-env", "SERVER_KEY"}));
  const Ended unset = run(command);
  EXPECT_EQ(unset.code, 2) << unset;
  EXPECT_THAT(unset.errors, HasSubstr("export SERVER_KEY="));

  command.variables["SERVER_KEY"] = "sk-wrong";
  const Ended wrong = run(command);
  EXPECT_EQ(wrong.code, 3) << wrong;
  EXPECT_THAT(wrong.errors, HasSubstr("refuses the key"));
  EXPECT_THAT(wrong.errors, Not(HasSubstr("sk-wrong")));

  command.variables["SERVER_KEY"] = "sk-secret";
  const Ended right = run(command);
  EXPECT_EQ(right.code, 0) << right;
  for (const std::string& name : folder_.names())
    EXPECT_THAT(folder_.read(name), Not(HasSubstr("sk-secret"))) << name;

  folder_.write("windrow.toml",
                "[[upstreams]]\nurl = \"" + server.url() + "\"\napi-key = \"sk-secret\"\n");
  const Ended by_file = folder_.windrow({"run", "requests.jsonl", "-o", "others.jsonl"});
  EXPECT_EQ(by_file.code, 0) << by_file;
  EXPECT_THAT(folder_.windrow({"config", "show"}).output, Not(HasSubstr("sk-secret")));
  EXPECT_THAT(folder_.read("others.summary.json"), Not(HasSubstr("sk-secret")));
}

TEST_F(Upstream, AProxyInTheWayIsNamed) {
  folder_.write("requests.jsonl", rows(1));
  Command command = folder_.command(job({"http://server.example:8000"}));
  command.variables["http_proxy"] = "http://127.0.0.1:1";
  const Ended ended = run(command);
  EXPECT_EQ(ended.code, 3) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("http_proxy"));
}

TEST_F(Upstream, AServerWithoutTlsIsSaid) {
  SimUpstream server(folder_, quick());
  folder_.write("requests.jsonl", rows(1));
  const Ended ended = folder_.windrow(job({"https" + server.url().substr(4)}));
  EXPECT_EQ(ended.code, 3) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("http://"));
}

TEST_F(Upstream, MixedUpAnswersEndTheJob) {
  SimUpstream server(folder_, quick({"--answer", "echo", "--slots", "8", "--fault", "swapped=0.2",
                                     "--seed", "2"}));
  folder_.write("requests.jsonl", rows(400));
  const Ended ended = folder_.windrow(job({server.url()}, {"--self-check", "--concurrency", "8"}));
  EXPECT_EQ(ended.code, 3) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("mixes answers up"));
}

TEST_F(Upstream, AnHonestServerPassesTheSelfCheck) {
  SimUpstream server(folder_, quick({"--answer", "echo", "--slots", "8", "--stats"}));
  folder_.write("requests.jsonl", rows(100));
  const Ended ended = folder_.windrow(job({server.url()}, {"--self-check"}));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("12 questions planted, 12 answers had the right code"));
  expect_own_answers(100);
  EXPECT_EQ(stats(server).at("requests"), 112 + kQuestionsBefore);
}

// --- what is not asked, and what goes together --------------------------------------------------

TEST_F(Upstream, TextsToEmbedGoTogether) {
  SimUpstream server(folder_, quick({"--request-ms", "20", "--stats"}));
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += embedding_line("text-" + std::to_string(i), "text number " + std::to_string(i),
                           {{"model", "m"}});
  }
  folder_.write("requests.jsonl", text);
  const Ended ended = folder_.windrow(job({server.url()}, {"--json", "--concurrency", "2"}));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.output, HasSubstr("\"event\": \"batch\""));
  const Ended alone = folder_.windrow({"run", "requests.jsonl", "-o", "alone.jsonl", "--upstream",
                                       server.url(), "--no-batching", "--concurrency", "64"});
  EXPECT_EQ(alone.code, 0) << alone;
  std::map<std::string, std::string> together;
  for (const LogLine& line : read_log(folder_, "results.jsonl"))
    together[member(line.json, "custom_id")] = member(line.json, "response.body.data");
  EXPECT_EQ(together.size(), 200U);
  for (const LogLine& line : read_log(folder_, "alone.jsonl")) {
    EXPECT_EQ(together[member(line.json, "custom_id")], member(line.json, "response.body.data"))
        << "each row has the embedding of its own text";
  }
  EXPECT_LT(stats(server).at("requests").as_int64(), 200 + 100);
}

TEST_F(Upstream, ACacheAnswersAnotherJob) {
  SimUpstream server(folder_, quick({"--stats"}));
  folder_.write("requests.jsonl", rows(20, {{"temperature", 0}}));
  EXPECT_EQ(folder_.windrow(job({server.url()}, {"--cache", "answers.cache"})).code, 0);
  const Ended again = folder_.windrow({"run", "requests.jsonl", "-o", "again.jsonl", "--upstream",
                                       server.url(), "--cache", "answers.cache"});
  EXPECT_EQ(again.code, 0) << again;
  EXPECT_THAT(again.errors, HasSubstr("20 were in the cache"));
  EXPECT_EQ(read_log(folder_, "again.jsonl").size(), 20U);
  EXPECT_EQ(stats(server).at("requests"), 20 + 2 * kQuestionsBefore);
}

TEST_F(Upstream, ABudgetStopsCleanlyAndTheNextRunGoesOn) {
  SimUpstream server(folder_, quick({"--stats"}));
  folder_.write("prices.toml", "[m]\ninput = 1000.0\noutput = 1000.0\n");
  folder_.write("requests.jsonl", rows(100, {{"model", "m"}, {"max_tokens", 4}}));
  const Words limits = {"--prices", "prices.toml", "--max-cost", "0.50", "--concurrency", "4"};
  const Ended first = folder_.windrow(job({server.url()}, limits));
  EXPECT_EQ(first.code, 4) << first;
  EXPECT_THAT(first.errors, HasSubstr("--max-cost 0.50 would be exceeded by the next row"));
  const size_t done = read_log(folder_, "results.jsonl").size();
  EXPECT_GT(done, 10U);
  EXPECT_LT(done, 100U);
  EXPECT_EQ(read_log(folder_, "results.errors.jsonl").size(), 0U);
  const json::object summary = json::parse(folder_.read("results.summary.json")).as_object();
  EXPECT_LE(summary.at("this_run").at("dispatch").at("cost_usd").as_double(), 0.5);
  EXPECT_EQ(folder_.windrow(job({server.url()})).code, 0);
  EXPECT_EQ(read_log(folder_, "results.jsonl").size(), 100U);
  EXPECT_EQ(stats(server).at("requests"), 100 + 2 * kQuestionsBefore) << "nothing is paid twice";
}

TEST_F(Upstream, ABudgetTooSmallForOneRowSaysSo) {
  SimUpstream server(folder_, quick());
  folder_.write("prices.toml", "[m]\ninput = 1000.0\noutput = 1000.0\n");
  folder_.write("requests.jsonl", rows(3, {{"model", "m"}, {"max_tokens", 1000}}));
  const Ended ended =
      folder_.windrow(job({server.url()}, {"--prices", "prices.toml", "--max-cost", "0.50"}));
  EXPECT_EQ(ended.code, 2) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("one row may cost up to $1.02"));
}

TEST_F(Upstream, ABudgetCutsBatchesToWhatFits) {
  SimUpstream server(folder_, quick());
  folder_.write("prices.toml", "[m]\ninput = 1000.0\noutput = 0\n");
  std::string text;
  for (int i = 0; i < 50; ++i)
    text += embedding_line("t-" + std::to_string(i), "text " + std::to_string(i), {{"model", "m"}});
  folder_.write("requests.jsonl", text);
  const Ended ended = folder_.windrow(job({server.url()}, {"--prices", "prices.toml", "--max-cost",
                                                           "0.10", "--batch-window-ms", "20"}));
  EXPECT_EQ(ended.code, 4) << ended;
  EXPECT_GT(read_log(folder_, "results.jsonl").size(), 4U);
}

TEST_F(Upstream, ACacheThatIsAFileOfTheJobIsRefused) {
  SimUpstream server(folder_, quick());
  folder_.write("requests.jsonl", rows(3, {{"temperature", 0}}));
  for (const char* name : {"results.jsonl", "./results.errors.jsonl", "requests.jsonl"}) {
    const Ended ended = folder_.windrow(job({server.url()}, {"--cache", name}));
    EXPECT_EQ(ended.code, 2) << name << ended;
    EXPECT_THAT(ended.errors, HasSubstr("; give one of them another name"));
  }
  EXPECT_EQ(folder_.windrow(job({server.url()})).code, 0);
}

// --- stops --------------------------------------------------------------------------------------

TEST_F(Upstream, KilledAtAnyMomentItGoesOnWithoutAskingTwice) {
  SimUpstream server(folder_, quick({"--answer", "echo", "--slots", "4", "--stats"}));
  folder_.write("requests.jsonl", rows(300));
  constexpr int kInFlight = 8;
  int kills = 0;
  for (const uint64_t bytes : {3'000U, 40'000U, 90'000U}) {
    Process process(
        folder_.command(job({server.url()}, {"--concurrency", std::to_string(kInFlight)})));
    if (!process.wait_until([&] { return folder_.size_of("results.jsonl") >= bytes; })) break;
    process.send(SIGKILL);
    process.wait();
    ++kills;
  }
  EXPECT_EQ(kills, 3);
  const Ended ended = folder_.windrow(job({server.url()}, {"--concurrency", "8"}));
  EXPECT_EQ(ended.code, 0) << ended;
  expect_own_answers(300);
  // What a kill may cost is what was in flight or not yet on disk.
  EXPECT_LT(stats(server).at("requests").as_int64(), 300 + 3 * 100);
}

TEST_F(Upstream, AFullDiskStopsItAndTheSameCommandContinues) {
  SimUpstream server(folder_, quick({"--answer", "echo", "--slots", "8"}));
  folder_.write("requests.jsonl", rows(300));
  Command command = folder_.command(job({server.url()}));
  size_t before = 0;
  for (const uint64_t bytes_max : {20'000U, 50'000U}) {
    command.file_bytes_max = bytes_max;
    const Ended full = run(command);
    EXPECT_EQ(full.code, 2) << full;
    EXPECT_THAT(full.errors, HasSubstr("cannot write"));
    EXPECT_THAT(full.errors, HasSubstr("then run the same command again"));
    // Whole lines, more of them each time.
    const size_t there = read_log(folder_, "results.jsonl").size();
    EXPECT_GT(there, before);
    EXPECT_LT(there, 300U);
    before = there;
  }
  const Ended ended = folder_.windrow(job({server.url()}));
  EXPECT_EQ(ended.code, 0) << ended;
  expect_own_answers(300);
}

TEST_F(Upstream, CtrlCWaitsForWhatRunsAndContinues) {
  SimUpstream server(
      folder_, quick({"--answer", "echo", "--slots", "32", "--request-ms", "500", "--stats"}));
  folder_.write("requests.jsonl", rows(100));
  Process process(folder_.command(job({server.url()}, {"--concurrency", "4"})));
  ASSERT_TRUE(process.wait_until([&] { return folder_.size_of("results.jsonl") > 0; }));
  process.send(SIGINT);
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 130) << ended;
  EXPECT_EQ(folder_.windrow(job({server.url()})).code, 0);
  expect_own_answers(100);
  EXPECT_EQ(stats(server).at("requests"), 100 + 2 * kQuestionsBefore)
      << "a clean stop asks for nothing twice";
}

TEST_F(Upstream, AServerThatGoesAwayAndComesBackCostsNoRow) {
  folder_.write("requests.jsonl", rows(120));
  auto server = std::make_unique<SimUpstream>(
      folder_, quick({"--answer", "echo", "--slots", "4", "--request-ms", "500"}));
  const std::string url = server->url();
  const std::string port = url.substr(url.rfind(':') + 1, url.rfind('/') - url.rfind(':') - 1);
  Process process(folder_.command(job({url}, {"--concurrency", "4", "--max-attempts", "5"})));
  ASSERT_TRUE(process.wait_until([&] { return folder_.size_of("results.jsonl") > 0; }));
  server.reset();
  ASSERT_TRUE(process.wait_for_errors("nothing listens"));
  server = std::make_unique<SimUpstream>(folder_,
                                         Words{"--port", port, "--answer", "echo", "--slots", "4"});
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 0) << ended;
  expect_own_answers(120);
}

// --- what is given ------------------------------------------------------------------------------

TEST_F(Upstream, FlagsThatMeanNothingThereAreNamed) {
  SimUpstream server(folder_, quick());
  folder_.write("requests.jsonl", rows(1));
  const Ended ended = folder_.windrow(job({server.url()}, {"--rows-max", "4"}));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("--rows-max has no effect with --upstream"));
}

TEST_F(Upstream, UnusableUrlsAreRefusedBeforeAnything) {
  folder_.write("requests.jsonl", rows(1));
  for (const char* url : {"localhost:8000", "ftp://a", "http://", "http://u:p@host/v1", ""}) {
    const Ended ended = folder_.windrow(job({url}));
    EXPECT_EQ(ended.code, 2) << url << ended;
    EXPECT_THAT(ended.errors, HasSubstr("--upstream"));
    EXPECT_FALSE(folder_.has("results.jsonl"));
  }
}

TEST_F(Upstream, ADryRunAsksNobody) {
  folder_.write("prices.toml", "[m]\ninput = 1.0\noutput = 10.0\n");
  folder_.write("requests.jsonl", rows(100, {{"model", "m"}, {"max_tokens", 1000}}));
  const Ended ended =
      folder_.windrow(job({"http://127.0.0.1:1"}, {"--dry-run", "--prices", "prices.toml"}));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.output, HasSubstr("rows          100, 0 of them at fault"));
  EXPECT_THAT(ended.output, HasSubstr("at most $1.00"));
  EXPECT_FALSE(folder_.has("results.jsonl"));
}

TEST_F(Upstream, ProgressTellsOfEachServer) {
  SimUpstream server(folder_, quick());
  folder_.write("requests.jsonl", rows(20));
  const Ended ended = folder_.windrow(job({server.url()}, {"--json"}));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.output, HasSubstr("\"upstreams\": [{\"url\": \"" + server.url()));
  EXPECT_THAT(ended.output,
              HasSubstr("\"name\": \"" + server.url().substr(0, server.url().size() - 3)));
}

// Rows of 2,000 tokens on 4 slots of 4,000, and always some that wait: it is half full.
TEST_F(Upstream, WhatAServerTellsOfItsMemoryIsShown) {
  SimUpstream server(folder_, {"--slots", "4", "--context", "4000", "--prompt-token-us", "10",
                               "--token-ms", "20", "--answer-tokens", "5", "--stats"});
  std::string text;
  for (int i = 0; i < 60; ++i)
    text += chat_line("row-" + std::to_string(i), std::to_string(i) + std::string(7900, 'x'));
  folder_.write("requests.jsonl", text);
  const Ended ended = folder_.windrow(job({server.url()}, {"--concurrency", "8"}));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("KV cache up to 50 % full")) << ended;
  const json::value summary = json::parse(folder_.read("results.summary.json"));
  const json::object& figures = summary.at("this_run").at("upstreams").at(0).as_object();
  EXPECT_NEAR(figures.at("kv_cache_used_max").as_double(), 0.5, 0.01);
  EXPECT_TRUE(figures.at("device_bytes").is_null());
  // Those that look on are not counted.
  EXPECT_EQ(stats(server).at("requests"), 60 + kQuestionsBefore);
}

// --- files ---------------------------------------------------------------------------------------

// Two servers that take 200 requests each, and a process that may have 64 files.
TEST_F(Upstream, ALimitOfFilesBoundsWhatIsInFlightAndCallsNobodyDead) {
  SimUpstream one(folder_, quick({"--answer", "echo", "--slots", "200", "--request-ms", "20"}));
  SimUpstream two(folder_, quick({"--answer", "echo", "--slots", "200", "--request-ms", "20"}));
  folder_.write("requests.jsonl", rows(600));
  Command command = folder_.command(job({one.url(), two.url()}, {"--concurrency", "200"}));
  command.files_max = 64;
  const Ended ended = run(command);
  EXPECT_EQ(ended.code, 0) << ended;
  expect_own_answers(600);
  EXPECT_THAT(ended.errors, HasSubstr("32 requests are in flight"));
  EXPECT_THAT(ended.errors, HasSubstr("may have 64 files open"));
  EXPECT_EQ(ended.errors.find("are in flight"), ended.errors.rfind("are in flight")) << ended;
  EXPECT_THAT(ended.errors, Not(HasSubstr("left alone")));
  const json::object summary = json::parse(folder_.read("results.summary.json")).as_object();
  for (const json::value& server : summary.at("this_run").at("upstreams").as_array())
    EXPECT_EQ(server.at("failures"), 0) << server;
}

// Others than the run have files open: those that it was born with.
TEST_F(Upstream, FilesThatAreNotThereAreNoFaultOfAServer) {
  SimUpstream server(folder_, quick({"--answer", "echo", "--slots", "200", "--request-ms", "20"}));
  folder_.write("requests.jsonl", rows(300));
  Command command = folder_.command(job({server.url()}, {"--concurrency", "200"}));
  command.files_max = 64;
  std::vector<int> inherited;
  for (int i = 0; i < 24; ++i)
    inherited.push_back(open("/dev/null", O_RDONLY));  // not closed by exec
  const Ended ended = run(command);
  for (const int file : inherited)
    close(file);
  EXPECT_EQ(ended.code, 0) << ended;
  expect_own_answers(300);
  for (const LogLine& line : read_log(folder_, "results.jsonl"))
    EXPECT_EQ(member(line.json, "windrow.attempts"), "1") << line.text;
  const json::object summary = json::parse(folder_.read("results.summary.json")).as_object();
  const json::object& figures = summary.at("this_run").at("upstreams").as_array().at(0).as_object();
  EXPECT_GT(figures.at("failures_by_code").at("too_many_open_files").as_int64(), 0) << figures;
}

// A soft limit is only where a program begins.
TEST_F(Upstream, TheSoftLimitOfFilesIsRaised) {
  SimUpstream server(folder_, quick({"--answer", "echo", "--slots", "200", "--request-ms", "20"}));
  folder_.write("requests.jsonl", rows(400));
  Command command = folder_.command(job({server.url()}, {"--concurrency", "200"}));
  command.files_max = 512;
  command.files_soft = 40;
  const Ended ended = run(command);
  EXPECT_EQ(ended.code, 0) << ended;
  expect_own_answers(400);
  EXPECT_THAT(ended.errors, Not(HasSubstr("files")));
}

TEST_F(Upstream, TooFewFilesAreAnErrorThatSaysWhatToDo) {
  folder_.write("requests.jsonl", rows(1));
  const std::string nobody = "http://127.0.0.1:1/v1";
  for (const Words& words :
       {job({nobody}), Words{"serve", "--upstream", nobody}, Words{"probe", "--upstream", nobody},
        Words{"sim-upstream", "--port", "0"}}) {
    for (const uint64_t files : {8U, 16U, 20U, 63U}) {
      Command command = folder_.command(words);
      command.files_max = files;
      const Ended ended = run(command);
      EXPECT_EQ(ended.code, 2) << words.front() << ended;
      EXPECT_THAT(ended.errors,
                  HasSubstr("may have only " + std::to_string(files) + " files open"));
      EXPECT_THAT(ended.errors, HasSubstr("ulimit -Hn"));
    }
  }
}

// Wherever they run out, while a loop is made or later: it is said, and nothing aborts.
TEST_F(Upstream, FilesThatRunOutAtTheStartAreSaid) {
  folder_.write("requests.jsonl", rows(1));
  const std::string nobody = "http://127.0.0.1:1/v1";
  std::vector<int> inherited;
  for (int i = 0; i < 48; ++i)
    inherited.push_back(open("/dev/null", O_RDONLY));
  while (inherited.size() < 59) {
    for (const Words& words :
         {job({nobody}), Words{"serve", "--upstream", nobody, "--listen", "127.0.0.1:0"},
          Words{"probe", "--upstream", nobody}}) {
      Command command = folder_.command(words);
      command.files_max = 64;
      const Ended ended = run(command);
      EXPECT_TRUE(ended.code == 2 || ended.code == 3) << words.front() << ended;
      EXPECT_THAT(ended.errors, Not(HasSubstr("defect"))) << words.front();
    }
    inherited.push_back(open("/dev/null", O_RDONLY));
  }
  for (const int file : inherited)
    close(file);
}

// --- memory --------------------------------------------------------------------------------------

// 32 replies of 5 MB that arrive side by side, in a run that has room for 8 MB of them.
TEST_F(Upstream, LargeRepliesAreBoundedInMemory) {
  constexpr int kReplies = 32;
  constexpr uint64_t kReplyBytes = 5'100'000;  // at least
  SimUpstream server(folder_,
                     {"--slots", "32", "--knee", "32", "--token-ms", "0", "--prompt-token-us", "0",
                      "--answer-tokens", "1000000", "--answer-spread", "0", "--context", "10000000",
                      "--fault", "slow-body=1:8s"});
  Command command = folder_.command({"run", "-", "-o", "results.jsonl", "--upstream", server.url(),
                                     "--concurrency", "32", "--reply-memory-mb", "8"});
  command.input = rows(kReplies, {{"max_tokens", 1'000'000}});
  command.input_stays_open = true;
  // What is freed is to count as freed.
  command.variables["ASAN_OPTIONS"] = "quarantine_size_mb=1";
  Process process(command);
  ASSERT_TRUE(process.wait_until(
      [&] { return folder_.size_of("results.jsonl") >= kReplies * kReplyBytes; }));
  const uint64_t most = process.memory_peak_bytes();
  process.close_input();
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(std::ranges::count(folder_.read("results.jsonl"), '\n'), kReplies);
  fmt::print("{} MB of replies, at most {} MB resident\n", kReplies * kReplyBytes >> 20U,
             most >> 20U);
  EXPECT_LT(most, 150U << 20U);
}

}  // namespace
}  // namespace windrow::end_to_end
