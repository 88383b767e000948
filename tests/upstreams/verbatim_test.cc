// Verbatim requests and long replies through dispatcher, client and sockets from a simulated
// server.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "dispatch/dispatcher.h"
#include "http/curl_client.h"
#include "llm/reply_sink.h"
#include "sim_upstream/large_reply.h"
#include "sim_upstream/sim_server.h"
#include "upstream/upstream_backend.h"

namespace windrow {
namespace {

class Counting final : public llm::ReplySink {
 public:
  size_t bytes_max() const override { return size_t{1} << 30; }
  Take on_bytes(std::string_view piece) override {
    for (const char byte : piece)
      wrong += byte == sim_upstream::large_reply_byte(bytes++) ? 0 : 1;
    return Take::kMore;
  }

  size_t bytes = 0;
  size_t wrong = 0;
};

class Verbatim : public ::testing::Test {
 protected:
  void open(std::string_view fault = "") {
    sim_upstream::SimOptions sim{.models = {"m"}};
    sim.token_time = std::chrono::microseconds(10);
    if (!fault.empty()) sim.faults.push_back(*sim_upstream::parse_fault(fault));
    server_ = sim_upstream::SimServer::open(server_loop_, {.sim = std::move(sim)}).value();
    backend_ = std::make_unique<upstream::UpstreamBackend>(
        client_, clock_,
        upstream::UpstreamOptions{
            .base = {.host = "127.0.0.1", .port = server_->port(), .target = "/v1"}});
    dispatcher_ = std::make_unique<dispatch::Dispatcher>(
        *backend_, dispatch::DispatchOptions{.in_flight_max = 4, .attempts_max = 5});
  }

  dispatch::DispatchResult ask(llm::Verbatim verbatim, std::string raw,
                               std::shared_ptr<llm::ReplySink> sink = nullptr,
                               dispatch::WorkItem item = {}) {
    llm::Request request;
    request.raw = std::move(raw);
    request.verbatim = std::move(verbatim);
    std::promise<dispatch::DispatchResult> ended;
    const auto accepted = dispatcher_->offer(
        std::move(request), item, 0,
        [&](dispatch::DispatchResult result) { ended.set_value(std::move(result)); },
        {.reply_sink = std::move(sink)});
    EXPECT_TRUE(accepted);
    return ended.get_future().get();
  }

  static llm::VerbatimReply reply_of(const dispatch::DispatchResult& result) {
    if (const auto* failure = std::get_if<llm::Failure>(&result.outcome)) {
      ADD_FAILURE() << failure->message;
      return {};
    }
    return std::get<llm::Answer>(result.outcome).verbatim.value();
  }

  const SystemClock clock_;
  http::Loop server_loop_{clock_};
  http::Loop client_loop_{clock_};
  http::CurlClient client_{client_loop_, {}};
  std::unique_ptr<sim_upstream::SimServer> server_;
  std::unique_ptr<upstream::UpstreamBackend> backend_;
  std::unique_ptr<dispatch::Dispatcher> dispatcher_;
};

constexpr std::string_view kChat = R"({"model":"m","messages":[{"role":"user","content":"a"}]})";

TEST_F(Verbatim, ALongReplyArrivesByteForByte) {
  open();
  constexpr size_t kBytes = size_t{64} << 20;
  const auto sink = std::make_shared<Counting>();
  const dispatch::DispatchResult result =
      ask({.method = llm::HttpMethod::kGet, .target = fmt::format("/bytes/{}", kBytes)}, "", sink);
  const llm::VerbatimReply reply = reply_of(result);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.content_type, "application/octet-stream");
  EXPECT_TRUE(reply.body.empty());
  EXPECT_EQ(sink->bytes, kBytes);
  EXPECT_EQ(sink->wrong, 0U);
}

TEST_F(Verbatim, OtherPathsAndEndpointsComeBackAsTheyAre) {
  open();
  const llm::VerbatimReply models =
      reply_of(ask({.method = llm::HttpMethod::kGet, .target = "/v1/models"}, ""));
  EXPECT_EQ(models.status, 200);
  EXPECT_NE(models.body.find(R"("id":"m")"), std::string::npos);
  const llm::VerbatimReply none = reply_of(ask({.target = "/no-such-path"}, R"({"text":"a"})"));
  EXPECT_EQ(none.status, 404);
  const llm::VerbatimReply chat = reply_of(ask({}, std::string(kChat)));
  EXPECT_EQ(chat.status, 200);
  EXPECT_NE(chat.body.find("chat.completion"), std::string::npos);
}

TEST_F(Verbatim, AnErrorIsAnAnswerAndNotTriedAgain) {
  open("503=1");
  for (int i = 0; i < 3; ++i) {
    const dispatch::DispatchResult result = ask({}, std::string(kChat));
    EXPECT_EQ(reply_of(result).status, 503);
    EXPECT_NE(reply_of(result).body.find("error"), std::string::npos);
    EXPECT_EQ(result.attempts, 1);
  }
  EXPECT_EQ(server_->stats().requests, 3);
}

TEST_F(Verbatim, AReplyThatBrokeOffIsTriedAgainUnlessASinkHasSomeOfIt) {
  open("reset=1");
  const dispatch::DispatchResult whole = ask({}, std::string(kChat));
  EXPECT_EQ(std::get<llm::Failure>(whole.outcome).code, "connection_reset");
  EXPECT_EQ(whole.attempts, 5);
  const auto sink = std::make_shared<Counting>();
  const dispatch::DispatchResult taken = ask({}, std::string(kChat), sink);
  EXPECT_EQ(std::get<llm::Failure>(taken.outcome).code, "connection_reset");
  EXPECT_GT(sink->bytes, 0U);
  EXPECT_EQ(taken.attempts, 1);
}

TEST_F(Verbatim, WhoWantsOneAttemptHearsAtOnceThatTheServerIsAway) {
  open();
  server_->stop(Duration{});
  server_.reset();
  const dispatch::DispatchResult result = ask({}, std::string(kChat), nullptr, {.attempts_max = 1});
  EXPECT_TRUE(std::get<llm::Failure>(result.outcome).unreached);
  EXPECT_EQ(result.attempts, 1);
}

}  // namespace
}  // namespace windrow
