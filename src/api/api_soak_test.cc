// Many clients that do what clients do, on real sockets; for the sanitizers above all. Whatever
// happened, each request is settled once and nothing is left inside.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/testing/chatty_backend.h"
#include "api/testing/events.h"
#include "api/testing/server_rig.h"
#include "base/random.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using http::testing::RawClient;
using testing::ChattyBackend;
using testing::events_in;
using testing::get;
using testing::kAllEndpoints;
using testing::kChat;
using testing::kStream;
using testing::post;
using testing::read_reply;
using testing::Reply;

struct Counts {
  std::atomic<int64_t> calls = 0;  // whose body reached the server as a whole
  std::atomic<int64_t> left = 0;   // of these, without waiting for the answer
};

// A whole stream is chunks and [DONE], or ends with an error.
void check_stream(const Reply& reply) {
  std::vector<std::string> events = events_in(reply.body);
  ASSERT_FALSE(events.empty());
  if (events.back() == "[DONE]") {
    events.pop_back();
  } else {
    EXPECT_TRUE(json::parse(events.back()).as_object().contains("error"));
  }
  for (const std::string& event : events)
    EXPECT_TRUE(json::parse(event).is_object());
}

void be_a_client(uint16_t port, uint64_t seed, Counts& counts) {
  Random random(seed);
  for (int i = 0; i < 25; ++i) {
    RawClient client(port);
    for (int64_t more = random.between(1, 3); more > 0; --more) {
      const std::string_view body = random.chance(0.6) ? kStream : kChat;
      switch (random.below(8)) {
        case 0:  // garbage
          client.send(post("/v1/chat/completions", "{\"messages\":"));
          ++counts.calls;
          EXPECT_EQ(read_reply(client).status, 400);
          break;
        case 1:  // half a request, and gone
          client.send(post("/v1/chat/completions", body).substr(0, 60 + random.below(40)));
          more = 0;
          break;
        case 2:  // gone when it is all there
          client.send(post("/v1/chat/completions", body));
          ++counts.calls;
          ++counts.left;
          client.close();
          more = 0;
          break;
        case 3:
          client.send(get("/v1/windrow/requests") + get("/metrics"));
          EXPECT_EQ(read_reply(client).status, 200);
          EXPECT_EQ(read_reply(client).status, 200);
          break;
        case 4:  // two at once
          client.send(post("/v1/embeddings", R"({"input":["a","b"]})") +
                      post("/rerank", R"({"query":"q","texts":["a"]})"));
          counts.calls += 2;
          for (int one = 0; one < 2; ++one) {
            const Reply reply = read_reply(client);
            EXPECT_TRUE(reply.status == 200 || reply.status == 400) << reply.status;
            EXPECT_NO_THROW(json::parse(reply.body));
          }
          break;
        default: {
          client.send(post("/v1/chat/completions", body));
          ++counts.calls;
          const Reply reply = read_reply(client);
          EXPECT_TRUE(reply.status == 200 || reply.status == 400) << reply.status;
          if (reply.header("Transfer-Encoding") == "chunked") {
            check_stream(reply);
          } else {
            EXPECT_NO_THROW(json::parse(reply.body));
          }
        }
      }
    }
  }
}

TEST(ApiSoak, EachRequestIsSettledOnce) {
  constexpr uint64_t kSeed = 808;
  SCOPED_TRACE(kSeed);
  std::mutex mutex;
  int64_t logged_calls = 0;
  int64_t logged_left = 0;
  const SystemClock clock;
  http::Loop loop(clock);
  ChattyBackend backend(kSeed, 0.2);
  dispatch::Dispatcher dispatcher(backend, {.waiting_max = 1000});
  Catalogue catalogue;
  catalogue.add({.name = "m", .dispatcher = &dispatcher, .endpoints = kAllEndpoints}, true);
  catalogue.set_state(ServeState::kReady);
  ApiOptions options;
  options.log = [&](const std::string& line) {
    const json::value entry = json::parse(line);
    const std::scoped_lock lock(mutex);
    if (!entry.as_object().contains("call")) return;
    ++logged_calls;
    if (entry.at("status") == 499) ++logged_left;
  };
  const auto server = *ApiServer::open(loop, clock, catalogue, std::move(options));
  Counts counts;
  {
    std::vector<std::jthread> clients;
    for (uint64_t i = 0; i < 8; ++i)
      clients.emplace_back([&, i] { be_a_client(server->port(), kSeed + i, counts); });
  }
  server->stop(std::chrono::seconds(30));
  const std::scoped_lock lock(mutex);
  // A close may overtake what was sent before it.
  EXPECT_LE(logged_calls, counts.calls);
  EXPECT_GE(logged_calls, counts.calls - counts.left);
  EXPECT_LE(logged_left, counts.left);
  EXPECT_EQ(dispatcher.in_flight(), 0);
}

}  // namespace
}  // namespace windrow::api
