#include "http/server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <vector>

#include "http/testing/raw_client.h"
#include "http/testing/server_rig.h"

namespace windrow::http {
namespace {

using std::chrono::hours;
using testing::body_of;
using testing::get;
using testing::post;
using testing::RawClient;
using testing::status_of;

class ServerTest : public testing::ServerRig {};

TEST_F(ServerTest, AnswersByMethodAndPath) {
  open();
  RawClient client = this->client();
  client.send(post("/echo", "hello"));
  const std::string reply = client.read_reply();
  EXPECT_EQ(status_of(reply), 200);
  EXPECT_EQ(body_of(reply), "hello");
  EXPECT_NE(reply.find("Content-Type: text/plain\r\n"), std::string::npos);
  EXPECT_NE(reply.find("Date: Tue, 14 Nov 2023 22:13:20 GMT\r\n"), std::string::npos);
  client.send(get("/query?a=1&b"));
  EXPECT_EQ(body_of(client.read_reply()), "a=1&b");
  client.send(get("/jobs/j7"));
  EXPECT_EQ(body_of(client.read_reply()), "j7");
  client.send(get("/prepared"));
  EXPECT_EQ(body_of(client.read_reply()), "{}");
  client.send(get("/nothing"));
  EXPECT_EQ(status_of(client.read_reply()), 404);
  client.send(get("/echo"));
  const std::string wrong_method = client.read_reply();
  EXPECT_EQ(status_of(wrong_method), 405);
  EXPECT_NE(wrong_method.find("Allow: POST\r\n"), std::string::npos);
  EXPECT_EQ(server_->connections(), 1U);
}

// They stop being answered where too much of the answers lies unsent, and go on when it has left,
// also where the system took all of it at once.
TEST_F(ServerTest, PipelinedRequestsAreAllAnsweredHoweverLongTheAnswers) {
  prepared_ = std::make_shared<PreparedReply>(ServerReply{.body = std::string(16'000, 'x')});
  open();
  RawClient client = this->client();
  constexpr int kRequests = 1000;
  std::string requests;
  for (int i = 0; i < kRequests; ++i)
    requests += get("/prepared");
  ASSERT_TRUE(client.send(requests));
  for (int i = 0; i < kRequests; ++i)
    ASSERT_EQ(body_of(client.read_reply()).size(), 16'000U) << i;
}

TEST_F(ServerTest, APathMayBePatched) {
  open();
  RawClient client = this->client();
  client.send("PATCH /jobs/j7 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(body_of(client.read_reply()), "j7: hello");
  client.send("PATCH /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(status_of(client.read_reply()), 405);
}

TEST_F(ServerTest, PipelinedRequestsAreAnsweredInTheirOrder) {
  open();
  RawClient client = this->client();
  std::string requests;
  for (int i = 0; i < 500; ++i)
    requests += i % 50 == 7 ? get("/keep") : post("/echo", fmt::format("request {}", i));
  std::jthread later([&] {
    for (int i = 0; i < 10; ++i)
      take_kept().send({.body = "kept"});
  });
  ASSERT_TRUE(client.send(requests));
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(body_of(client.read_reply()), i % 50 == 7 ? "kept" : fmt::format("request {}", i));
  }
}

TEST_F(ServerTest, AnAnswerToHeadHasTheLengthAndNoBody) {
  open();
  for (const char* path : {"/query?12345", "/pieces"}) {
    RawClient client = this->client();
    client.send(fmt::format("HEAD {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path));
    const std::string reply = client.read_all();
    EXPECT_EQ(status_of(reply), 200);
    EXPECT_EQ(reply.find("Content-Length: 5\r\n") != std::string::npos, path[1] == 'q');
    EXPECT_EQ(body_of(reply), "");
  }
}

TEST_F(ServerTest, ConnectionsEndWhenTheClientSaysSoOrIsOld) {
  open();
  RawClient closing = client();
  closing.send(get("/prepared", "Connection: close\r\n"));
  EXPECT_NE(closing.read_all().find("Connection: close\r\n"), std::string::npos);
  RawClient old = client();
  old.send("GET /prepared HTTP/1.0\r\n\r\n");
  EXPECT_EQ(body_of(old.read_all()), "{}");
  RawClient old_but_keeping = client();
  old_but_keeping.send("GET /prepared HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_NE(old_but_keeping.read_reply().find("Connection: keep-alive"), std::string::npos);
  old_but_keeping.send("GET /pieces HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  // It knows no chunks: the end of the answer is the end of the connection.
  EXPECT_EQ(body_of(old_but_keeping.read_all()), "data: 1\n\ndata: 2\n\n");
}

TEST_F(ServerTest, AnswersComeInPiecesFromAnyThread) {
  open();
  RawClient client = this->client();
  client.send(get("/pieces"));
  EXPECT_EQ(body_of(client.read_reply()), "9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n");
  client.send(get("/keep"));
  Exchange exchange = take_kept();
  exchange.start(200, {}, 4);
  exchange.write("ab");
  exchange.write("cd and what was not promised");
  exchange.write("nor this");
  exchange.finish();
  EXPECT_EQ(body_of(client.read_reply()), "abcd");
  client.send(get("/prepared"));
  EXPECT_EQ(status_of(client.read_reply()), 200);
}

TEST_F(ServerTest, ABodyTooLargeForTheSocketArrivesWhole) {
  open();
  RawClient client = this->client();
  std::string body(20'000'000, 'x');
  body.back() = 'y';
  std::jthread sender([&] { client.send(post("/echo", body)); });
  EXPECT_EQ(body_of(client.read_reply()), body);
}

TEST_F(ServerTest, AnAnswerThatCannotBeCompletedBreaksTheConnection) {
  open();
  for (const char* path : {"/half", "/short"}) {
    RawClient client = this->client();
    client.send(get(path));
    client.read_all();
    EXPECT_TRUE(client.was_reset()) << path;
  }
}

TEST_F(ServerTest, ADefectOfAHandlerEndsItsRequestOnly) {
  open();
  RawClient client = this->client();
  for (const char* path : {"/forget", "/throw", "/inject"}) {
    client.send(get(path));
    const std::string reply = client.read_reply();
    EXPECT_EQ(status_of(reply), 500) << path;
    EXPECT_EQ(reply.find("Y: b"), std::string::npos);
  }
  client.send(get("/prepared"));
  EXPECT_EQ(status_of(client.read_reply()), 200);
}

TEST_F(ServerTest, AClientThatLeavesIsNoticedWhileItsAnswerIsMade) {
  open();
  RawClient client = this->client();
  client.send(get("/keep"));
  Exchange exchange = take_kept();
  std::latch gone(1);
  exchange.on_disconnect([&] { gone.count_down(); });
  client.close();
  gone.wait();
  EXPECT_EQ(server_->connections(), 0U);
  exchange.send(ServerReply{});  // the client is gone
  // Asked too late, it is told at once.
  std::latch again(1);
  exchange.on_disconnect([&] { again.count_down(); });
  again.wait();
}

TEST_F(ServerTest, WhatIsTooLargeIsRefusedWithAReason) {
  open({.request = {.head_bytes_max = 2000, .headers_max = 10, .body_bytes_max = 100}});
  const auto refusal = [&](std::string_view request) {
    RawClient client = this->client();
    client.send(request);
    const std::string reply = client.read_all();
    EXPECT_NE(reply.find("Connection: close\r\n"), std::string::npos);
    return status_of(reply);
  };
  EXPECT_EQ(refusal(post("/echo", std::string(101, 'x'))), 413);
  EXPECT_EQ(refusal(post("/echo", std::string(3'000'000, 'x'))), 413);
  EXPECT_EQ(refusal(get("/prepared", "X: " + std::string(3000, 'x') + "\r\n")), 431);
  EXPECT_EQ(refusal("nonsense\r\n\r\n"), 400);
  RawClient client = this->client();
  client.send(post("/echo", std::string(100, 'x')));
  EXPECT_EQ(status_of(client.read_reply()), 200);
}

TEST_F(ServerTest, ABodyIsAskedForWhenTheClientWaitsForThat) {
  open({.request = {.body_bytes_max = 100}});
  RawClient client = this->client();
  client.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.read_reply(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ok");
  EXPECT_EQ(body_of(client.read_reply()), "ok");
  client.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 200\r\n\r\n");
  EXPECT_EQ(status_of(client.read_reply()), 413);
}

TEST_F(ServerTest, TimeRunsOutForEachKindOfWaiting) {
  open();
  RawClient idle = client();
  idle.send(get("/prepared"));
  EXPECT_EQ(status_of(idle.read_reply()), 200);
  RawClient silent = client();
  RawClient slow = client();
  slow.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nsome of it");
  RawClient deaf = client();
  deaf.send(get("/keep"));
  Exchange large = take_kept();
  RawClient patient = client();
  patient.send(get("/keep"));
  Exchange later = take_kept();
  large.send({.body = std::string(50'000'000, 'x')});
  loop_.run([] {});
  clock_.advance(hours(1));

  EXPECT_EQ(idle.read_all(), "");
  EXPECT_EQ(silent.read_all(), "");
  EXPECT_EQ(status_of(slow.read_all()), 408);
  deaf.read_all();
  EXPECT_TRUE(deaf.was_reset());
  // A handler has all the time it wants.
  later.send({.body = "at last"});
  EXPECT_EQ(body_of(patient.read_reply()), "at last");
}

TEST_F(ServerTest, UntakenPiecesAreBounded) {
  open({.unsent_bytes_max = 1'000'000});
  RawClient client = this->client();
  client.send(get("/keep"));
  Exchange exchange = take_kept();
  std::latch gone(1);
  exchange.on_disconnect([&] { gone.count_down(); });
  exchange.start(200, {});
  for (int i = 0; i < 200; ++i)
    exchange.write(std::string(100'000, 'x'));
  gone.wait();
}

TEST_F(ServerTest, MoreConnectionsThanTheLimitWaitTheirTurn) {
  open({.connections_max = 2});
  RawClient first = client();
  RawClient second = client();
  RawClient third = client();
  for (RawClient* served : {&first, &second}) {
    served->send(get("/prepared"));
    EXPECT_EQ(status_of(served->read_reply()), 200);
  }
  third.send(get("/prepared"));
  EXPECT_EQ(server_->connections(), 2U);
  first.close();
  EXPECT_EQ(status_of(third.read_reply()), 200);
}

TEST_F(ServerTest, StoppingLetsWhatHasBegunEnd) {
  open();
  RawClient idle = client();
  idle.send(get("/prepared"));
  idle.read_reply();
  RawClient busy = client();
  busy.send(get("/keep"));
  Exchange exchange = take_kept();
  std::jthread stopping([&] { server_->stop(hours(1)); });
  EXPECT_EQ(idle.read_all(), "");
  exchange.send({.body = "the last"});
  const std::string reply = busy.read_all();
  EXPECT_EQ(body_of(reply), "the last");
  EXPECT_NE(reply.find("Connection: close\r\n"), std::string::npos);
  busy.close();
  stopping.join();
  EXPECT_EQ(server_->connections(), 0U);
}

// Clients keep connections for later. The clock stands still, so nothing here is given up by time.
TEST_F(ServerTest, StoppingDoesNotWaitForClientsThatHaveTheirAnswers) {
  open();
  RawClient told = client();
  told.send(get("/prepared", "Connection: close\r\n"));
  EXPECT_EQ(status_of(told.read_all()), 200);
  RawClient busy = client();
  busy.send(get("/keep"));
  Exchange exchange = take_kept();
  std::jthread stopping([&] { server_->stop(hours(1)); });
  exchange.send({.body = "the last"});
  stopping.join();
  EXPECT_EQ(server_->connections(), 0U);
  EXPECT_EQ(body_of(busy.read_all()), "the last");
  EXPECT_FALSE(busy.was_reset());
}

TEST_F(ServerTest, AnAnswerThatBeganBeforeTheStopEndsItsConnection) {
  open();
  RawClient client = this->client();
  client.send(get("/keep"));
  Exchange exchange = take_kept();
  exchange.start(200, {}, 4);
  exchange.write("ab");
  std::jthread stopping([&] { server_->stop(hours(1)); });
  exchange.write("cd");
  exchange.finish();
  EXPECT_EQ(body_of(client.read_reply()), "abcd");
  EXPECT_EQ(client.read_all(), "");
  client.close();
  stopping.join();
}

TEST_F(ServerTest, StoppingRefusesWhatHasNotComeCompletely) {
  for (const std::string_view part :
       {std::string_view("GET /prep"),
        std::string_view("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\na")}) {
    open();
    RawClient slow = client();
    slow.send(part);
    wait_until([&] { return server_->arriving() == 1; });
    std::jthread stopping([&] { server_->stop(hours(1)); });
    const std::string reply = slow.read_all();
    EXPECT_EQ(status_of(reply), 503) << part;
    EXPECT_NE(reply.find("Connection: close\r\n"), std::string::npos);
    slow.close();
    stopping.join();
  }
}

TEST_F(ServerTest, StoppingWithoutGraceCutsOff) {
  open();
  RawClient busy = client();
  busy.send(get("/keep"));
  Exchange exchange = take_kept();
  std::latch gone(1);
  exchange.on_disconnect([&] { gone.count_down(); });
  server_.reset();
  gone.wait();
  EXPECT_EQ(busy.read_all(), "");
  exchange.send(ServerReply{});
}

TEST_F(ServerTest, AddressesThatCannotBeListenedAtAreExplained) {
  open();
  const auto taken = Server::open(loop_, {.port = server_->port()}, {});
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().kind, ErrorKind::kConflict);
  const auto nowhere = Server::open(loop_, {.address = "nowhere"}, {});
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_EQ(nowhere.error().kind, ErrorKind::kInvalid);
}

TEST_F(ServerTest, ServesManyAtOnce) {
  open();
  constexpr int kClients = 300;
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < kClients; ++i)
    clients.push_back(std::make_unique<RawClient>(server_->port()));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kClients; ++i)
      clients[static_cast<size_t>(i)]->send(post("/echo", fmt::format("{}", i)));
    for (int i = 0; i < kClients; ++i)
      ASSERT_EQ(body_of(clients[static_cast<size_t>(i)]->read_reply()), fmt::format("{}", i));
  }
  EXPECT_EQ(server_->connections(), size_t{kClients});
}

}  // namespace
}  // namespace windrow::http
