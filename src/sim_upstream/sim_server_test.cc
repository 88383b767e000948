#include "sim_upstream/sim_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <thread>
#include <vector>

#include "http/testing/raw_client.h"
#include "sim_upstream/large_reply.h"

namespace windrow::sim_upstream {
namespace {

using http::testing::RawClient;
using std::chrono::microseconds;
using std::chrono::milliseconds;

std::string ask(std::string_view text) {
  const std::string body =
      fmt::format(R"({{"model":"m","messages":[{{"role":"user","content":"{}"}}]}})", text);
  return fmt::format(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", body.size(),
      body);
}

std::string answer_in(std::string_view body) {
  return std::string(
      boost::json::parse(body).at("choices").at(0).at("message").at("content").as_string());
}

std::string_view body_of(std::string_view reply) {
  return reply.substr(std::min(reply.find("\r\n\r\n") + 4, reply.size()));
}

class SimServerTest : public ::testing::Test {
 protected:
  void open(SimOptions sim = {}, bool instant = false) {
    sim.token_time = microseconds(10);
    sim.answer = AnswerKind::kEcho;
    Result<std::unique_ptr<SimServer>> opened =
        SimServer::open(loop_, {.sim = std::move(sim), .instant = instant});
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    server_ = *std::move(opened);
  }

  static SimOptions faulty(std::string_view fault) { return {.faults = {*parse_fault(fault)}}; }

  const SystemClock clock_;
  http::Loop loop_{clock_};
  std::unique_ptr<SimServer> server_;
};

TEST_F(SimServerTest, AnswersManyClientsEachItsOwn) {
  open();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 50; ++i)
    clients.push_back(std::make_unique<RawClient>(server_->port()));
  for (size_t i = 0; i < clients.size(); ++i) {
    // Two at once: the second waits for the first.
    clients[i]->send(ask(fmt::format("a{}", i)) + ask(fmt::format("b{}", i)));
  }
  for (size_t i = 0; i < clients.size(); ++i) {
    for (const char letter : {'a', 'b'}) {
      EXPECT_EQ(answer_in(body_of(clients[i]->read_reply())), fmt::format("{}{}", letter, i));
    }
  }
  EXPECT_EQ(server_->stats().answered.at(200), 100);
}

TEST_F(SimServerTest, WhatIsRefusedAtOnceHasItsHeaders) {
  open(faulty("429=1:10s"));
  RawClient client(server_->port());
  client.send(ask("a"));
  const std::string reply = client.read_reply();
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 429 Too Many Requests\r\n"));
  EXPECT_NE(reply.find("\r\nRetry-After: 10\r\n"), std::string::npos);
  client.send("GET /v1/nothing HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(boost::json::parse(body_of(client.read_reply())).at("error").at("message"),
            "there is nothing at /v1/nothing");
}

TEST_F(SimServerTest, AResetComesInTheMiddleOfTheBody) {
  open(faulty("reset=1"));
  RawClient client(server_->port());
  client.send(ask("a"));
  client.read_all();
  EXPECT_TRUE(client.was_reset());
}

TEST_F(SimServerTest, ASlowBodyArrivesWhole) {
  open(faulty("slow-body=1:40ms"));
  RawClient client(server_->port());
  client.send(ask("slow"));
  EXPECT_EQ(answer_in(body_of(client.read_reply())), "slow");
}

TEST_F(SimServerTest, AClientThatGivesUpFreesItsPlace) {
  SimOptions stalling = faulty("stall=1");
  open(stalling);
  RawClient client(server_->port());
  client.send(ask("a"));
  RawClient other(server_->port());
  other.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
  other.read_reply();
  client.close();
  while (server_->stats().left == 0) {
  }
  server_->stop(std::chrono::hours(1));
}

std::string ask_for_stream(std::string_view text) {
  const std::string body = fmt::format(
      R"({{"model":"m","messages":[{{"role":"user","content":"{}"}}],"stream":true}})", text);
  return fmt::format(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", body.size(),
      body);
}

TEST_F(SimServerTest, AStreamComesAsEventsAndTheConnectionGoesOn) {
  open();
  RawClient client(server_->port());
  for (const std::string_view text : {"one", "two"}) {
    client.send(ask_for_stream(text));
    const std::string reply = client.read_reply();
    EXPECT_NE(reply.find("\r\nContent-Type: text/event-stream\r\n"), std::string::npos);
    EXPECT_NE(reply.find(fmt::format(R"("content":"{}")", text.substr(0, 1))), std::string::npos);
    EXPECT_NE(reply.find("data: [DONE]\n\n\r\n0\r\n\r\n"), std::string::npos);
  }
  EXPECT_EQ(server_->stats().answered.at(200), 2);
}

TEST_F(SimServerTest, AStreamIsResetInTheMiddle) {
  open(faulty("reset=1"));
  RawClient client(server_->port());
  client.send(ask_for_stream("some text"));
  const std::string all = client.read_all();
  EXPECT_TRUE(client.was_reset());
  EXPECT_EQ(all.find("[DONE]"), std::string::npos);
}

TEST_F(SimServerTest, AStreamThatIsHeldBackArrivesWhole) {
  open(faulty("slow-body=1:40ms"));
  RawClient client(server_->port());
  client.send(ask_for_stream("slow"));
  EXPECT_TRUE(client.read_reply().ends_with("data: [DONE]\n\n"));
}

TEST_F(SimServerTest, AClientThatLeavesInAStreamFreesItsSlot) {
  SimOptions stalling = faulty("stall=1");
  stalling.slots = 1;
  open(stalling);
  {
    RawClient client(server_->port());
    client.send(ask_for_stream("a"));
    while (server_->stats().requests == 0) {
    }
  }
  while (server_->stats().left == 0) {
  }
  server_->stop(std::chrono::hours(1));
  EXPECT_EQ(server_->stats().answered.size(), 0U);
}

// A real-sized conversation: 20,000 rows of 58 layers with 8 experts make 49 MB.
std::string ask_for_rows(std::string_view more) {
  std::string ids = "1";
  for (int i = 2; i <= 20'000; ++i)
    ids += fmt::format(",{}", i);
  const std::string body = fmt::format(
      R"({{"input_ids":[{}],"sampling_params":{{"max_new_tokens":8}},"return_logprob":true,)"
      R"("return_routed_experts":true{}}})",
      ids, more);
  return fmt::format("POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}",
                     body.size(), body);
}

SimOptions with_rows() {
  SimOptions sim{.context_tokens = 30'000, .prompt_token_time = {}, .answer_spread = 0};
  sim.tokens.routing_layers = 58;
  return sim;
}

TEST_F(SimServerTest, RowsOfALongConversationAreMadeWhileTheyAreSent) {
  open(with_rows());
  RawClient client(server_->port());
  constexpr size_t kRowsText = (size_t{20'007} * 58 * 8 * 4 + 2) / 3 * 4;
  client.send(ask_for_rows(""));
  const std::string whole = client.read_reply();
  EXPECT_GT(body_of(whole).size(), kRowsText);
  const boost::json::value reply = boost::json::parse(body_of(whole));
  const boost::json::string& rows = reply.at("meta_info").at("routed_experts").as_string();
  EXPECT_EQ(rows.size(), kRowsText);

  // The same in the last event of a stream, on the same connection.
  client.send(ask_for_rows(R"(,"stream":true)"));
  const std::string stream = client.read_reply();
  EXPECT_NE(stream.find("data: [DONE]\n\n"), std::string::npos);
  EXPECT_GT(stream.size(), kRowsText);
  EXPECT_EQ(server_->stats().answered.at(200), 2);
}

TEST_F(SimServerTest, AReplyWithRowsIsResetInTheMiddle) {
  SimOptions sim = with_rows();
  sim.faults = {*parse_fault("reset=1")};
  open(sim);
  RawClient client(server_->port());
  client.send(ask_for_rows(""));
  EXPECT_GT(client.read_all().size(), size_t{10'000'000});
  EXPECT_TRUE(client.was_reset());
}

TEST_F(SimServerTest, AClientMayLeaveAReplyWithRows) {
  open(with_rows());
  {
    RawClient client(server_->port());
    client.send(ask_for_rows(""));
    EXPECT_FALSE(client.read_some().empty());
  }
  RawClient other(server_->port());
  other.send(ask("b"));
  EXPECT_EQ(answer_in(body_of(other.read_reply())), "b");
}

TEST_F(SimServerTest, InstantRepliesAreAllTheSame) {
  open({}, true);
  RawClient client(server_->port());
  client.send(ask("a"));
  const std::string first = client.read_reply();
  EXPECT_EQ(boost::json::parse(body_of(first)).at("object"), "chat.completion");
  client.send(ask("b"));
  EXPECT_EQ(body_of(client.read_reply()), body_of(first));
  EXPECT_EQ(server_->stats().requests, 2);
}

TEST_F(SimServerTest, StoppingLetsAnswersOut) {
  open({.request_time = milliseconds(50)});
  RawClient client(server_->port());
  client.send(ask("a"));
  while (server_->stats().requests == 0) {
  }
  const std::jthread stopping([&] { server_->stop(std::chrono::hours(1)); });
  EXPECT_TRUE(client.read_reply().starts_with("HTTP/1.1 200"));
  client.close();
}

TEST_F(SimServerTest, SendsRepliesOfAnyLengthAndForgetsClientsThatLeave) {
  open();
  RawClient client(server_->port());
  constexpr size_t kBytes = 3'000'001;
  client.send(fmt::format("GET /bytes/{} HTTP/1.1\r\nHost: x\r\n\r\n", kBytes));
  const std::string reply = client.read_reply();
  const std::string_view body = body_of(reply);
  ASSERT_EQ(body.size(), kBytes);
  EXPECT_EQ(body.substr(0, 28), "abcdefghijklmnopqrstuvwxyzab");
  for (size_t i = 0; i < body.size(); ++i)
    ASSERT_EQ(body[i], large_reply_byte(i)) << i;
  client.send("GET /bytes/0 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(body_of(client.read_reply()).empty());
  client.send("GET /bytes/many HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.read_reply(), ::testing::HasSubstr("/bytes/many is no number of bytes"));
  {
    RawClient leaves(server_->port());
    leaves.send("GET /bytes/1000000000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_FALSE(leaves.read_some().empty());
  }
  // In the middle of another one, which the end of the server breaks off.
  client.send("GET /bytes/1000000000000 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_FALSE(client.read_some().empty());
  server_.reset();
}

}  // namespace
}  // namespace windrow::sim_upstream
