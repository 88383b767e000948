#include "app/commands/session_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "http/curl_client.h"
#include "http/loop.h"
#include "http/testing/test_server.h"

namespace windrow::app {
namespace {

using http::testing::TestReply;
using http::testing::TestRequest;
using http::testing::TestServer;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SessionClientTest : public ::testing::Test {
 protected:
  SessionClient client_of(const TestServer& server, const std::string& key = "") {
    return {*client_, server.url(), key};
  }

  // The error of one question that is answered so.
  Error error_of(int32_t status, const std::string& body) {
    const TestServer server(
        [&](const TestRequest&) { return TestReply{.status = status, .body = body}; });
    const Result<std::string> answer = client_of(server).ask({.target = "/sessions"}, {});
    return answer ? Error{ErrorKind::kIo, "no error: " + *answer} : answer.error();
  }

  SystemClock clock_;
  http::Loop loop_{clock_};
  std::unique_ptr<http::Client> client_ =
      std::make_unique<http::CurlClient>(loop_, http::ClientOptions{});
};

TEST_F(SessionClientTest, AsksWithTheKeyAndReturnsTheBody) {
  TestRequest asked;
  const TestServer server([&](const TestRequest& request) {
    asked = request;
    return TestReply{.body = "the answer"};
  });
  const SessionClient client = client_of(server, "wr-1");
  EXPECT_EQ(*client.ask({.target = "/sessions/a?records=none"}, {}), "the answer");
  EXPECT_EQ(asked.method, "GET");
  EXPECT_EQ(asked.target, "/sessions/a?records=none");
  EXPECT_EQ(asked.headers.get("Authorization"), "Bearer wr-1");
  EXPECT_EQ(*client.ask({.method = http::Method::kPost, .target = "/x", .body = "{\"a\":1}"}, {}),
            "the answer");
  EXPECT_EQ(asked.method, "POST");
  EXPECT_EQ(asked.body, "{\"a\":1}");
  EXPECT_EQ(asked.headers.get("Content-Type"), "application/json");
}

TEST_F(SessionClientTest, WhatTheServerRefusesIsSaidInItsWords) {
  const Error gone = error_of(410, R"({"error":"session expired: session_id=a"})");
  EXPECT_EQ(gone.kind, ErrorKind::kInvalid);
  EXPECT_THAT(gone.message, HasSubstr(": session expired: session_id=a"));
  const Error key = error_of(401, R"({"error":{"message":"there is no key","code":"x"}})");
  EXPECT_EQ(key.kind, ErrorKind::kInvalid);
  EXPECT_THAT(key.message,
              HasSubstr(": there is no key; --api-key-env NAME names the variable that holds"));
  EXPECT_THAT(error_of(422, "turn 3 has no log-probabilities\n").message,
              HasSubstr(": turn 3 has no log-probabilities"));
  EXPECT_THAT(error_of(404, "<html>nginx</html>").message,
              HasSubstr(": status 404; is it a Windrow server, and does it have this?"));
  EXPECT_EQ(error_of(503, R"({"error":"stopping"})").kind, ErrorKind::kUnavailable);
}

TEST_F(SessionClientTest, WhereNoServerIsTheUrlIsNamed) {
  const http::Url nowhere{.host = "127.0.0.1", .port = http::testing::closed_port()};
  const SessionClient client(*client_, nowhere, "");
  const Result<std::string> answer = client.ask({.target = "/sessions"}, {});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(answer.error().message, HasSubstr("; --url names another server"));
}

TEST_F(SessionClientTest, ADownloadComesInPiecesAndIsWhole) {
  const std::string body(3'000'000, 's');
  const TestServer server([&](const TestRequest&) {
    return TestReply{.body = body, .framing = TestReply::Framing::kChunked, .chunk_bytes = 50'000};
  });
  std::string got;
  size_t longest = 0;
  const Result<void> done = client_of(server).download({.target = "/sessions/a/samples"},
                                                       [&](std::string_view piece) -> Result<void> {
                                                         got += piece;
                                                         longest = std::max(longest, piece.size());
                                                         return {};
                                                       },
                                                       {});
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(got, body);
  EXPECT_LT(longest, body.size());
}

TEST_F(SessionClientTest, ADownloadThatBreaksOffIsAnError) {
  for (const auto framing : {TestReply::Framing::kChunked, TestReply::Framing::kLength}) {
    const TestServer server([&](const TestRequest&) {
      return TestReply{.body = std::string(100'000, 's'),
                       .framing = framing,
                       .bytes_max = 40'000,
                       .end = TestReply::End::kClose};
    });
    const Result<void> done = client_of(server).download(
        {.target = "/s"}, [](std::string_view) -> Result<void> { return {}; }, {});
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().kind, ErrorKind::kUnavailable);
  }
}

TEST_F(SessionClientTest, ADownloadEndsWithTheErrorOfItsTaker) {
  const TestServer server(
      [&](const TestRequest&) { return TestReply{.body = std::string(1'000'000, 's')}; });
  const Result<void> done = client_of(server).download(
      {.target = "/s"},
      [](std::string_view) -> Result<void> { return Error{ErrorKind::kDiskFull, "no space"}; }, {});
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error(), (Error{ErrorKind::kDiskFull, "no space"}));
}

TEST_F(SessionClientTest, WhatIsRefusedIsNotTaken) {
  const TestServer server(
      [&](const TestRequest&) { return TestReply{.status = 422, .body = "turn 3 is cut"}; });
  const Result<void> done = client_of(server).download({.target = "/s"},
                                                       [](std::string_view piece) -> Result<void> {
                                                         ADD_FAILURE() << piece;
                                                         return {};
                                                       },
                                                       {});
  ASSERT_FALSE(done.has_value());
  EXPECT_THAT(done.error().message, HasSubstr(": turn 3 is cut"));
}

TEST_F(SessionClientTest, AStopEndsACallThatIsNotAnswered) {
  std::stop_source stop;
  const TestServer server([&](const TestRequest&) {
    stop.request_stop();
    return TestReply{.bytes_max = 0, .end = TestReply::End::kStall};
  });
  EXPECT_FALSE(client_of(server).ask({.target = "/sessions"}, stop.get_token()).has_value());
}

TEST(ErrorTextIn, TakesWhatThereIs) {
  EXPECT_EQ(error_text_in(R"({"error":"one"})"), "one");
  EXPECT_EQ(error_text_in(R"({"error":{"message":"two"}})"), "two");
  EXPECT_EQ(error_text_in("three\r\n"), "three");
  EXPECT_EQ(error_text_in("<!doctype html><p>404"), "");
  EXPECT_EQ(error_text_in(R"({"ok":true})"), "");
  EXPECT_EQ(error_text_in(""), "");
  EXPECT_THAT(error_text_in(std::string(5000, 'x')), StartsWith("xxx"));
  EXPECT_LT(error_text_in(std::string(5000, 'x')).size(), 1000U);
}

}  // namespace
}  // namespace windrow::app
