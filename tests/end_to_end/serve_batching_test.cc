// How `windrow serve` batches requests, seen from outside: whether the flags reach the engine. The
// rules themselves have tests beside their code.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "end_to_end/served.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;
using ::testing::Gt;
using ::testing::HasSubstr;

// Answers of hours.
constexpr std::string_view kEndless =
    "sim:step-us=100000,row-us=0,answer-tokens=90000,context=100000";

std::string endless_stream(std::string_view model = "sim") {
  return fmt::format(
      R"({{"model":"{}","messages":[{{"role":"user","content":"go on"}}],"stream":true,)"
      R"("ignore_eos":true}})",
      model);
}

int threads_named(pid_t process, std::string_view name) {
  int found = 0;
  for (const auto& thread :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process))) {
    std::string of;
    std::getline(std::ifstream(thread.path() / "comm"), of);
    found += of == name ? 1 : 0;
  }
  return found;
}

// Why passes began when they did.
std::string steps(const Served& served) {
  return metric(served, "windrow_steps_total");
}

TEST(ServeBatching, OneThreadRunsThePassesOfAllModels) {
  const JobFolder folder;
  Served served(folder, {"--model", "a=sim:instant", "--model", "b=sim:instant"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  for (const std::string_view model : {"a", "b"}) {
    EXPECT_EQ(served
                  .post("/v1/completions",
                        fmt::format(R"({{"model":"{}","prompt":"x","max_tokens":2}})", model))
                  .status,
              200);
    EXPECT_EQ(
        served.post("/v1/embeddings", fmt::format(R"({{"model":"{}","input":"x"}})", model)).status,
        200);
  }
  EXPECT_EQ(threads_named(served.process().id(), "engine"), 1);
}

TEST(ServeBatching, AnInputWaitsForARequestThatIsJustArriving) {
  const JobFolder folder;
  Served served(folder, {"--model", "sim:pass-us=20000"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  // Its body is announced and does not come.
  const HttpCall half(served.port(), "POST", "/v1/embeddings", "", "", "Content-Length: 100\r\n");
  // The fixed cost of a pass is learned from passes of different sizes.
  std::string text;
  for (int i = 0; i < 500; ++i)
    text += "x ";
  bool long_one = false;
  EXPECT_TRUE(served.process().wait_until([&] {
    long_one = !long_one;
    const std::string body =
        fmt::format(R"({{"model":"sim","input":"{}"}})", long_one ? text : "x");
    EXPECT_EQ(served.post("/v1/embeddings", body).status, 200);
    return steps(served).find("reason=\"linger\"") != std::string::npos;
  })) << steps(served);
}

TEST(ServeBatching, AFixedWindowIsUsedWhereItIsSet) {
  const JobFolder folder;
  Served served(folder, {"--model", "sim:", "--batch-window-ms", "5"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  const HttpReply reply = served.post("/v1/embeddings", R"({"model":"sim","input":"x"})");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_THAT(steps(served), HasSubstr("reason=\"window\"} 1"));
}

TEST(ServeBatching, TheQueueIsBounded) {
  const JobFolder folder;
  Served served(folder, {"--model", std::string(kEndless), "--rows-max", "1", "--max-queue", "1"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  HttpCall runs(served.port(), "POST", "/v1/chat/completions", endless_stream());
  ASSERT_TRUE(runs.wait_for("\"content\":\" "));
  const HttpCall waits(served.port(), "POST", "/v1/chat/completions", endless_stream());
  // Not only inside: in the queue.
  ASSERT_TRUE(served.process().wait_until([&] { return metric(served, "windrow_queue_waiting"); },
                                          HasSubstr("class=\"normal\"} 1")));
  const HttpReply refused =
      served.post("/v1/chat/completions", chat_body("more", R"("max_tokens":1)"));
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_THAT(refused.head, HasSubstr("Retry-After"));
}

TEST(ServeBatching, TheLogHasTheTimeInTheQueue) {
  const JobFolder folder;
  Served served(folder,
                {"--model", std::string(kEndless), "--rows-max", "1", "--log", "log.jsonl"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  auto runs =
      std::make_unique<HttpCall>(served.port(), "POST", "/v1/chat/completions", endless_stream());
  ASSERT_TRUE(runs->wait_for("\"content\":\" "));
  HttpCall waits(served.port(), "POST", "/v1/chat/completions",
                 chat_body("next", R"("max_tokens":1)"));
  // It has waited for milliseconds, by the server's own metric.
  ASSERT_TRUE(served.process().wait_until(
      [&] {
        const std::string says = metric(served, "windrow_queue_oldest_seconds");
        const size_t at = says.find("class=\"normal\"} ");
        return at == std::string::npos ? 0 : std::stod(says.substr(at + 16));
      },
      Gt(0.005)));
  runs.reset();
  EXPECT_EQ(waits.rest().status, 200);
  served.process().send(SIGTERM);
  EXPECT_EQ(served.process().wait().code, 0);
  int64_t queue_ms = -1;
  std::istringstream log(folder.read("log.jsonl"));
  for (std::string line; std::getline(log, line);) {
    const json::object entry = json::parse(line).as_object();
    if (entry.contains("queue_ms")) queue_ms = entry.at("queue_ms").to_number<int64_t>();
  }
  EXPECT_GT(queue_ms, 0);
}

TEST(ServeBatching, ALaneIsOneAfterTheOther) {
  const JobFolder folder;
  Served served(folder, {"--model", std::string(kEndless), "--rows-max", "4"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  const auto in_lane = [&](std::string_view lane, std::string_view body) {
    return std::make_unique<HttpCall>(served.port(), "POST", "/v1/chat/completions", body, "",
                                      fmt::format("X-Windrow-Lane: {}\r\n", lane));
  };
  const std::string short_one = chat_body("short", R"("max_tokens":1,"stream":true)");
  auto first = in_lane("one", endless_stream());
  ASSERT_TRUE(first->wait_for("\"content\":\" "));
  auto second = in_lane("one", short_one);
  ASSERT_TRUE(served.process().wait_until([&] { return inside(served); }, 2U));
  EXPECT_TRUE(in_lane("two", short_one)->rest().body.ends_with("data: [DONE]\n\n"));
  // The second request still waits, although slots are free; it starts when the first has left.
  EXPECT_EQ(inside(served), 2U);
  first.reset();
  EXPECT_TRUE(second->rest().body.ends_with("data: [DONE]\n\n"));
}

}  // namespace
}  // namespace windrow::end_to_end
