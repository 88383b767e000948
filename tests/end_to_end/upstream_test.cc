// `windrow run` with upstream servers: the program, and the simulated server as a program. A
// shortage of files or memory is in upstream_shortage_test.cc.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"
#include "end_to_end/sim_upstream.h"
#include "end_to_end/upstream_job.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;

using Upstream = UpstreamJob;

using ::testing::HasSubstr;
using ::testing::Not;

// Requests of a run to a server before any row: for its models, and what kind of server it is.
constexpr int64_t kQuestionsBefore = 3;

// The counters of a server, which it prints when it stops.
json::object stats(SimUpstream& server) {
  const Ended ended = server.stop();
  const size_t line = ended.output.rfind('{', ended.output.find("\"requests\""));
  return json::parse(ended.output.substr(line)).as_object();
}

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
  // A kill may cost the requests that were in flight and the answers that were not yet on disk.
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

TEST_F(Upstream, ADryRunSendsNoRequests) {
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
  // Requests that only watch the server (/metrics) are not counted.
  EXPECT_EQ(stats(server).at("requests"), 60 + kQuestionsBefore);
}

}  // namespace
}  // namespace windrow::end_to_end
