// Server::arriving(): what has begun to come and is not complete.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "http/server.h"
#include "http/testing/raw_client.h"
#include "http/testing/server_rig.h"

namespace windrow::http {
namespace {

using std::chrono::hours;
using testing::get;
using testing::post;
using testing::RawClient;
using testing::status_of;

class ServerArrivingTest : public testing::ServerRig {
 protected:
  void wait_for_arriving(size_t count) {
    wait_until([&] { return server_->arriving() == count; });
  }
};

TEST_F(ServerArrivingTest, CountsFromTheFirstByteToTheHandler) {
  open();
  RawClient client = this->client();
  client.send(get("/prepared"));
  EXPECT_EQ(status_of(client.read_reply()), 200);
  EXPECT_EQ(server_->arriving(), 0U);
  client.send("G");
  wait_for_arriving(1);
  RawClient other = this->client();
  other.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab");
  wait_for_arriving(2);
  other.send("cd");
  EXPECT_EQ(status_of(other.read_reply()), 200);
  EXPECT_EQ(server_->arriving(), 1U);
  client.send("ET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
  const Exchange kept = take_kept();
  EXPECT_EQ(server_->arriving(), 0U);
}

TEST_F(ServerArrivingTest, NeitherAnEmptyLineNorWhatWaitsItsTurnIsArriving) {
  open();
  RawClient client = this->client();
  // Some clients send an empty line behind a body. It is no request, and nothing is overdue.
  client.send(post("/echo", "hello") + "\r\n");
  EXPECT_EQ(status_of(client.read_reply()), 200);
  EXPECT_EQ(server_->arriving(), 0U);
  client.send(get("/keep") + "GET /prep");
  Exchange kept = take_kept();
  EXPECT_EQ(server_->arriving(), 0U);
  kept.send(ServerReply{});
  EXPECT_EQ(status_of(client.read_reply()), 200);
  wait_for_arriving(1);
}

TEST_F(ServerArrivingTest, WhatIsRefusedOrTakesTooLongHasArrived) {
  open({.request = {.body_bytes_max = 10}});
  RawClient large = client();
  large.send("POST /echo HTTP/1.1\r\nHost: x\r\n");
  wait_for_arriving(1);
  large.send("Content-Length: 11\r\n\r\n");
  EXPECT_EQ(status_of(large.read_reply()), 413);
  EXPECT_EQ(server_->arriving(), 0U);
  RawClient slow = client();
  slow.send("POST /ec");
  wait_for_arriving(1);
  clock_.advance(hours(1));
  EXPECT_EQ(status_of(slow.read_all()), 408);
  EXPECT_EQ(server_->arriving(), 0U);
}

// Thousands of clients that vanish at every point of a request, in every way: the count is right,
// and 0 when no client is left.
TEST_F(ServerArrivingTest, DoesNotDriftWhateverClientsDo) {
  open({.request = {.head_bytes_max = 400, .headers_max = 8, .body_bytes_max = 60}});
  const std::vector<std::string> requests = {
      get("/prepared"),
      get("/nothing"),
      get("/throw"),
      get("/half"),
      get("/pieces"),
      post("/echo", "hello"),
      post("/echo", std::string(61, 'x')),
      post("/prepared", "the wrong method"),
      post("/echo", "0123456789", "Expect: 100-continue\r\n"),
      post("/echo", "x", "Content-Encoding: gzip\r\n"),
      post("/piecewise", std::string(61, 'x')),
      post("/no-body", "hello"),
      "POST /piecewise HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\nno chunk\r\n",
      get("/prepared", "X: " + std::string(500, 'x') + "\r\n"),
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
      "this is no request\r\n\r\n",
      "\r\n",
  };
  constexpr uint64_t kSeed = 20261;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  Random random(kSeed);
  for (int i = 0; i < 4000; ++i) {
    RawClient client = this->client();
    std::string bytes;
    for (int64_t n = random.between(1, 4); n > 0; --n)
      bytes += requests[random.below(requests.size())];
    // Cut off anywhere, and sent in up to three parts.
    bytes.resize(random.below(bytes.size() + 1));
    for (int64_t n = random.between(0, 2); n > 0; --n) {
      const size_t part = random.below(bytes.size() + 1);
      client.send(bytes.substr(0, part));
      bytes.erase(0, part);
      if (random.chance(0.3)) loop_.run([] {});
    }
    client.send(bytes);
    if (random.chance(0.3)) loop_.run([] {});
    if (random.chance(0.02)) clock_.advance(std::chrono::seconds(40));
    switch (random.below(3)) {
      case 0:
        client.reset();
        break;
      case 1:
        client.end_sending();
        break;
      default:
        break;  // closed by its end
    }
    ASSERT_LE(server_->arriving(), server_->connections());
  }
  wait_until([&] {
    clock_.advance(std::chrono::seconds(10));  // those that were refused linger
    return server_->connections() == 0;
  });
  EXPECT_EQ(server_->arriving(), 0U);
  RawClient last = client();
  last.send("G");
  wait_for_arriving(1);
}

}  // namespace
}  // namespace windrow::http
