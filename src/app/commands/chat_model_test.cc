#include "app/commands/chat_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <memory>
#include <string>

#include "base/clock.h"
#include "http/curl_client.h"
#include "http/loop.h"
#include "http/testing/test_server.h"
#include "llm/testing/scripted_backend.h"

namespace windrow::app {
namespace {

using http::testing::TestReply;
using http::testing::TestRequest;
using http::testing::TestServer;
using ::testing::HasSubstr;

boost::json::object question() {
  return boost::json::parse(R"({"model":"m","messages":[{"role":"user","content":"hello"}]})")
      .as_object();
}

class ServedChatModelTest : public ::testing::Test {
 protected:
  // Asks a server that replies so; the pieces go to text_ and reasoning_.
  Result<void> ask(TestReply reply, const std::string& key = "") {
    const TestServer server([&](const TestRequest& request) {
      asked_ = request;
      return reply;
    });
    const auto model = served_chat_model(*client_, server.url(), key);
    return model->answer(question(),
                         [this](const ChatPiece& piece) {
                           text_ += piece.text;
                           reasoning_ += piece.reasoning;
                         },
                         {});
  }

  SystemClock clock_;
  http::Loop loop_{clock_};
  std::unique_ptr<http::Client> client_ =
      std::make_unique<http::CurlClient>(loop_, http::ClientOptions{});
  TestRequest asked_;
  std::string text_;
  std::string reasoning_;
};

TEST_F(ServedChatModelTest, ReadsTextAndReasoningOfAStream) {
  const Result<void> answered = ask(
      {.body =
           "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
           "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n"
           "data: {\"choices\":[{\"delta\":{\"reasoning\":\", so\"}}]}\n\n"
           "data: {\"choices\":[{\"delta\":{\"content\":\"4\"}}],\"error\":null}\n\n"
           "data: {\"choices\":[{\"delta\":{\"content\":\"2\"},\"finish_reason\":\"stop\"}]}\n\n"
           "data: {\"choices\":[],\"usage\":{}}\n\n"
           "data: [DONE]\n\n"},
      "wr-1");
  ASSERT_TRUE(answered.has_value()) << answered.error().message;
  EXPECT_EQ(text_, "42");
  EXPECT_EQ(reasoning_, "hm, so");
  EXPECT_EQ(asked_.target, "/v1/chat/completions");
  EXPECT_EQ(asked_.headers.get("Authorization"), "Bearer wr-1");
  boost::json::object sent = question();
  sent["stream"] = true;
  EXPECT_EQ(boost::json::parse(asked_.body), sent);
}

TEST_F(ServedChatModelTest, AFailureInTheStreamKeepsWhatCameBefore) {
  const Result<void> answered =
      ask({.body = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
                   "data: {\"error\":{\"message\":\"out of memory\"}}\n\n"});
  EXPECT_EQ(text_, "a");
  EXPECT_EQ(answered.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(answered.error().message, "out of memory");
}

TEST_F(ServedChatModelTest, WhatTheServerRefusesIsSaidInItsWords) {
  const Error refused = ask({.status = 400, .body = R"({"error":{"message":"too long"}})"}).error();
  EXPECT_EQ(refused.kind, ErrorKind::kInvalid);
  EXPECT_THAT(refused.message, HasSubstr(": too long"));
  EXPECT_THAT(ask({.status = 401, .body = R"({"error":{"message":"no key"}})"}).error().message,
              HasSubstr(": no key; --api-key-env NAME names the variable"));
  EXPECT_EQ(ask({.status = 503, .body = ""}).error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(ask({.body = "data: hello\n\n"}).error().message, HasSubstr("not JSON"));
}

TEST(LocalChatModel, PassesOnPiecesAndFailures) {
  llm::testing::ScriptedBackend backend([](const llm::Request& request) -> llm::Outcome {
    if (request.model == "bad")
      return llm::Failure{.status = 400, .code = "x", .message = "cannot", .param = ""};
    llm::Answer answer;
    answer.choices = {{.text = "42"}};
    return answer;
  });
  dispatch::Dispatcher dispatcher(backend, {});
  const auto model = local_chat_model(dispatcher);
  EXPECT_TRUE(model->answer(question(), [](const ChatPiece&) {}, {}).has_value());
  boost::json::object bad = question();
  bad["model"] = "bad";
  EXPECT_EQ(model->answer(bad, [](const ChatPiece&) {}, {}).error().message, "cannot");
  bad["temprature"] = 1;
  EXPECT_EQ(model->answer(bad, [](const ChatPiece&) {}, {}).error().kind, ErrorKind::kInvalid);
}

}  // namespace
}  // namespace windrow::app
