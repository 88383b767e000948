// Bodies that come in pieces, and those that are refused at their head.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "http/server.h"
#include "http/testing/raw_client.h"
#include "http/testing/server_rig.h"

namespace windrow::http {
namespace {

using std::chrono::seconds;
using testing::body_of;
using testing::get;
using ::testing::HasSubstr;
using testing::KeptBody;
using testing::post;
using testing::RawClient;
using testing::status_of;
using State = BodyPiece::State;

std::string head_of(std::string_view path, size_t bytes, std::string_view headers = "") {
  return fmt::format("POST {} HTTP/1.1\r\nHost: x\r\n{}Content-Length: {}\r\n\r\n", path, headers,
                     bytes);
}

class ServerBodyTest : public testing::ServerRig {
 protected:
  // Sends from the front of `bytes` for as long as the server, or the system on its way, takes it.
  size_t send_what_is_taken(RawClient& client, std::string_view bytes) {
    size_t sent = 0;
    for (int quiet = 0; quiet < 200 && sent < bytes.size();) {
      const size_t some = client.send_some(bytes.substr(sent));
      sent += some;
      quiet = some > 0 ? 0 : quiet + 1;
      loop_.run([] {});
    }
    return sent;
  }
};

TEST_F(ServerBodyTest, TheClientIsReadNoFasterThanPiecesAreAskedFor) {
  open({.request = {.body_bytes_max = 1000}});  // for others
  std::string bytes(size_t{64} << 20, ' ');
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>('a' + i % 23);
  RawClient client = this->client();
  client.send(head_of("/body", bytes.size()));
  KeptBody kept = take_body();
  EXPECT_EQ(server_->arriving(), 0U);
  size_t sent = send_what_is_taken(client, bytes);
  EXPECT_LT(sent, bytes.size() / 2) << "more than the system holds by itself";

  std::string came;
  State state = State::kMore;
  while (state == State::kMore) {
    sent += client.send_some(std::string_view(bytes).substr(sent));
    const BodyPiece piece = kept.next();
    ASSERT_LE(piece.bytes.size(), size_t{128} << 10);
    ASSERT_EQ(piece.bytes.empty(), false);
    came += piece.bytes;
    state = piece.state;
  }
  EXPECT_EQ(state, State::kEnd);
  EXPECT_TRUE(came == bytes);
  kept.exchange.send({.body = "thanks"});
  EXPECT_EQ(body_of(client.read_reply()), "thanks");
  // The connection goes on.
  client.send(get("/prepared"));
  EXPECT_EQ(status_of(client.read_reply()), 200);
}

TEST_F(ServerBodyTest, ABodyMayBeEmptyOrHereAtOnce) {
  open();
  RawClient client = this->client();
  client.send(post("/body", "") + post("/body", "hello") + get("/prepared"));
  {
    KeptBody kept = take_body();
    const BodyPiece end = kept.next();
    EXPECT_EQ(end.state, State::kEnd);
    EXPECT_EQ(end.bytes, "");
    kept.exchange.send({.body = "first"});
  }
  EXPECT_EQ(body_of(client.read_reply()), "first");
  KeptBody kept = take_body();
  const BodyPiece whole = kept.next();
  EXPECT_EQ(whole.state, State::kEnd);
  EXPECT_EQ(whole.bytes, "hello");
  kept.exchange.send({.body = "second"});
  EXPECT_EQ(body_of(client.read_reply()), "second");
  EXPECT_EQ(status_of(client.read_reply()), 200);
}

TEST_F(ServerBodyTest, AnExpectingClientIsToldToSendWhenTheHandlerReads) {
  open();
  RawClient client = this->client();
  client.send(head_of("/body", 5, "Expect: 100-continue\r\n"));
  KeptBody kept = take_body();
  std::promise<BodyPiece> first;
  kept.body.next([&](BodyPiece piece) { first.set_value(std::move(piece)); });
  EXPECT_EQ(client.read_reply(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hello");
  EXPECT_EQ(first.get_future().get().bytes, "hello");
  kept.exchange.send({.body = "{}"});
  EXPECT_EQ(status_of(client.read_reply()), 200);

  RawClient unwanted = this->client();
  unwanted.send(head_of("/no-body", 5, "Expect: 100-continue\r\n"));
  EXPECT_EQ(status_of(unwanted.read_all()), 403);
}

// One that sends without looking, as most clients do, reads the answer afterwards.
TEST_F(ServerBodyTest, AnEarlyAnswerIsReadByAClientThatStillSends) {
  open();
  RawClient client = this->client();
  const std::string bytes(20'000'000, 'x');
  EXPECT_TRUE(client.send(head_of("/no-body", bytes.size()) + bytes));
  const std::string reply = client.read_all();
  EXPECT_EQ(status_of(reply), 403);
  EXPECT_EQ(body_of(reply), "not you");
  EXPECT_THAT(reply, HasSubstr("Connection: close\r\n"));
  EXPECT_FALSE(client.was_reset());
}

TEST_F(ServerBodyTest, AClientThatSendsForEverIsNotReadForEver) {
  open();
  RawClient client = this->client();
  client.send(head_of("/no-body", size_t{1} << 40));
  EXPECT_EQ(status_of(client.read_reply()), 403);
  for (int i = 0; i < 20; ++i) {
    client.send("x");
    loop_.run([] {});
    clock_.advance(seconds(1));
  }
  EXPECT_EQ(server_->connections(), 1U);
  wait_until([&] {
    client.send_some("x");
    clock_.advance(seconds(1));
    return server_->connections() == 0;
  });
}

TEST_F(ServerBodyTest, AClientThatLeavesInTheMiddle) {
  open();
  RawClient client = this->client();
  client.send(head_of("/body", 100) + "hello");
  KeptBody kept = take_body();
  EXPECT_EQ(kept.next().bytes, "hello");
  client.reset();
  const BodyPiece piece = kept.next();
  EXPECT_EQ(piece.state, State::kBroken);
  EXPECT_EQ(piece.status, 0);
  EXPECT_EQ(kept.next().state, State::kBroken);
  wait_until([&] { return server_->connections() == 0; });
}

TEST_F(ServerBodyTest, WhatIsNoBodyIsAnsweredForTheHandler) {
  open();
  RawClient client = this->client();
  client.send("POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
  KeptBody kept = take_body();
  EXPECT_EQ(kept.next().bytes, "hello");
  client.send("no chunk\r\n");
  const BodyPiece piece = kept.next();
  EXPECT_EQ(piece.state, State::kBroken);
  EXPECT_EQ(piece.status, 400);
  kept.exchange.send({.body = "too late"});
  EXPECT_EQ(status_of(client.read_all()), 400);
}

TEST_F(ServerBodyTest, TimeGoesOnOnlyWhileTheClientIsWaitedFor) {
  open();
  RawClient client = this->client();
  client.send(head_of("/body", 1'000'000));
  KeptBody kept = take_body();
  // A handler that takes its time.
  clock_.advance(seconds(1000));
  client.send(std::string(1000, 'x'));
  loop_.run([] {});
  EXPECT_EQ(kept.next().state, State::kMore);
  clock_.advance(seconds(1000));
  // And a client that does.
  std::promise<BodyPiece> last;
  kept.body.next([&](BodyPiece piece) { last.set_value(std::move(piece)); });
  loop_.run([] {});
  clock_.advance(seconds(31));
  EXPECT_EQ(status_of(client.read_all()), 408);
  const BodyPiece piece = last.get_future().get();
  EXPECT_EQ(piece.state, State::kBroken);
  EXPECT_EQ(piece.status, 408);
}

TEST_F(ServerBodyTest, AServerThatStopsRefusesWhatStillComes) {
  open();
  RawClient client = this->client();
  client.send(head_of("/body", 1'000'000) + "hello");
  KeptBody kept = take_body();
  RawClient waiting = this->client();
  waiting.send(head_of("/body", 1'000'000));
  KeptBody busy = take_body();
  EXPECT_EQ(kept.next().bytes, "hello");
  std::promise<BodyPiece> last;
  kept.body.next([&](BodyPiece piece) { last.set_value(std::move(piece)); });
  loop_.run([] {});
  std::thread stopping([&] { server_->stop(seconds(1'000'000)); });
  EXPECT_EQ(last.get_future().get().status, 503);
  EXPECT_EQ(status_of(client.read_all()), 503);
  client.close();
  // One whose handler was busy with the last piece hears of it when it asks for more.
  const BodyPiece piece = busy.next();
  EXPECT_EQ(piece.state, State::kBroken);
  EXPECT_EQ(piece.status, 503);
  EXPECT_EQ(status_of(waiting.read_all()), 503);
  waiting.close();
  stopping.join();
}

// --- bodies as a whole --------------------------------------------------------------------------

TEST_F(ServerBodyTest, LongBodiesOfStrangersAreRefusedAtTheirHead) {
  size_t asked = 0;
  open({.at_head = [&](const ServerRequest& head) -> std::optional<ServerReply> {
    ++asked;
    EXPECT_EQ(head.path, "/echo");
    EXPECT_EQ(head.body, "");
    if (head.headers.get("Authorization")) return std::nullopt;
    return ServerReply{.status = 401, .body = "who are you?"};
  }});
  const size_t length = size_t{8} << 20;
  // Not a byte of the body is waited for.
  RawClient stranger = client();
  stranger.send(head_of("/echo", length));
  EXPECT_EQ(body_of(stranger.read_all()), "who are you?");
  // In chunks it shows when it is long; sent all the same, the answer is read.
  RawClient chunked = client();
  EXPECT_TRUE(chunked.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" +
                           fmt::format("{:x}\r\n", length) + std::string(length, 'x')));
  EXPECT_EQ(status_of(chunked.read_all()), 401);
  RawClient asking = client();
  asking.send(head_of("/echo", 5, "Expect: 100-continue\r\n"));
  EXPECT_EQ(status_of(asking.read_all()), 401);
  EXPECT_EQ(asked, 3U);

  RawClient known = client();
  known.send(head_of("/echo", length, "Authorization: x\r\n") + std::string(length, 'x'));
  EXPECT_EQ(status_of(known.read_reply()), 200);
  EXPECT_EQ(asked, 4U) << "once for each request";
  // A short body is not checked: its handler answers, and the connection stays.
  known.send(head_of("/echo", 5));
  wait_until([&] { return server_->arriving() == 1; });
  known.send("hello");
  EXPECT_EQ(body_of(known.read_reply()), "hello");
  EXPECT_EQ(asked, 4U);
  // Without a route the hook is not called.
  known.send(head_of("/nothing", length));
  EXPECT_EQ(status_of(known.read_all()), 404);
  EXPECT_EQ(asked, 4U);
}

}  // namespace
}  // namespace windrow::http
