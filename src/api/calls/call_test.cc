// Calls over real sockets, where the order of events matters: when clients disconnect, what a slow
// reader gets, what is logged and charged, and how often. Their bodies are in call_body_test.cc.
#include "api/calls/call.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "api/testing/call_log.h"
#include "api/testing/events.h"
#include "api/testing/server_rig.h"
#include "base/testing/eventually.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using http::testing::RawClient;
using testing::CallLog;
using testing::events_in;
using testing::get;
using ::testing::HasSubstr;
using testing::kChat;
using testing::kChatPath;
using testing::kStream;
using testing::metric;
using testing::post;
using testing::read_reply;
using testing::Reply;
using testing::said;
using testing::ServerRig;

int64_t answer_bytes(ServerRig& rig) {
  return metric(rig, "windrow_answer_bytes");
}

std::string content_of(const std::vector<std::string>& events, int64_t choice) {
  std::string content;
  for (const std::string& event : events) {
    if (event == "[DONE]") continue;
    const json::value chunk = json::parse(event);
    for (const json::value& one : chunk.at("choices").as_array()) {
      if (one.at("index").as_int64() != choice) continue;
      const json::object& delta = one.at("delta").as_object();
      if (delta.contains("content")) content += delta.at("content").as_string();
    }
  }
  return content;
}

TEST(Call, EachIsLoggedOnceWithItsOutcome) {
  CallLog log;
  ServerRig rig(log.options());
  rig.load();
  RawClient client(rig.server->port());
  client.send(post(kChatPath, kChat));
  rig.backend.wait_for(1);
  rig.backend.end(said("a"));
  const Reply reply = read_reply(client);
  client.send(post(kChatPath, "{}"));
  EXPECT_EQ(read_reply(client).status, 400);
  RawClient leaver(rig.server->port());
  leaver.send(post(kChatPath, kStream));
  rig.backend.wait_for(2);
  leaver.close();
  rig.backend.wait_unwanted();
  rig.server->stop(std::chrono::seconds(30));

  const std::vector<json::object> calls = log.calls();
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].at("status"), 200);
  EXPECT_EQ(calls[0].at("call"), reply.json().at("id"));
  EXPECT_EQ(calls[1].at("status"), 400);
  EXPECT_EQ(calls[2].at("status"), 499);
  EXPECT_EQ(calls[2].at("code"), "client_left");
}

TEST(Call, IsNotOfferedIfItsClientLeavesWhileTheBodyWaits) {
  CallLog log;
  ServerRig rig(log.options());
  rig.load();
  std::latch entered(1);
  std::latch released(1);
  std::atomic<bool> held = false;
  rig.backend.before_submit = [&] {
    if (held.exchange(true)) return;
    entered.count_down();
    released.wait();
  };
  RawClient first(rig.server->port());
  RawClient second(rig.server->port());
  first.send(post(kChatPath, kChat));
  entered.wait();  // the one worker is busy
  second.send(post(kChatPath, kChat));
  // Its body is inside when the server says so.
  windrow::testing::eventually([&] { return rig.ask(get("/metrics")).body; },
                               HasSubstr("\nwindrow_body_bytes_inside 17"));
  second.close();
  // And the server has noticed when another connection that was opened later has been served.
  rig.ask(get("/health"));
  released.count_down();
  rig.backend.wait_for(1);
  rig.backend.end(said("a"));
  EXPECT_EQ(read_reply(first).status, 200);
  rig.server->stop(std::chrono::seconds(30));
  EXPECT_EQ(log.calls().size(), 2U);
  EXPECT_EQ(rig.backend.submitted(), 1U);
}

TEST(Call, IsCancelledIfItsClientLeavesWhileItIsOffered) {
  ServerRig rig;
  rig.load();
  std::latch entered(1);
  std::latch released(1);
  rig.backend.before_submit = [&] {
    entered.count_down();
    released.wait();
  };
  RawClient client(rig.server->port());
  client.send(post(kChatPath, kStream));
  entered.wait();
  client.close();
  rig.ask(get("/health"));
  released.count_down();
  rig.backend.wait_unwanted();
}

TEST(Call, ASlowReaderGetsAllOfItInFewerEvents) {
  ServerRig rig;
  rig.load();
  RawClient client(rig.server->port());
  client.send(post(kChatPath, kStream));
  rig.backend.wait_for(1);
  const std::string word(1000, 'a');
  constexpr int kPieces = 6000;
  for (int i = 0; i < kPieces; ++i)
    rig.backend.say({.text = word});
  llm::Answer answer = said("");
  for (int i = 0; i < kPieces; ++i)
    answer.choices[0].text += word;
  const size_t bytes = answer.choices[0].text.size();
  rig.backend.end(std::move(answer));
  const std::vector<std::string> events = events_in(read_reply(client).body);
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_EQ(content_of(events, 0).size(), bytes);
  EXPECT_LT(events.size(), size_t{kPieces} / 2);
}

TEST(Call, ChoicesComeInterleavedByTheirIndex) {
  ServerRig rig;
  rig.load();
  RawClient client(rig.server->port());
  client.send(post(kChatPath, R"({"messages":[{"role":"user","content":"hi"}],"stream":true,
      "n":2,"stream_options":{"include_usage":true}})"));
  EXPECT_EQ(rig.backend.wait_for(1).choices, 2);
  rig.backend.say({.choice = 1, .text = "b"});
  rig.backend.say({.choice = 0, .text = "a"});
  rig.backend.say({.choice = 1, .text = "b", .finish_reason = llm::FinishReason::kStop});
  rig.backend.end(llm::Answer{.choices = {{.text = "ax"}, {.text = "bb"}},
                              .usage = {.prompt_tokens = 3, .completion_tokens = 4}});
  std::vector<std::string> events = events_in(read_reply(client).body);
  EXPECT_EQ(content_of(events, 0), "ax");
  EXPECT_EQ(content_of(events, 1), "bb");
  ASSERT_GE(events.size(), 2U);
  EXPECT_EQ(json::parse(events[events.size() - 2]).at("usage").at("total_tokens"), 7);
}

TEST(Call, EventsOfUpstreamsPassThrough) {
  ServerRig rig;
  rig.load(true, true);
  RawClient client(rig.server->port());
  client.send(post(kChatPath, R"({"stream":true,"messages":[],"vendor":1})"));
  EXPECT_EQ(rig.backend.wait_for(1).raw, R"({"messages":[],"vendor":1})");
  rig.backend.say({.raw = R"({"id":"x","choices":[{"delta":{"content":"a"}}]})"});
  rig.backend.end(llm::Answer{.raw = R"({"id":"x"})"});
  EXPECT_EQ(read_reply(client).body,
            "data: {\"id\":\"x\",\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
            "data: [DONE]\n\n");
  client.send(post(kChatPath, R"({"messages":[]})"));
  rig.backend.wait_for(2);
  rig.backend.end(llm::Answer{.raw = R"({"id":"x","n":1.50})"});
  EXPECT_EQ(read_reply(client).body, R"({"id":"x","n":1.50})");
}

TEST(Call, AFailureAfterTheBeginningIsAnEvent) {
  ServerRig rig;
  rig.load();
  RawClient client(rig.server->port());
  client.send(post(kChatPath, kStream));
  rig.backend.wait_for(1);
  rig.backend.say({.text = "a"});
  rig.backend.end(llm::Failure{.failure_class = llm::FailureClass::kBackend,
                               .status = 500,
                               .code = "engine_error",
                               .message = "why"});
  const Reply reply = read_reply(client);
  EXPECT_EQ(reply.status, 200);
  const std::vector<std::string> events = events_in(reply.body);
  EXPECT_EQ(json::parse(events.back()).at("error").at("code"), "engine_error");
}

TEST(Call, ADeadlineThatPassesIs408AndCancels) {
  ServerRig rig;
  rig.load();
  RawClient client(rig.server->port());
  client.send(post(kChatPath, kChat, "X-Windrow-Deadline-Ms: 30\r\n"));
  const Reply reply = read_reply(client);
  EXPECT_EQ(reply.status, 408);
  EXPECT_EQ(reply.error().at("code"), "deadline_exceeded");
  rig.backend.wait_unwanted();
}

TEST(Call, RepliesHaveTheIdAndTierOfTheirRequest) {
  ServerRig rig;
  rig.load();
  RawClient client(rig.server->port());
  const auto answer = [&](std::string_view body, std::string_view headers) {
    static size_t count = 0;
    client.send(post(kChatPath, body, headers));
    rig.backend.wait_for(++count);
    rig.backend.end(said("a"));
    return read_reply(client);
  };
  EXPECT_EQ(answer(kChat, "X-Request-Id: mine-1\r\n").header("X-Request-Id"), "mine-1");
  const Reply made = answer(kChat, "X-Request-Id: a\"b\r\n");
  EXPECT_TRUE(made.header("X-Request-Id").starts_with("req_"));
  EXPECT_NE(made.header("openai-processing-ms"), "");
  EXPECT_FALSE(made.json().as_object().contains("service_tier"));
  EXPECT_EQ(answer(R"({"messages":[{"role":"user","content":"hi"}],"service_tier":"flex"})", "")
                .json()
                .at("service_tier"),
            "flex");
}

// With a key of batch priority and 6,000 tokens per minute.
ApiOptions with_alice(CallLog& log, std::string& key) {
  const Result<NewKey> made = make_key("alice", "priority=batch tpm=6000", std::string(32, 'k'));
  EXPECT_TRUE(made.has_value());
  key = "Authorization: Bearer " + made->key + "\r\n";
  ApiOptions options = log.options();
  options.keys = std::make_shared<const KeyRingHolder>(*KeyRing::parse(made->line, "keys"));
  return options;
}

TEST(Call, RepliesNameTheTierThatTheKeyAllows) {
  CallLog log;
  std::string key;
  ServerRig rig(with_alice(log, key));
  rig.load();
  RawClient client(rig.server->port());
  client.send(post(kChatPath,
                   R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":9,
                       "service_tier":"priority"})",
                   key));
  rig.backend.wait_for(1);
  rig.backend.end(said("a"));
  EXPECT_EQ(read_reply(client).json().at("service_tier"), "flex");
  client.send(post(kChatPath,
                   R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":9,
                       "service_tier":"priority","stream":true})",
                   key));
  rig.backend.wait_for(2);
  rig.backend.end(said("a"));
  const std::vector<std::string> events = events_in(read_reply(client).body);
  EXPECT_EQ(json::parse(events.at(0)).at("service_tier"), "flex");
}

// A call that is cancelled is charged for its usage until then, and no more.
TEST(Call, WhatACancelledCallCostIsLoggedCountedAndCharged) {
  CallLog log;
  std::string key;
  ServerRig rig(with_alice(log, key));
  rig.load();
  constexpr llm::Usage kUsed{.prompt_tokens = 4000, .completion_tokens = 1000, .cached_tokens = 7};
  {
    RawClient leaver(rig.server->port());
    leaver.send(post(kChatPath,
                     R"({"messages":[{"role":"user","content":"hi"}],"stream":true,
                         "max_tokens":20})",
                     key));
    rig.backend.wait_for(1);
    rig.backend.say({.text = "he"});
    leaver.close();
    rig.backend.wait_unwanted(kUsed);
  }
  // A call past its deadline is charged for its usage, too.
  RawClient client(rig.server->port());
  client.send(post(kChatPath, R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":20})",
                   key + "X-Windrow-Deadline-Ms: 30\r\n"));
  rig.backend.wait_for(2);
  EXPECT_EQ(read_reply(client).status, 408);
  rig.backend.wait_unwanted({.prompt_tokens = 100});
  windrow::testing::eventually(
      [&] { return rig.ask("GET /metrics HTTP/1.1\r\nHost: x\r\n" + key + "\r\n").body; },
      HasSubstr("windrow_key_calls_live{key=\"alice\"} 0"));
  client.send(
      post(kChatPath, R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":9})", key));
  rig.backend.wait_for(3);
  rig.backend.end(said("a"));
  const Reply reply = read_reply(client);
  // 900 and what a few seconds bring.
  EXPECT_LT(std::stoi(reply.header("x-ratelimit-remaining-tokens")), 2900);
  const std::string page = rig.ask("GET /metrics HTTP/1.1\r\nHost: x\r\n" + key + "\r\n").body;
  rig.server->stop(std::chrono::seconds(30));
  const std::vector<json::object> calls = log.calls();
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].at("status"), 499);
  EXPECT_EQ(calls[0].at("prompt_tokens"), 4000);
  EXPECT_EQ(calls[0].at("cached_tokens"), 7);
  EXPECT_EQ(calls[0].at("completion_tokens"), 1000);
  EXPECT_EQ(calls[1].at("status"), 408);
  EXPECT_EQ(calls[1].at("prompt_tokens"), 100);
  EXPECT_NE(page.find("windrow_completion_tokens_total{model=\"m\"} 100"), std::string::npos);
}

// --- the memory budget of answers ---

TEST(Call, AnAnswerThatExceedsTheBudgetFailsAlone) {
  ServerRig rig({.answer_bytes_max = 300'000});
  rig.load();
  const auto answer = [&](size_t call, size_t bytes) {
    RawClient client(rig.server->port());
    client.send(post(kChatPath, kChat));
    rig.backend.wait_for(call);
    rig.backend.end(said(std::string(bytes, 'a')));
    return read_reply(client);
  };
  EXPECT_EQ(answer(1, 100'000).status, 200);
  // Too large itself, and with what is written of it.
  for (const size_t bytes : {size_t{400'000}, size_t{200'000}}) {
    const Reply refused = answer(bytes == 400'000 ? 2 : 3, bytes);
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.error().at("code"), "server_overloaded");
    EXPECT_EQ(refused.header("Retry-After"), "2");
  }
  EXPECT_EQ(answer(4, 100'000).status, 200);
  windrow::testing::eventually([&] { return answer_bytes(rig); }, 0);
}

TEST(Call, AStreamThatIsNotReadTakesNoMoreThanTheBudget) {
  ServerRig rig({.answer_bytes_max = 300'000});
  rig.load();
  RawClient silent(rig.server->port());
  silent.send(post(kChatPath, R"({"stream":true,"messages":[{"role":"user","content":"hi"}]})"));
  rig.backend.wait_for(1);
  // More than the systems of both sides hold.
  for (int i = 0; i < 2000; ++i)
    rig.backend.say({.text = std::string(10'000, 'a')});
  rig.backend.wait_unwanted();
  windrow::testing::eventually([&] { return answer_bytes(rig); }, 0);
  EXPECT_NE(silent.read_reply().find("server_overloaded"), std::string::npos);
}

TEST(Call, AnswersAreLoggedWherePromptsAre) {
  CallLog log;
  ApiOptions options = log.options();
  options.log_prompts = true;
  ServerRig rig(std::move(options));
  rig.load();
  RawClient client(rig.server->port());
  client.send(post(kChatPath, kChat));
  rig.backend.wait_for(1);
  rig.backend.end(said("hello"));
  EXPECT_EQ(read_reply(client).status, 200);
  RawClient leaver(rig.server->port());
  leaver.send(post(kChatPath, kStream));
  rig.backend.wait_for(2);
  rig.backend.say({.text = "hel"});
  rig.backend.say({.text = "lo"});
  leaver.close();
  rig.backend.wait_unwanted();
  rig.server->stop(std::chrono::seconds(30));
  const std::vector<json::object> calls = log.calls();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].at("body"), json::value(kChat));
  EXPECT_EQ(calls[0].at("answers"), json::parse(R"(["hello"])"));
  EXPECT_EQ(calls[1].at("answers"), json::parse(R"(["hello"])")) << "as far as it came";
}

TEST(Call, IsRefusedWithoutAKey) {
  const Result<NewKey> key = make_key("alice", "priority=normal", std::string(32, 'k'));
  ASSERT_TRUE(key.has_value());
  ApiOptions options;
  options.keys = std::make_shared<const KeyRingHolder>(*KeyRing::parse(key->line, "keys"));
  ServerRig rig(std::move(options));
  rig.load();
  const Reply refused = rig.ask(post(kChatPath, kChat));
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.error().at("type"), "authentication_error");
  EXPECT_EQ(rig.ask(get("/v1/models")).status, 401);
  EXPECT_EQ(rig.ask(get("/health")).status, 200);
  RawClient client(rig.server->port());
  client.send(post(kChatPath, kChat, "Authorization: Bearer " + key->key + "\r\n"));
  rig.backend.wait_for(1);
  rig.backend.end(said("a"));
  EXPECT_EQ(read_reply(client).status, 200);
}

}  // namespace
}  // namespace windrow::api
