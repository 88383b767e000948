// Random and damaged bodies: each is answered in JSON, and the server still works afterwards.
#include <gtest/gtest.h>

#include <array>
#include <boost/json/parse.hpp>
#include <string>
#include <string_view>

#include "api/testing/chatty_backend.h"
#include "api/testing/check_body.h"
#include "api/testing/events.h"
#include "api/testing/server_rig.h"
#include "json/testing/wild_bodies.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using http::testing::RawClient;
using testing::ChattyBackend;
using testing::check_body;
using testing::events_in;
using testing::get;
using testing::kAllEndpoints;
using testing::post;
using testing::read_reply;
using testing::Reply;
using windrow::testing::WildBodies;

constexpr uint64_t kSeed = 4711;

TEST(ApiFuzz, BodiesAreReadOrRefused) {
  SCOPED_TRACE(kSeed);
  WildBodies bodies(kSeed);
  Random random(kSeed);
  int plans = 0;
  constexpr int kBodies = 20'000;
  for (int i = 0; i < kBodies; ++i)
    plans +=
        int{check_body(static_cast<uint8_t>(random.below(testing::kBodyKinds)), bodies.next())};
  // Both ways were taken, and not by chance only.
  EXPECT_GT(plans, kBodies / 50);
  EXPECT_LT(plans, kBodies / 2);
}

TEST(ApiFuzz, EveryRouteAnswersInJson) {
  SCOPED_TRACE(kSeed);
  const SystemClock clock;
  http::Loop loop(clock);
  ChattyBackend backend(kSeed, 0.1);
  dispatch::Dispatcher dispatcher(backend, {.waiting_max = 1000});
  ModelRegistry registry;
  registry.add({.name = "m", .dispatcher = &dispatcher, .endpoints = kAllEndpoints}, true);
  registry.set_state(ServeState::kReady);
  const auto server = *ApiServer::open(loop, clock, registry, {});
  constexpr std::array<std::string_view, 10> kPaths = {"/v1/chat/completions",
                                                       "/v1/completions",
                                                       "/v1/embeddings",
                                                       "/v1/rerank",
                                                       "/rerank",
                                                       "/v2/rerank",
                                                       "/v1/models",
                                                       "/v1/responses",
                                                       "/v1/messages",
                                                       "/v1/messages/count_tokens"};
  WildBodies bodies(kSeed + 1);
  Random random(kSeed + 1);
  RawClient client(server->port());
  for (int i = 0; i < 2000; ++i) {
    const std::string body = bodies.next();
    const std::string_view path = kPaths[random.below(kPaths.size())];
    SCOPED_TRACE(body);
    ASSERT_TRUE(client.send(post(path, body)));
    const Reply reply = read_reply(client);
    ASSERT_GE(reply.status, 200);
    if (reply.header("Transfer-Encoding") == "chunked") {
      for (const std::string& event : events_in(reply.body)) {
        if (event == "[DONE]") continue;
        ASSERT_NO_THROW(json::parse(event));
      }
      continue;
    }
    ASSERT_NO_THROW(json::parse(reply.body)) << reply.body;
    if (reply.status != 200) {
      ASSERT_TRUE(reply.error().is_object());
    }
  }
  client.send(get("/health"));
  EXPECT_EQ(read_reply(client).status, 200);
}

}  // namespace
}  // namespace windrow::api
