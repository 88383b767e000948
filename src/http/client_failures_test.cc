// Failures of a Client's calls, against a real server that misbehaves as it is asked to.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <vector>

#include "http/client.h"
#include "http/curl_client.h"
#include "http/testing/call_rig.h"
#include "http/testing/test_server.h"

namespace windrow::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using testing::call;
using testing::closed_port;
using testing::DeafPort;
using testing::failure_of;
using testing::get_from;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::PendingCall;
using testing::reply_of;
using testing::TestReply;
using testing::TestRequest;
using testing::TestServer;
using testing::text_of_bytes;

class ClientFailuresTest : public ::testing::Test {
 protected:
  Client& client() { return *client_; }

 private:
  SystemClock clock_;
  Loop loop_{clock_};
  std::unique_ptr<Client> client_ = std::make_unique<CurlClient>(loop_, ClientOptions{});
};

TEST_F(ClientFailuresTest, NothingListens) {
  const uint16_t port = closed_port();
  const ClientFailure failure =
      failure_of(call(client(), get_from({.host = "127.0.0.1", .port = port})));
  EXPECT_EQ(failure.kind, FailureKind::kConnect);
  EXPECT_FALSE(failure.sent);
  EXPECT_THAT(failure.message,
              AllOf(HasSubstr("http://127.0.0.1:" + std::to_string(port)),
                    HasSubstr("nothing listens there"), HasSubstr("start the server")));
}

TEST_F(ClientFailuresTest, ManyAtOnceAreAllToldThatNothingListens) {
  const Url url{.host = "localhost", .port = closed_port()};
  std::vector<std::unique_ptr<PendingCall>> pending;
  for (int i = 0; i < 50; ++i)
    pending.push_back(std::make_unique<PendingCall>(client(), get_from(url)));
  for (const std::unique_ptr<PendingCall>& one : pending) {
    const ClientFailure failure = failure_of(one->result());
    EXPECT_EQ(failure.kind, FailureKind::kConnect) << failure.message;
    EXPECT_THAT(failure.message, HasSubstr("nothing listens there"));
  }
}

TEST_F(ClientFailuresTest, ANameWithoutAnAddress) {
  // No name server is asked: a label has at most 63 letters.
  const std::string host = std::string(64, 'a') + ".invalid";
  const ClientFailure failure = failure_of(call(client(), get_from({.host = host})));
  EXPECT_EQ(failure.kind, FailureKind::kResolve);
  EXPECT_FALSE(failure.sent);
  EXPECT_THAT(failure.message, AllOf(HasSubstr(host), HasSubstr("check how the name is written")));
}

TEST_F(ClientFailuresTest, AConnectionWithoutAnAnswer) {
  const DeafPort deaf;
  ClientRequest request = get_from({.host = "127.0.0.1", .port = deaf.port()});
  request.limits.connect = milliseconds(30);
  const ClientFailure failure = failure_of(call(client(), std::move(request)));
  EXPECT_EQ(failure.kind, FailureKind::kTimeout);
  EXPECT_FALSE(failure.sent);
  EXPECT_THAT(failure.message, HasSubstr("no connection within"));
}

TEST_F(ClientFailuresTest, AServerThatNeverAnswersMeetsTheTotalLimit) {
  TestServer server(
      [](const TestRequest&) { return TestReply{.bytes_max = 0, .end = TestReply::End::kStall}; });
  ClientRequest request = get_from(server.url());
  request.limits.total = milliseconds(300);
  const ClientFailure failure = failure_of(call(client(), std::move(request)));
  EXPECT_EQ(failure.kind, FailureKind::kTimeout);
  EXPECT_TRUE(failure.sent);
  EXPECT_THAT(failure.message, HasSubstr("no reply within"));
}

TEST_F(ClientFailuresTest, AReplyThatStandsStillMeetsTheIdleLimit) {
  TestServer server([](const TestRequest&) {
    return TestReply{.body = text_of_bytes(1000), .bytes_max = 500, .end = TestReply::End::kStall};
  });
  ClientRequest request = get_from(server.url());
  request.limits.idle = milliseconds(300);
  request.limits.total = seconds(60);
  const ClientFailure failure = failure_of(call(client(), std::move(request)));
  EXPECT_EQ(failure.kind, FailureKind::kTimeout);
  EXPECT_THAT(failure.message, HasSubstr("the reply stood still"));
}

TEST_F(ClientFailuresTest, ASlowReplyIsNotAnIdleOne) {
  // A hundred pieces 10 ms apart are longer than the limit together, and none is alone.
  TestServer server([](const TestRequest&) {
    return TestReply{.body = text_of_bytes(1000), .piece_bytes = 10, .piece_gap = milliseconds(10)};
  });
  ClientRequest request = get_from(server.url());
  request.limits.idle = milliseconds(900);
  EXPECT_EQ(reply_of(call(client(), std::move(request))).body, text_of_bytes(1000));
}

TEST_F(ClientFailuresTest, ASlowReplyMeetsTheTotalLimit) {
  TestServer server([](const TestRequest&) {
    return TestReply{
        .body = text_of_bytes(100'000), .piece_bytes = 100, .piece_gap = milliseconds(5)};
  });
  ClientRequest request = get_from(server.url());
  request.limits.idle = seconds(5);
  request.limits.total = milliseconds(500);
  const ClientFailure failure = failure_of(call(client(), std::move(request)));
  EXPECT_EQ(failure.kind, FailureKind::kTimeout);
  EXPECT_THAT(failure.message, HasSubstr("the reply did not end within"));
}

TEST_F(ClientFailuresTest, AConnectionThatEndsBeforeTheReplyDid) {
  TestServer server([](const TestRequest& request) {
    TestReply reply{.body = text_of_bytes(1000), .framing = TestReply::Framing::kLength};
    reply.bytes_max = request.target.find("none") != std::string::npos   ? 0
                      : request.target.find("head") != std::string::npos ? 30
                                                                         : 500;
    if (request.target.find("chunked") != std::string::npos)
      reply.framing = TestReply::Framing::kChunked;
    reply.end = request.target.find("reset") == std::string::npos ? TestReply::End::kClose
                                                                  : TestReply::End::kReset;
    return reply;
  });
  for (const std::string target : {"/close", "/reset", "/close-chunked", "/reset-chunked",
                                   "/close-none", "/reset-none", "/close-head", "/reset-head"}) {
    SCOPED_TRACE(target);
    const ClientFailure failure = failure_of(call(client(), get_from(server.url(target))));
    EXPECT_EQ(failure.kind, FailureKind::kReset);
    EXPECT_TRUE(failure.sent);
    EXPECT_THAT(failure.message, HasSubstr("look at its log"));
  }
}

TEST_F(ClientFailuresTest, ABodyAboveTheLimitIsNotTaken) {
  TestServer server([](const TestRequest& request) {
    return TestReply{.body = text_of_bytes(1001),
                     .framing = request.target == "/c"   ? TestReply::Framing::kChunked
                                : request.target == "/e" ? TestReply::Framing::kClose
                                                         : TestReply::Framing::kLength};
  });
  for (const std::string target : {"/l", "/c", "/e"}) {
    SCOPED_TRACE(target);
    ClientRequest request = get_from(server.url(target));
    request.limits.reply_bytes_max = 1001;
    EXPECT_EQ(reply_of(call(client(), request)).body.size(), 1001U);
    request.limits.reply_bytes_max = 1000;
    const ClientFailure failure = failure_of(call(client(), request));
    EXPECT_EQ(failure.kind, FailureKind::kTooLarge);
    EXPECT_THAT(failure.message, HasSubstr("larger than 1000 B"));
  }
}

TEST_F(ClientFailuresTest, AHeaderWithoutEndIsNotTaken) {
  TestServer server([](const TestRequest&) {
    std::string text = "HTTP/1.1 200 OK\r\n";
    for (int i = 0; i < 6000; ++i)
      text += "X-" + std::to_string(i) + ": " + std::string(80, 'x') + "\r\n";
    return TestReply{
        .body = text, .framing = TestReply::Framing::kRaw, .end = TestReply::End::kStall};
  });
  const ClientFailure failure = failure_of(call(client(), get_from(server.url())));
  EXPECT_EQ(failure.kind, FailureKind::kTooLarge);
  EXPECT_THAT(failure.message, HasSubstr("header"));
}

TEST_F(ClientFailuresTest, WhatIsNotHttpIsSaidToBeNone) {
  TestServer server([](const TestRequest&) {
    return TestReply{.body = "SSH-2.0-OpenSSH_9.2\r\n\r\n\r\n",
                     .framing = TestReply::Framing::kRaw,
                     .end = TestReply::End::kClose};
  });
  const ClientFailure failure = failure_of(call(client(), get_from(server.url())));
  EXPECT_EQ(failure.kind, FailureKind::kProtocol);
  EXPECT_THAT(failure.message, AllOf(HasSubstr("not HTTP"), HasSubstr("https://")));
}

TEST_F(ClientFailuresTest, AHeaderWithALineEndIsNotSent) {
  TestServer server([](const TestRequest&) { return TestReply{}; });
  ClientRequest request = get_from(server.url());
  request.headers.add("Authorization", "Bearer secret\r\nX-Evil: 1");
  const ClientFailure failure = failure_of(call(client(), std::move(request)));
  EXPECT_EQ(failure.kind, FailureKind::kProtocol);
  EXPECT_FALSE(failure.sent);
  EXPECT_THAT(failure.message, AllOf(HasSubstr("Authorization"), Not(HasSubstr("secret"))));
  EXPECT_EQ(server.requests(), 0);
}

}  // namespace
}  // namespace windrow::http
