// Answers in pieces to clients who read slowly, hang up, or close one half.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <thread>

#include "http/server.h"
#include "http/testing/raw_client.h"
#include "http/testing/server_rig.h"

namespace windrow::http {
namespace {

using testing::body_of;
using testing::get;
using testing::RawClient;
using testing::status_of;

class ServerStreamTest : public testing::ServerRig {
 protected:
  // A stream to `client`, whose reader has read its head.
  std::unique_ptr<Exchange> begin_stream(RawClient& client) {
    client.send(get("/keep"));
    auto exchange = std::make_unique<Exchange>(take_kept());
    exchange->start(200, {{"Content-Type", "text/event-stream"}});
    EXPECT_EQ(status_of(client.read_some()), 200);
    return exchange;
  }

  size_t unsent(const Exchange& exchange) {
    size_t bytes = 0;
    loop_.run([&] { bytes = exchange.unsent_bytes(); });
    return bytes;
  }

  // Writes until the reader's system and ours take no more.
  size_t fill(Exchange& exchange) {
    size_t written = 0;
    while (unsent(exchange) < 100'000) {
      exchange.write(std::string(10'000, 'x'));
      written += 10'000;
    }
    return written;
  }
};

TEST_F(ServerStreamTest, WhatAReaderDoesNotTakeIsSeenAndItsEndIsTold) {
  open();
  RawClient client = this->client();
  const auto exchange = begin_stream(client);
  EXPECT_EQ(unsent(*exchange), 0U);
  const size_t written = fill(*exchange);
  std::latch drained(1);
  exchange->on_drained(1000, [&] {
    EXPECT_LE(exchange->unsent_bytes(), 1000U);
    drained.count_down();
  });
  EXPECT_FALSE(drained.try_wait());
  // As long as something is to come for certain: it may be told after the last of it was read.
  size_t read = 0;
  while (!drained.try_wait() && read < written)
    read += client.read_some().size();
  drained.wait();
  exchange->finish();
  EXPECT_GT(read, 90'000U);
  EXPECT_LE(read, written + written / 100);
}

TEST_F(ServerStreamTest, OneThatIsDrainedAlreadyIsToldButNotAtOnce) {
  open();
  RawClient client = this->client();
  const auto exchange = begin_stream(client);
  std::latch drained(1);
  bool inside = true;
  loop_.run([&] {
    exchange->on_drained(0, [&] {
      EXPECT_FALSE(inside);
      drained.count_down();
    });
    inside = false;
  });
  drained.wait();
  exchange->finish();
}

// The callback writes more and asks again, any number of times: the stack does not grow.
TEST_F(ServerStreamTest, AStreamMayBePumpedByItsReader) {
  open();
  RawClient client = this->client();
  const auto exchange = begin_stream(client);
  constexpr int kPieces = 100'000;
  int written = 0;
  std::function<void()> pump = [&] {
    if (written == kPieces) return exchange->finish();
    ++written;
    exchange->write("data: 1\n\n");
    exchange->on_drained(10'000, pump);
  };
  loop_.run(pump);
  std::string all;
  while (!all.ends_with("0\r\n\r\n"))
    all += client.read_some();
  EXPECT_EQ(all.size(), size_t{kPieces} * 14 + 5);
}

TEST_F(ServerStreamTest, ALaterWishReplacesAnEarlierAndNoneOutlivesTheAnswer) {
  open();
  RawClient client = this->client();
  const auto exchange = begin_stream(client);
  std::atomic<int> first = 0;
  std::latch second(1);
  loop_.run([&] {
    exchange->on_drained(0, [&] { ++first; });
    exchange->on_drained(0, [&] { second.count_down(); });
  });
  second.wait();
  loop_.run([&] {
    exchange->on_drained(0, [&] { ++first; });
    exchange->finish();
  });
  EXPECT_EQ(body_of("\r\n\r\n" + client.read_some()), "0\r\n\r\n");
  // The next request of the connection has nothing to do with it.
  client.send(get("/prepared"));
  EXPECT_EQ(status_of(client.read_reply()), 200);
  EXPECT_EQ(first, 0);
  EXPECT_EQ(unsent(*exchange), 0U);
}

// The loop may hold the last reference to an answer while calls of a worker are still queued there.
TEST_F(ServerStreamTest, WhatAWorkerSaidIsHeardBeforeTheExchangeGoes) {
  open();
  RawClient client = this->client();
  std::shared_ptr<Exchange> exchange = begin_stream(client);
  loop_.run([&] {
    std::thread([&] {
      exchange->write("last");
      exchange->finish();
    }).join();
    exchange.reset();
  });
  std::string all;
  while (!all.ends_with("0\r\n\r\n")) {
    const std::string some = client.read_some();
    ASSERT_NE(some, "") << "the connection was cut off after: " << all;
    all += some;
  }
  EXPECT_EQ(all, "4\r\nlast\r\n0\r\n\r\n");
}

TEST_F(ServerStreamTest, AReaderThatLeavesIsReportedAtOnceHoweverItLeaves) {
  open();
  for (const char* how : {"close", "reset", "half"}) {
    for (const bool full : {false, true}) {
      RawClient client = this->client();
      const auto exchange = begin_stream(client);
      std::latch gone(1);
      exchange->on_disconnect([&] { gone.count_down(); });
      exchange->on_drained(0, [] {});
      if (full) fill(*exchange);
      if (how[0] == 'c') client.close();
      if (how[0] == 'r') client.reset();
      // Still reading, but the header says what that means.
      if (how[0] == 'h') client.end_sending();
      gone.wait();
      EXPECT_EQ(unsent(*exchange), 0U) << how;
      exchange->write("nobody reads this");
    }
  }
  wait_until([&] { return server_->connections() == 0; });
}

TEST_F(ServerStreamTest, AClientThatClosesItsHalfGetsCompleteAnswers) {
  open();
  RawClient client = this->client();
  client.send(get("/keep"));
  Exchange exchange = take_kept();
  const std::string body(20'000'000, 'x');
  exchange.send({.body = body});
  client.end_sending();
  EXPECT_EQ(body_of(client.read_reply()), body);
  EXPECT_EQ(client.read_all(), "");
  EXPECT_FALSE(client.was_reset());
}

// By less than the limit: it may stay behind as long as it reads.
TEST_F(ServerStreamTest, AReaderThatIsAlwaysBehindIsServed) {
  open({.unsent_bytes_max = 400'000});
  RawClient client = this->client();
  const auto exchange = begin_stream(client);
  std::atomic<bool> gone = false;
  exchange->on_disconnect([&] { gone = true; });
  fill(*exchange);
  size_t read = 0;
  while (read < 50'000'000) {
    read += client.read_some().size();
    while (unsent(*exchange) < 200'000)
      exchange->write(std::string(10'000, 'x'));
  }
  EXPECT_FALSE(gone);
  EXPECT_LT(unsent(*exchange), 400'000U);
}

}  // namespace
}  // namespace windrow::http
