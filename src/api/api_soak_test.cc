// Many clients that do what clients do, on real sockets; for the sanitizers above all. Whatever
// happened, each request is settled once, with what it cost, and nothing is left inside.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/testing/chatty_backend.h"
#include "api/testing/events.h"
#include "api/testing/server_rig.h"
#include "base/random.h"
#include "base/testing/manual_clock.h"

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

  void read(const Reply& reply) {
    const std::scoped_lock lock(mutex);
    EXPECT_TRUE(statuses.emplace(reply.header("X-Request-Id"), reply.status).second)
        << "an id that was there already";
  }

  std::mutex mutex;
  std::map<std::string, int> statuses;  // of calls that were answered, by the request's id
};

std::string key_line(const std::string& key) {
  return "Authorization: Bearer " + key + "\r\n";
}

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

void be_a_client(uint16_t port, uint64_t seed, const std::vector<std::string>& keys,
                 Counts& counts) {
  Random random(seed);
  const std::string key = key_line(keys[random.below(keys.size())]);
  const auto ask = [&](std::string_view path, std::string_view body) {
    return post(path, body, key);
  };
  const auto page = [&](std::string_view path) {
    return fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n{}\r\n", path, key);
  };
  for (int i = 0; i < 25; ++i) {
    RawClient client(port);
    for (int64_t more = random.between(1, 3); more > 0; --more) {
      const std::string_view body = random.chance(0.6) ? kStream : kChat;
      switch (random.below(8)) {
        case 0:  // garbage
          client.send(ask("/v1/chat/completions", "{\"messages\":"));
          ++counts.calls;
          {
            const Reply reply = read_reply(client);
            EXPECT_EQ(reply.status, 400);
            counts.read(reply);
          }
          break;
        case 1:  // half a request, and gone
          client.send(ask("/v1/chat/completions", body).substr(0, 60 + random.below(40)));
          more = 0;
          break;
        case 2:  // gone when it is all there
          client.send(ask("/v1/chat/completions", body));
          ++counts.calls;
          ++counts.left;
          client.close();
          more = 0;
          break;
        case 3:
          client.send(page("/v1/windrow/requests") + page("/metrics"));
          EXPECT_EQ(read_reply(client).status, 200);
          EXPECT_EQ(read_reply(client).status, 200);
          break;
        case 4:  // two at once
          client.send(ask("/v1/embeddings", R"({"input":["a","b"]})") +
                      ask("/rerank", R"({"query":"q","texts":["a"]})"));
          counts.calls += 2;
          for (int one = 0; one < 2; ++one) {
            const Reply reply = read_reply(client);
            EXPECT_TRUE(reply.status == 200 || reply.status == 400) << reply.status;
            EXPECT_NO_THROW(json::parse(reply.body));
            counts.read(reply);
          }
          break;
        default: {
          client.send(ask("/v1/chat/completions", body));
          ++counts.calls;
          const Reply reply = read_reply(client);
          EXPECT_TRUE(reply.status == 200 || reply.status == 400) << reply.status;
          counts.read(reply);
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

// What the server has logged, each line a request that is over.
class Log {
 public:
  void add(const std::string& line) {
    const json::object entry = json::parse(line).as_object();
    const std::scoped_lock lock(mutex_);
    const std::string id(entry.at("id").as_string());
    EXPECT_TRUE(statuses_.emplace(id, entry.at("status").as_int64()).second) << id << " twice";
    if (!entry.contains("call")) return;
    EXPECT_TRUE(calls_.emplace(entry.at("call").as_string()).second) << line;
    if (entry.at("status") == 499) ++left_;
    tokens_[std::string(entry.at("key").as_string())] +=
        entry.at("prompt_tokens").as_int64() + entry.at("completion_tokens").as_int64();
  }

  // Complete once nothing is inside any more.
  std::map<std::string, int64_t> statuses() const { return locked(statuses_); }
  std::map<std::string, int64_t> tokens() const { return locked(tokens_); }  // by key
  int64_t calls() const { return static_cast<int64_t>(locked(calls_).size()); }
  int64_t left() const { return locked(left_); }

 private:
  template <class T>
  T locked(const T& value) const {
    const std::scoped_lock lock(mutex_);
    return value;
  }

  mutable std::mutex mutex_;
  std::map<std::string, int64_t> statuses_;
  std::set<std::string> calls_;
  std::map<std::string, int64_t> tokens_;
  int64_t left_ = 0;
};

Reply ask_once(uint16_t port, const std::string& request) {
  RawClient client(port);
  client.send(request);
  return read_reply(client);
}

TEST(ApiSoak, EachRequestIsSettledOnce) {
  constexpr uint64_t kSeed = 808;
  constexpr int64_t kTokensAMinute = 1'000'000'000;
  SCOPED_TRACE(kSeed);
  std::vector<std::string> keys;
  std::string file;
  for (int i = 0; i < 3; ++i) {
    const Result<NewKey> made =
        make_key(fmt::format("key-{}", i), fmt::format("tpm={} in-flight=1000", kTokensAMinute),
                 std::string(32, static_cast<char>('a' + i)));
    ASSERT_TRUE(made.has_value());
    keys.push_back(made->key);
    file += made->line + "\n";
  }
  Log log;
  // It stands still: what a key has used does not come back.
  const windrow::testing::ManualClock clock;
  http::Loop loop(clock);
  ChattyBackend backend(kSeed, 0.2);
  dispatch::Dispatcher dispatcher(backend, {.waiting_max = 1000});
  ModelRegistry registry;
  registry.add({.name = "m", .dispatcher = &dispatcher, .endpoints = kAllEndpoints}, true);
  registry.set_state(ServeState::kReady);
  ApiOptions options;
  options.keys = std::make_shared<const KeyRingHolder>(*KeyRing::parse(file, "keys"));
  options.open_metrics = true;
  options.log = [&](const std::string& line) { log.add(line); };
  const auto server = *ApiServer::open(loop, clock, registry, std::move(options));
  Counts counts;
  {
    std::vector<std::jthread> clients;
    clients.reserve(8);
    for (uint64_t i = 0; i < 8; ++i)
      clients.emplace_back([&, i] { be_a_client(server->port(), kSeed + i, keys, counts); });
  }
  // Nothing is left inside.
  const auto is_zero = [](const std::string& page, const std::string& metric) {
    return page.find(fmt::format("\n{} 0\n", metric)) != std::string::npos;
  };
  for (bool empty = false; !empty;) {
    const std::string page = ask_once(server->port(), get("/metrics")).body;
    empty = is_zero(page, "windrow_calls_live") && is_zero(page, "windrow_body_bytes_inside");
    for (size_t i = 0; i < keys.size(); ++i)
      empty = empty && is_zero(page, fmt::format("windrow_key_calls_live{{key=\"key-{}\"}}", i));
  }
  EXPECT_EQ(dispatcher.in_flight(), 0);
  // What a key has used is what the log says of it. A call that fails at once takes nothing.
  const std::map<std::string, int64_t> tokens = log.tokens();
  for (size_t i = 0; i < keys.size(); ++i) {
    const Reply reply =
        ask_once(server->port(), post("/v1/chat/completions", "{", key_line(keys[i])));
    const auto used = tokens.find(fmt::format("key-{}", i));
    EXPECT_EQ(kTokensAMinute - std::stoll(reply.header("x-ratelimit-remaining-tokens")),
              used == tokens.end() ? 0 : used->second)
        << "key " << i;
    ++counts.calls;
    counts.read(reply);
  }
  server->stop(std::chrono::seconds(30));
  // A close may overtake what was sent before it.
  EXPECT_LE(log.calls(), counts.calls);
  EXPECT_GE(log.calls(), counts.calls - counts.left);
  EXPECT_LE(log.left(), counts.left);
  const std::map<std::string, int64_t> logged = log.statuses();
  for (const auto& [id, status] : counts.statuses) {
    const auto found = logged.find(id);
    ASSERT_NE(found, logged.end()) << id << " was answered and not logged";
    EXPECT_EQ(found->second, status) << id;
  }
}

}  // namespace
}  // namespace windrow::api
