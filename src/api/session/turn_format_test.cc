#include "api/session/turn_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <variant>

namespace windrow::api {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

std::string events_of(std::string_view body) {
  const auto events = as_two_events(body);
  const auto* failure = std::get_if<llm::Failure>(&events);
  return failure != nullptr ? failure->message : std::get<std::string>(events);
}

TEST(TwoEvents, HaveTheWholeAnswerInOneChunk) {
  EXPECT_EQ(
      events_of(
          R"({"id":"chatcmpl-1","object":"chat.completion","created":7,"model":"m",)"
          R"("choices":[{"index":0,"message":{"role":"assistant","content":"Zo\u00eb"},)"
          R"("logprobs":null,"finish_reason":"stop",)"
          R"("meta_info":{"output_token_logprobs":[[-0.5,1]]}}],"usage":{"total_tokens":3.50}})"),
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m",)"
      R"("choices":[{"index":0,"delta":{"role":"assistant","content":"Zo\u00eb"},)"
      R"("finish_reason":"stop"}],"usage":{"total_tokens":3.50}})"
      "\n\ndata: [DONE]\n\n");
}

TEST(TwoEvents, LeaveOutWhatTheAnswerLacks) {
  for (const std::string calls : {"[]", "null"}) {
    EXPECT_EQ(events_of(R"({"choices":[{"message":{"content":"","reasoning_content":null,)"
                        R"("tool_calls":)" +
                        calls + R"(}}],"usage":null})"),
              R"(data: {"id":null,"object":"chat.completion.chunk","created":null,"model":null,)"
              R"("choices":[{"index":0,"delta":{"role":"assistant","content":""},)"
              R"("finish_reason":null}]})"
              "\n\ndata: [DONE]\n\n");
  }
}

TEST(TwoEvents, GiveEachToolCallItsIndexWhereItStood) {
  EXPECT_THAT(
      events_of(R"({"choices":[{"message":{"role":"assistant","content":null,)"
                R"("reasoning_content":"hm","tool_calls":[{"id":"a","type":"function"},)"
                R"({"index":5,"id":"b"}]},"finish_reason":"tool_calls"}]})"),
      HasSubstr(R"({"role":"assistant","content":null,"reasoning_content":"hm",)"
                R"("tool_calls":[{"id":"a","type":"function","index":0},{"index":1,"id":"b"}]})"));
}

TEST(TwoEvents, AreNotMadeOfWhatIsNoAnswer) {
  EXPECT_THAT(events_of(R"({"choices":[]})"), HasSubstr("choices[0].message"));
  EXPECT_THAT(events_of(R"({"choices":[{"message":null}]})"), HasSubstr("without a message"));
  EXPECT_THAT(events_of(R"({"error":"x"})"), HasSubstr("no choices"));
}

constexpr std::string_view kCompletion =
    R"({"id":"chatcmpl-abc","object":"chat.completion","created":7,"model":"m",)"
    R"("choices":[{"index":0,"message":{"role":"assistant","content":"hello"},)"
    R"("finish_reason":"length"}],)"
    R"("usage":{"prompt_tokens":4,"completion_tokens":2,"total_tokens":6}})";

session::TurnResult completion(bool wants_stream = false) {
  return {.body = std::string(kCompletion),
          .wants_stream = wants_stream,
          .usage = {.prompt_tokens = 4, .completion_tokens = 2}};
}

TEST(ChatTurnFormat, PassesBodiesOnAsTheyAre) {
  ChatTurnFormat format;
  EXPECT_EQ(std::get<std::string>(format.translate("{ not json")), "{ not json");
  const http::ServerReply reply = format.reply(completion());
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, kCompletion);
  EXPECT_EQ(reply.content_type, "application/json");
}

TEST(ChatTurnFormat, WritesTwoEventsWhereAStreamWasAskedFor) {
  const http::ServerReply reply = ChatTurnFormat().reply(completion(true));
  EXPECT_EQ(reply.content_type, "text/event-stream; charset=utf-8");
  EXPECT_EQ(reply.headers.get("Cache-Control"), "no-cache");
  EXPECT_EQ(reply.headers.get("X-Accel-Buffering"), "no");
  EXPECT_EQ(reply.body, events_of(kCompletion));
}

TEST(ChatTurnFormat, WritesErrorsAsOneText) {
  const http::ServerReply reply = ChatTurnFormat().error(
      {.status = 404, .code = "session_not_found", .message = "session not found: session_id=a"});
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.body, R"({"error":"session not found: session_id=a"})");
}

TEST(ChatTurnFormat, PassesRepliesOnByteForByte) {
  const http::ServerReply reply = ChatTurnFormat().passed(
      {.status = 418, .content_type = "text/plain; charset=latin1", .body = "te\xe4"});
  EXPECT_EQ(reply.status, 418);
  EXPECT_EQ(reply.body, "te\xe4");
  EXPECT_EQ(reply.content_type, "");
  EXPECT_EQ(reply.headers.get("Content-Type"), "text/plain; charset=latin1");
}

TEST(MessagesTurnFormat, TranslatesTheBodyToAChat) {
  MessagesTurnFormat format("req_1");
  auto made = format.translate(R"({"model":"m","max_tokens":9,"system":"be brief","stream":true,)"
                               R"("messages":[{"role":"user","content":"hi"}]})");
  ASSERT_TRUE(std::holds_alternative<std::string>(made)) << std::get<llm::Failure>(made).message;
  const json::value chat = json::parse(std::get<std::string>(made));
  EXPECT_EQ(chat.at("messages").as_array().size(), 2U);
  EXPECT_EQ(chat.at("messages").at(0).at("role"), "system");
  EXPECT_EQ(chat.at("stream"), true);

  auto refused = format.translate(R"({"model":"m","messages":[]})");
  ASSERT_TRUE(std::holds_alternative<llm::Failure>(refused));
  const json::value error = json::parse(format.error(std::get<llm::Failure>(refused)).body);
  EXPECT_EQ(error.at("type"), "error");
  EXPECT_EQ(error.at("request_id"), "req_1");
}

TEST(MessagesTurnFormat, TranslatesTheAnswerBack) {
  const MessagesTurnFormat format("req_1");
  const json::value message = json::parse(format.reply(completion()).body);
  EXPECT_EQ(message.at("id"), "msg_abc");
  EXPECT_EQ(message.at("model"), "m");
  EXPECT_EQ(message.at("content").at(0).at("text"), "hello");
  EXPECT_EQ(message.at("stop_reason"), "max_tokens");
  EXPECT_EQ(message.at("usage").at("output_tokens"), 2);

  const http::ServerReply events = format.reply(completion(true));
  EXPECT_THAT(events.body, HasSubstr("event: message_start"));
  EXPECT_THAT(events.body, HasSubstr(R"("text":"hello")"));
  EXPECT_THAT(events.body, HasSubstr("event: message_stop"));
}

TEST(MessagesTurnFormat, WritesAServersErrorInItsOwnShape) {
  const MessagesTurnFormat format("req_1");
  const auto error_of = [&](std::string body) {
    const http::ServerReply reply =
        format.passed({.status = 400, .content_type = "application/json", .body = std::move(body)});
    EXPECT_EQ(reply.status, 400);
    const json::value error = json::parse(reply.body);
    EXPECT_EQ(error.at("error").at("type"), "invalid_request_error");
    return std::string(error.at("error").at("message").as_string());
  };
  EXPECT_EQ(error_of(R"({"error":{"message":"too long"}})"), "too long");
  EXPECT_EQ(error_of(R"({"error":"too long"})"), "too long");
  EXPECT_EQ(error_of(R"({"object":"error","message":"too long"})"), "too long");
  EXPECT_EQ(error_of("no json"), "no json");
}

}  // namespace
}  // namespace windrow::api
