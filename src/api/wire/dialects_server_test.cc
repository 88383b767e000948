// /v1/responses and /v1/messages over a real port: what comes in, goes out, streams and fails.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/testing/events.h"
#include "api/testing/server_rig.h"
#include "base/crypto.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using http::testing::RawClient;
using testing::events_in;
using testing::post;
using testing::read_reply;
using testing::Reply;
using testing::said;
using testing::ServerRig;

constexpr const char* kResponses = "/v1/responses";
constexpr const char* kMessages = "/v1/messages";

const std::string kInput = R"({"model":"m","input":"hi","instructions":"be brief"})";
const std::string kMessage =
    R"({"model":"m","max_tokens":9,"system":"be brief",
        "messages":[{"role":"user","content":"hi"}]})";

std::string streamed(std::string body) {
  body.back() = ',';
  return body + R"("stream":true})";
}

class Dialects : public ::testing::Test {
 protected:
  Dialects() { rig_.load(); }

  // What is asked of the backend becomes an answer.
  Reply ask(const char* path, const std::string& body, llm::Outcome outcome) {
    RawClient client(rig_.server->port());
    client.send(post(path, body));
    asked_ = rig_.backend.wait_for(++count_);
    rig_.backend.end(std::move(outcome));
    return read_reply(client);
  }

  // What is refused for load is told at once.
  ServerRig rig_{{}, {.refusal_patience = Duration::zero()}};
  llm::Request asked_;
  size_t count_ = 0;
};

llm::Answer calling() {
  return {
      .choices = {{.text = "Let me see.",
                   .reasoning = "hm",
                   .tool_calls = {{.id = "call_1", .name = "f", .arguments = R"({"a": 1})"}},
                   .finish_reason = llm::FinishReason::kToolCalls}},
      .usage = {
          .prompt_tokens = 7, .completion_tokens = 5, .cached_tokens = 3, .reasoning_tokens = 2}};
}

TEST_F(Dialects, AResponseIsAskedAsAChatAndAnsweredInItsOwnShape) {
  const Reply reply = ask(kResponses, kInput, calling());
  EXPECT_EQ(json::value(asked_.chat.messages),
            json::parse(R"([{"role":"system","content":"be brief"},
                            {"role":"user","content":"hi"}])"));
  ASSERT_EQ(reply.status, 200);
  const json::value body = reply.json();
  EXPECT_EQ(body.at("object"), "response");
  EXPECT_EQ(body.at("status"), "completed");
  EXPECT_EQ(body.at("instructions"), "be brief");
  EXPECT_EQ(body.at("store"), true);
  EXPECT_NE(reply.body.find(R"("temperature":1.0,"top_p":1.0,)"), std::string::npos)
      << "numbers as they are usually written";
  const json::array& output = body.at("output").as_array();
  ASSERT_EQ(output.size(), 3U);
  EXPECT_EQ(output[0].at("content").at(0).at("text"), "hm");
  EXPECT_EQ(output[1].at("content").at(0).at("text"), "Let me see.");
  EXPECT_EQ(output[2].at("call_id"), "call_1");
  EXPECT_EQ(output[2].at("arguments"), R"({"a": 1})");
  EXPECT_EQ(body.at("usage"), json::parse(R"({"input_tokens":7,
      "input_tokens_details":{"cached_tokens":3},"output_tokens":5,
      "output_tokens_details":{"reasoning_tokens":2},"total_tokens":12})"));
}

TEST_F(Dialects, AMessageIsAskedAsAChatAndAnsweredInItsOwnShape) {
  const Reply reply = ask(kMessages, kMessage, calling());
  EXPECT_EQ(json::value(asked_.chat.messages),
            json::parse(R"([{"role":"system","content":"be brief"},
                            {"role":"user","content":"hi"}])"));
  EXPECT_EQ(asked_.output_tokens_max, 9);
  ASSERT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("request-id"), reply.header("X-Request-Id"));
  json::value body = reply.json();
  EXPECT_TRUE(std::string_view(body.at("id").as_string()).starts_with("msg_"));
  body.as_object().erase("id");
  EXPECT_EQ(body, json::parse(R"({"type":"message","role":"assistant","model":"m","content":[
      {"type":"thinking","thinking":"hm","signature":""},
      {"type":"text","text":"Let me see."},
      {"type":"tool_use","id":"call_1","name":"f","input":{"a":1}}],
      "stop_reason":"tool_use","stop_sequence":null,
      "usage":{"input_tokens":4,"cache_creation_input_tokens":0,"cache_read_input_tokens":3,
               "output_tokens":5,"service_tier":"standard"}})"));
}

TEST_F(Dialects, AnErrorNamesTheFieldThatWasSent) {
  Reply reply = rig_.ask(post(kResponses, R"({"input":[{"role":"user","content":"a"},
      {"role":"user","content":[{"type":"input_image","image_url":"x"}]}]})"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.error().at("param"), "input[1].content[0].type");

  // Found by who reads chats, who knows it by another name.
  reply = rig_.ask(post(kResponses, R"({"input":"a","max_output_tokens":0})"));
  EXPECT_EQ(reply.error().at("param"), "max_output_tokens");
  EXPECT_EQ(reply.error().at("message"), "max_output_tokens is 0; it must be from 1 to 2147483647");

  // And by who answers them.
  reply = ask(kResponses, kInput,
              llm::Failure{.status = 400,
                           .code = "context_length_exceeded",
                           .message = "messages has 9000 tokens",
                           .param = "messages"});
  EXPECT_EQ(reply.error().at("param"), "input");
  EXPECT_EQ(reply.error().at("message"), "input has 9000 tokens");
}

// Clients cut their conversation when they read these words.
TEST_F(Dialects, APromptThatIsTooLongIsSaidInTheWordsOfTheDialect) {
  const auto told = [&](const char* path, const std::string& body, llm::Failure failure) {
    failure.status = 400;
    failure.code = "context_length_exceeded";
    const Reply reply = ask(path, body, std::move(failure));
    EXPECT_EQ(reply.status, 400);
    return std::string(reply.error().at("message").as_string());
  };
  const llm::Failure counted{.message = "this model's maximum context length is 100 tokens",
                             .prompt_excess = llm::PromptExcess{.tokens = 120, .tokens_max = 99}};
  const std::string asked = R"({"max_tokens":9,"messages":[{"role":"user","content":"hi"}]})";
  EXPECT_EQ(told(kMessages, asked, counted),
            "prompt is too long: 120 tokens > 99 maximum; this model's maximum context length is "
            "100 tokens");
  EXPECT_EQ(told(kResponses, kInput, counted), counted.message);
  EXPECT_EQ(told(kMessages, asked, {.message = "http://h answered 400: too many"}),
            "prompt is too long: http://h answered 400: too many");
  EXPECT_EQ(told(kMessages, asked, {.message = "http://h: prompt is too long"}),
            "http://h: prompt is too long");
}

TEST_F(Dialects, AModelThatCannotChatDoesNotAnswerWhereItWasAsked) {
  rig_.registry.add(
      {.name = "e", .dispatcher = &rig_.dispatcher, .endpoints = {llm::Endpoint::kEmbeddings}});
  const std::string messages = R"({"model":"e","messages":[{"role":"user","content":"a"}],)";
  for (const auto& [path, body] : std::vector<std::pair<std::string, std::string>>{
           {"/v1/chat/completions", messages + R"("max_tokens":3})"},
           {"/v1/messages", messages + R"("max_tokens":3})"},
           {"/v1/responses", R"({"model":"e","input":"a"})"}}) {
    const Reply reply = rig_.ask(post(path, body));
    EXPECT_EQ(reply.status, 400);
    EXPECT_EQ(reply.json().at("error").at("message").as_string(),
              "the model e does not answer " + path);
  }
}

TEST_F(Dialects, AnErrorOfAMessageIsInAnthropicsShape) {
  Reply reply = rig_.ask(post(kMessages, R"({"messages":[{"role":"user","content":"hi"}]})"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.json(),
            json::value({{"type", "error"},
                         {"error",
                          {{"type", "invalid_request_error"},
                           {"message", "the body has no max_tokens, which /v1/messages needs"}}},
                         {"request_id", reply.header("request-id")}}));

  reply = ask(kMessages, kMessage,
              llm::Failure{.failure_class = llm::FailureClass::kTransient,
                           .status = 503,
                           .message = "busy",
                           .overloaded = true});
  EXPECT_EQ(reply.status, 529);
  EXPECT_EQ(reply.error().at("type"), "overloaded_error");
  EXPECT_EQ(reply.header("Retry-After"), "1");

  // Anthropic's clients then send the whole conversation.
  reply = rig_.ask(post(kMessages, R"({"max_tokens":1,"messages":[{"role":"user","content":"hi"}],
      "thread":{"type":"create"}})"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.error().at("details"),
            json::value({{"error_code", "thread_unsupported_request"}}));

  reply = rig_.ask(post("/v1/messages/batches", "{}"));
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.error().at("type"), "not_found_error");
}

TEST_F(Dialects, AStreamOfAResponseIsTheResponse) {
  RawClient client(rig_.server->port());
  client.send(post(kResponses, streamed(kInput)));
  rig_.backend.wait_for(1);
  rig_.backend.say({.text = "he"});
  rig_.backend.end(said("hello"));
  const Reply reply = read_reply(client);
  std::vector<std::string> types;
  int64_t sequence = 0;
  for (const std::string& event : events_in(reply.body)) {
    const json::value value = json::parse(event);
    types.emplace_back(value.at("type").as_string());
    EXPECT_EQ(value.at("sequence_number"), sequence++);
  }
  EXPECT_EQ(types,
            (std::vector<std::string>{"response.created", "response.in_progress",
                                      "response.output_item.added", "response.content_part.added",
                                      "response.output_text.delta", "response.output_text.delta",
                                      "response.output_text.done", "response.content_part.done",
                                      "response.output_item.done", "response.completed"}));
  const json::value last = json::parse(events_in(reply.body).back());
  EXPECT_EQ(last.at("response").at("output").at(0).at("content").at(0).at("text"), "hello");
  EXPECT_EQ(last.at("response").at("usage").at("total_tokens"), 5);
}

TEST_F(Dialects, AStreamOfAMessageIsTheMessage) {
  RawClient client(rig_.server->port());
  client.send(post(kMessages, streamed(kMessage)));
  rig_.backend.wait_for(1);
  rig_.backend.say({.text = "he"});
  rig_.backend.end(said("hello"));
  const Reply reply = read_reply(client);
  const std::vector<std::string> events = events_in(reply.body);
  ASSERT_EQ(events.size(), 7U);
  EXPECT_EQ(json::parse(events[1]), json::parse(R"({"type":"content_block_start","index":0,
      "content_block":{"type":"text","text":""}})"));
  EXPECT_EQ(json::parse(events[3]), json::parse(R"({"type":"content_block_delta","index":0,
      "delta":{"type":"text_delta","text":"llo"}})"));
  EXPECT_EQ(json::parse(events[5]), json::parse(R"({"type":"message_delta",
      "delta":{"stop_reason":"end_turn","stop_sequence":null},
      "usage":{"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,
               "output_tokens":2,"service_tier":"standard"}})"));
  EXPECT_EQ(json::parse(events[6]), json::parse(R"({"type":"message_stop"})"));
  EXPECT_NE(reply.body.find("event: message_start\ndata: "), std::string::npos);
}

TEST_F(Dialects, AResponseIsMadeWhileItsClientWaits) {
  const Reply reply = rig_.ask(post(kResponses, R"({"input":"a","background":true})"));
  EXPECT_EQ(reply.error().at("param"), "background");
}

TEST(DialectsOfAServerWithKeys, AreRefusedInTheirOwnShape) {
  Sha256 hash;
  hash.add("wr-key");
  ApiOptions options;
  options.keys = std::make_shared<KeyRingHolder>(
      *KeyRing::parse("alice sha256:" + hash.finish() + " rpm=1\n", "keys"));
  options.http.request.body_bytes_max = 1000;
  ServerRig rig(std::move(options));
  rig.load();
  const auto ask = [&](const std::string& body, const std::string& headers) {
    const Reply reply = rig.ask(post(kMessages, body, headers));
    EXPECT_EQ(reply.json().at("type"), "error");
    EXPECT_EQ(reply.json().at("request_id"), json::value(reply.header("request-id")));
    return std::to_string(reply.status) + " " + std::string(reply.error().at("type").as_string());
  };
  EXPECT_EQ(ask(kMessage, ""), "401 authentication_error");
  EXPECT_EQ(ask(kMessage, "x-api-key: wr-other\r\n"), "401 authentication_error");
  EXPECT_EQ(ask("{", "x-api-key: wr-key\r\nanthropic-version: 2023-06-01\r\n"),
            "400 invalid_request_error");
  EXPECT_EQ(ask(kMessage, "x-api-key: wr-key\r\n"), "429 rate_limit_error");
  EXPECT_EQ(ask(std::string(2000, ' '), ""), "413 request_too_large");
  EXPECT_EQ(rig.ask(post(kResponses, kInput)).error().at("code"), "invalid_api_key");
}

TEST_F(Dialects, AModelElsewhereDoesNotCountTokens) {
  const Reply reply = rig_.ask(
      post("/v1/messages/count_tokens", R"({"messages":[{"role":"user","content":"hi"}]})"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.error().at("type"), "invalid_request_error");
}

}  // namespace
}  // namespace windrow::api
