// `windrow run` with upstream servers when files or memory are short.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <string>
#include <vector>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"
#include "end_to_end/sim_upstream.h"
#include "end_to_end/upstream_job.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;

using ::testing::HasSubstr;
using ::testing::Not;

using UpstreamShortage = UpstreamJob;

// --- files ---------------------------------------------------------------------------------------

// Two servers that take 200 requests each, and a process that may have 64 files.
TEST_F(UpstreamShortage, ALimitOfFilesBoundsTheRequestsInFlight) {
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

// Files that the process inherited are open besides those of the run.
TEST_F(UpstreamShortage, FilesThatAreNotThereAreNoFaultOfAServer) {
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

// A soft limit is only the initial value.
TEST_F(UpstreamShortage, TheSoftLimitOfFilesIsRaised) {
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

TEST_F(UpstreamShortage, TooFewFilesAreAnErrorThatSaysWhatToDo) {
  folder_.write("requests.jsonl", rows(1));
  const std::string unreachable = "http://127.0.0.1:1/v1";
  for (const Words& words :
       {job({unreachable}), Words{"serve", "--upstream", unreachable},
        Words{"probe", "--upstream", unreachable}, Words{"sim-upstream", "--port", "0"}}) {
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

// Whether files run out while a loop is made or later: there is an error, and nothing aborts.
TEST_F(UpstreamShortage, FilesThatRunOutAtTheStartAreSaid) {
  folder_.write("requests.jsonl", rows(1));
  const std::string unreachable = "http://127.0.0.1:1/v1";
  std::vector<int> inherited;
  for (int i = 0; i < 48; ++i)
    inherited.push_back(open("/dev/null", O_RDONLY));
  while (inherited.size() < 59) {
    for (const Words& words :
         {job({unreachable}), Words{"serve", "--upstream", unreachable, "--listen", "127.0.0.1:0"},
          Words{"probe", "--upstream", unreachable}}) {
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

// 32 replies of 5 MB that arrive at the same time, in a run with a budget of 8 MB for them.
TEST_F(UpstreamShortage, LargeRepliesAreBoundedInMemory) {
  constexpr int kReplies = 32;
  constexpr uint64_t kReplyBytes = 5'100'000;  // at least
  SimUpstream server(folder_,
                     {"--slots", "32", "--knee", "32", "--token-ms", "0", "--prompt-token-us", "0",
                      "--answer-tokens", "1000000", "--answer-spread", "0", "--context", "10000000",
                      "--fault", "slow-body=1:3s"});
  Command command = folder_.command({"run", "-", "-o", "results.jsonl", "--upstream", server.url(),
                                     "--concurrency", "32", "--reply-memory-mb", "8"});
  command.input = rows(kReplies, {{"max_tokens", 1'000'000}});
  command.input_stays_open = true;
  // Freed memory is to count as freed.
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
