#include "api/calls/live_requests.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <thread>
#include <vector>

#include "api/keys/keys.h"
#include "api/testing/server_rig.h"
#include "base/crypto.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

TimePoint at(Duration since_start) {
  return TimePoint(since_start);
}

LiveRequest request(std::string id, std::string key, Duration arrived) {
  return {.id = std::move(id), .key = std::move(key), .model = "m", .arrived_at = at(arrived)};
}

TEST(LiveRequests, AreThereAsLongAsTheirTickets) {
  LiveRequests live;
  auto first = live.add(request("chatcmpl-1", "", milliseconds(10)));
  auto second = live.add(request("chatcmpl-2", "", milliseconds(20)));
  EXPECT_EQ(live.count(), 2);
  const json::object both = live.to_json(at(milliseconds(30)), 10);
  EXPECT_EQ(both.at("total"), 2);
  EXPECT_EQ(both.at("data").at(0).at("id"), "chatcmpl-1") << "the oldest first";
  EXPECT_EQ(both.at("data").at(0).at("age_ms"), 20);
  first.reset();
  EXPECT_EQ(live.to_json(at({}), 10).at("data").at(0).at("id"), "chatcmpl-2");
  second.reset();
  EXPECT_EQ(live.count(), 0);
  EXPECT_EQ(json::serialize(live.to_json(at({}), 10)), R"({"object":"list","total":0,"data":[]})");
}

TEST(LiveRequests, SayWhetherTheyWaitForTheirModel) {
  LiveRequests live;
  LiveRequest one = request("cmpl-1", "", milliseconds(10));
  const auto wait = std::make_shared<llm::LoadWait>();
  one.load_wait = wait;
  const auto ticket = live.add(std::move(one));
  const auto state = [&] {
    return live.to_json(at(milliseconds(30)), 1).at("data").at(0).at("state").as_string();
  };
  EXPECT_EQ(state(), "reading");
  wait->waits = true;
  ticket->sent(at(milliseconds(20)));
  EXPECT_EQ(state(), "loading");
  wait->waits = false;
  EXPECT_EQ(state(), "inside");
}

TEST(LiveRequests, SayHowFarTheyAre) {
  LiveRequests live;
  const auto ticket = live.add({.id = "chatcmpl-1",
                                .key = "alice",
                                .endpoint = llm::Endpoint::kCompletions,
                                .model = "m\xFF",
                                .priority = dispatch::Priority::kInteractive,
                                .lane = "chat 7",
                                .stream = true,
                                .body_bytes = 99,
                                .arrived_at = at(milliseconds(100))});
  const auto now = [&] { return live.to_json(at(milliseconds(200)), 1).at("data").at(0); };
  EXPECT_EQ(json::serialize(now()),
            R"({"id":"chatcmpl-1","object":"windrow.request","endpoint":"/v1/completions",)"
            "\"model\":\"m\xEF\xBF\xBD\","
            R"("state":"reading","priority":"interactive","stream":true,"body_bytes":99,)"
            R"("age_ms":100,"tokens":0,"key":"alice","lane":"chat 7"})");
  ticket->sent(at(milliseconds(100)));
  EXPECT_EQ(now().at("state"), "waiting");
  ticket->received(at(milliseconds(150)), 1);
  ticket->received(at(milliseconds(160)), 4);
  EXPECT_EQ(now().at("state"), "answering");
  EXPECT_EQ(now().at("tokens"), 5);
  EXPECT_EQ(now().at("ttft_ms"), 50);
}

TEST(LiveRequests, AKeySeesItsOwn) {
  LiveRequests live;
  std::vector<std::unique_ptr<LiveRequests::Ticket>> tickets;
  tickets.reserve(6);
  for (int i = 0; i < 6; ++i)
    tickets.push_back(live.add(request(std::to_string(i), i % 2 == 0 ? "alice" : "bob", {})));
  const json::object of_bob = live.to_json(at({}), 2, "bob");
  EXPECT_EQ(of_bob.at("total"), 3);
  ASSERT_EQ(of_bob.at("data").as_array().size(), 2U);
  EXPECT_EQ(of_bob.at("data").at(0).at("id"), "1");
  EXPECT_EQ(live.to_json(at({}), 10, "eve").at("total"), 0);
}

TEST(LiveRequests, ComeAndGoOnManyThreads) {
  LiveRequests live;
  std::atomic<bool> over = false;
  std::thread reader([&] {
    while (!over)
      EXPECT_LE(live.to_json(at({}), 100).at("total").as_int64(), 40);
  });
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        std::vector<std::unique_ptr<LiveRequests::Ticket>> tickets;
        tickets.reserve(10);
        for (int n = 0; n < 10; ++n)
          tickets.push_back(live.add(request("x", "", {})));
        tickets[3]->received(at({}), 1);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  over = true;
  reader.join();
  EXPECT_EQ(live.count(), 0);
}

TEST(LiveRequests, AreShownByTheServerToWhomTheyConcern) {
  const auto line_of = [](std::string_view name, std::string_view key, std::string_view limits) {
    Sha256 hash;
    hash.add(key);
    return fmt::format("{} sha256:{} {}\n", name, hash.finish(), limits);
  };
  testing::ServerRig rig(
      {.keys = std::make_shared<KeyRingHolder>(*KeyRing::parse(
           line_of("alice", "a", "") + line_of("bob", "b", "") + line_of("eve", "e", "admin"),
           "keys"))});
  rig.load();
  http::testing::RawClient client(rig.server->port());
  client.send(testing::post("/v1/chat/completions", testing::kChat, "X-Api-Key: a\r\n"));
  rig.backend.wait_for(1);
  const auto seen = [&](std::string_view key) {
    return rig
        .ask(fmt::format("GET /v1/windrow/requests HTTP/1.1\r\nHost: x\r\nX-Api-Key: {}\r\n\r\n",
                         key))
        .json();
  };
  EXPECT_EQ(seen("b").at("total"), 0);
  ASSERT_EQ(seen("a").at("total"), 1);
  ASSERT_EQ(seen("e").at("total"), 1);
  EXPECT_EQ(seen("e").at("data").at(0).at("key"), "alice");
  EXPECT_EQ(seen("e").at("data").at(0).at("model"), "m");
  EXPECT_EQ(seen("e").at("data").at(0).at("state"), "inside");
  rig.backend.end(testing::said("hello"));
  EXPECT_EQ(testing::read_reply(client).status, 200);
}

}  // namespace
}  // namespace windrow::api
