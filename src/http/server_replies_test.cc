// What replies have in common: headers, errors, methods that every path knows.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <string>

#include "base/random.h"
#include "http/server.h"
#include "http/server_replies.h"
#include "http/testing/raw_client.h"
#include "http/testing/server_rig.h"

namespace windrow::http {
namespace {

using testing::body_of;
using testing::get;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::post;
using testing::RawClient;
using testing::status_of;

TEST(HttpDate, TheExampleOfTheStandard) {
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(HttpDate, IsReadAsTheSameTime) {
  constexpr uint64_t kSeed = 5;
  Random random(kSeed);
  for (int i = 0; i < 1000; ++i) {
    const int64_t time = random.between(0, 250'000'000'000);
    std::tm parts{};
    const std::string date = http_date(time);
    const char* end = strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    ASSERT_NE(end, nullptr) << date;
    EXPECT_EQ(*end, 0) << date;
    EXPECT_EQ(timegm(&parts), time) << date << ", seed " << kSeed;
  }
}

TEST(ReplyHead, HasTheStatusTheHeadersAndTheLength) {
  EXPECT_EQ(reply_head(200, "text/plain", {{"X", "1"}, {"Y", "2"}}, 5),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX: 1\r\nY: 2\r\nContent-Length: 5\r\n");
  EXPECT_EQ(reply_head(204, "", {}, 0), "HTTP/1.1 204 No Content\r\n");
  EXPECT_EQ(reply_head(200, "", {}, std::nullopt), "HTTP/1.1 200 OK\r\n");
}

TEST(ReplyHead, AHeaderThatWouldBeginAnotherMakesItA500) {
  EXPECT_EQ(reply_head(200, "", {{"X", "a\r\nY: b"}}, 0),
            "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n");
  EXPECT_FALSE(are_writable({{"X ", "a"}}));
}

TEST(ReplyHead, WhatAClientSentIsShownWithoutHarm) {
  EXPECT_EQ(shown("/v1/chat"), "/v1/chat");
  EXPECT_EQ(shown("/\xff\x80\r\n"), "/????");
  EXPECT_EQ(shown(std::string(300, 'a')), std::string(200, 'a') + "...");
}

class ServerRepliesTest : public testing::ServerRig {
 protected:
  std::string ask(std::string_view request) {
    RawClient client = this->client();
    client.send(request);
    return client.read_reply();
  }
};

TEST_F(ServerRepliesTest, AClientsAddressIsKnown) {
  open();
  EXPECT_EQ(body_of(ask(get("/peer"))), "127.0.0.1");
}

TEST_F(ServerRepliesTest, CommonHeadersAreOnEveryReply) {
  open({.request = {.head_bytes_max = 300},
        .headers_of_all = {{"Server", "windrow"}},
        .more_headers = [](const Headers& request, Headers& reply) {
          if (request.get("Origin") == "https://a.example")
            reply.add("Access-Control-Allow-Origin", "https://a.example");
        }});
  const std::string origin = "Origin: https://a.example\r\n";
  for (const std::string& request :
       {get("/prepared", origin), get("/pieces", origin), get("/nothing", origin),
        post("/prepared", "", origin), get("/throw", origin),
        get("/prepared", origin + "X: " + std::string(300, 'x') + "\r\n")}) {
    const std::string reply = ask(request);
    EXPECT_THAT(reply, HasSubstr("\r\nServer: windrow\r\n")) << request;
    EXPECT_THAT(reply, HasSubstr("\r\nAccess-Control-Allow-Origin: https://a.example\r\n"));
  }
  const std::string other = ask(get("/prepared", "Origin: https://b.example\r\n"));
  EXPECT_THAT(other, HasSubstr("\r\nServer: windrow\r\n"));
  EXPECT_THAT(other, Not(HasSubstr("Access-Control")));
}

TEST_F(ServerRepliesTest, CommonHeadersThatCannotStandInAMessageAreRefused) {
  const auto server = Server::open(loop_, {.headers_of_all = {{"X", "a\nb"}}}, {});
  ASSERT_FALSE(server.has_value());
  EXPECT_EQ(server.error().kind, ErrorKind::kInvalid);
  open({.more_headers = [](const Headers&, Headers& reply) { reply.add("X", "a\r\nY: b"); }});
  EXPECT_THAT(ask(get("/prepared")), Not(HasSubstr("Y: b")));
}

TEST_F(ServerRepliesTest, OptionsHaveAHandlerForEveryPath) {
  open({.on_options = [](const ServerRequest& request, Exchange exchange) {
    exchange.send({.status = 204, .headers = {{"X-Path", request.path}}});
  }});
  RawClient client = this->client();
  for (const char* path : {"/echo", "/nothing", "*"}) {
    client.send(fmt::format("OPTIONS {} HTTP/1.1\r\nHost: x\r\n\r\n", path));
    const std::string reply = client.read_reply();
    EXPECT_EQ(status_of(reply), 204);
    EXPECT_THAT(reply, HasSubstr(fmt::format("\r\nX-Path: {}\r\n", path)));
  }
}

TEST_F(ServerRepliesTest, WithoutOneOptionsAreAMethodLikeOthers) {
  open();
  EXPECT_EQ(status_of(ask("OPTIONS /echo HTTP/1.1\r\nHost: x\r\n\r\n")), 405);
  EXPECT_EQ(status_of(ask("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")), 404);
}

TEST_F(ServerRepliesTest, ErrorsAreMadeByTheirOwnerAndKeepTheConnection) {
  std::vector<std::string> told;
  open({.make_error = [&](const Refusal& refusal) {
    told.push_back(fmt::format("{} {} {} Host {}", refusal.method, refusal.path, refusal.peer,
                               refusal.headers.get("Host").value_or("none")));
    return ServerReply{.status = refusal.status, .body = fmt::format("{{{}}}", refusal.message)};
  }});
  RawClient client = this->client();
  client.send(get("/nothing\x80here"));
  const std::string nothing = client.read_reply();
  EXPECT_EQ(status_of(nothing), 404);
  EXPECT_EQ(body_of(nothing), "{there is nothing at /nothing?here}");
  client.send("DELETE /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
  const std::string wrong = client.read_reply();
  EXPECT_EQ(status_of(wrong), 405);
  EXPECT_EQ(body_of(wrong), "{/echo takes POST, not DELETE}");
  EXPECT_THAT(wrong, HasSubstr("\r\nAllow: POST\r\n"));
  client.send(post("/prepared", "abc"));
  EXPECT_THAT(client.read_reply(), HasSubstr("\r\nAllow: GET, HEAD\r\n"));
  EXPECT_EQ(told.back(), "POST /prepared 127.0.0.1 Host x");
  client.send("HEAD /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
  client.send(get("/prepared"));
  const std::string both = client.read_some();
  EXPECT_EQ(status_of(both), 404);  // and no body, which would stand before the next
  client.send(get("/throw", "Connection: close\r\n"));
  const std::string rest = client.read_all();
  EXPECT_THAT(both + rest, HasSubstr("\r\n\r\nHTTP/1.1 200 OK\r\n"));
}

}  // namespace
}  // namespace windrow::http
