// Calls over real sockets, where the order of things matters: who leaves when, what a slow reader
// gets, what is settled and how often.
#include "api/calls/call.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/calls/admission.h"
#include "api/testing/events.h"
#include "api/testing/server_rig.h"
#include "base/testing/eventually.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using http::testing::RawClient;
using testing::events_in;
using ::testing::Ge;
using testing::get;
using ::testing::HasSubstr;
using testing::kChat;
using testing::kStream;
using testing::post;
using testing::read_reply;
using testing::Reply;
using testing::said;
using testing::ServerRig;

constexpr const char* kChatPath = "/v1/chat/completions";

// The lines of a server's log, each a request that was settled.
class Log {
 public:
  ApiOptions options() {
    ApiOptions options;
    options.worker_threads = 1;
    options.log = [this](const std::string& line) {
      const std::scoped_lock lock(mutex_);
      lines_.push_back(json::parse(line).as_object());
    };
    return options;
  }

  // Of calls; complete once the server has been stopped.
  std::vector<json::object> calls() const {
    const std::scoped_lock lock(mutex_);
    std::vector<json::object> calls;
    for (const json::object& line : lines_) {
      if (line.contains("call")) calls.push_back(line);
    }
    return calls;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<json::object> lines_;
};

int64_t metric(ServerRig& rig, std::string_view name) {
  const std::string line = fmt::format("\n{} ", name);
  const std::string page = rig.ask(get("/metrics")).body;
  return std::stoll(page.substr(page.find(line) + line.size()));
}

int64_t bytes_inside(ServerRig& rig) {
  return metric(rig, "windrow_body_bytes_inside");
}

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

TEST(Call, EachIsSettledOnceWithWhatCameOfIt) {
  Log log;
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

TEST(Call, AClientWhoLeavesWhileItsBodyWaitsIsNeverOffered) {
  Log log;
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

TEST(Call, AClientWhoLeavesWhileItIsOfferedIsCancelled) {
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

TEST(Call, EventsFromElsewherePassThrough) {
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

TEST(Call, RepliesSayWhoTheyAreFor) {
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

// Of alice, who may not be urgent and has 6,000 tokens a minute.
ApiOptions with_alice(Log& log, std::string& key) {
  const Result<NewKey> made = make_key("alice", "priority=batch tpm=6000", std::string(32, 'k'));
  EXPECT_TRUE(made.has_value());
  key = "Authorization: Bearer " + made->key + "\r\n";
  ApiOptions options = log.options();
  options.keys = std::make_shared<const KeyRingHolder>(*KeyRing::parse(made->line, "keys"));
  return options;
}

TEST(Call, TheTierIsTheOneItGot) {
  Log log;
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

// Whoever ends it before its time pays what it cost until then, and no more.
TEST(Call, WhatACancelledCallCostIsLoggedCountedAndCharged) {
  Log log;
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
  // One that never began costs nothing, and one whose time was up what it used.
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

TEST(Call, TokensThatTheVocabularyLacksAreTold) {
  ServerRig rig;
  rig.registry.add({.name = "m",
                    .dispatcher = &rig.dispatcher,
                    .endpoints = testing::kAllEndpoints,
                    .vocabulary_size = 100},
                   true);
  rig.registry.set_state(ServeState::kReady);
  RawClient client(rig.server->port());
  const auto ignored = [&](std::string_view more) {
    static size_t count = 0;
    client.send(post(kChatPath,
                     R"({"messages":[{"role":"user","content":"hi"}])" + std::string(more) + "}"));
    rig.backend.wait_for(++count);
    rig.backend.end(said("a"));
    const Reply reply = read_reply(client);
    EXPECT_EQ(reply.status, 200);
    return reply.header("X-Windrow-Ignored-Tokens");
  };
  EXPECT_EQ(ignored(R"(,"logit_bias":{"7":5,"64":-100})"), "");
  EXPECT_EQ(ignored(R"(,"logit_bias":{"7":5,"6432":-100,"2753":-100})"), "2");
  EXPECT_EQ(ignored(R"(,"logit_bias":{"6432":-100},"stream":true)"), "1");
}

TEST(Call, FieldsThatAreNotKnownAreNamedWhereTheyAreIgnored) {
  ServerRig rig({.unknown_fields = llm::UnknownFields::kIgnore});
  rig.load();
  size_t count = 0;
  const auto ignored = [&](std::string_view path, std::string_view body) {
    RawClient client(rig.server->port());
    client.send(post(path, body));
    rig.backend.wait_for(++count);
    rig.backend.end(said("a"));
    const Reply reply = read_reply(client);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.header("X-Windrow-Ignored-Fields");
  };
  EXPECT_EQ(ignored(kChatPath, kChat), "");
  EXPECT_EQ(ignored(kChatPath, R"({"tone":1,"messages":[{"role":"user","content":"hi"}],"x":null,
                                  "a b\r\nEvil: 1":{}})"),
            "tone, a%20b%0D%0AEvil%3A%201");
  EXPECT_EQ(ignored(kChatPath, R"({"messages":[{"role":"user","content":"hi"}],"stream":true,
                                  "tone":1})"),
            "tone");
  EXPECT_EQ(ignored("/v1/responses", R"({"input":"hi","tone":1})"), "tone");
  EXPECT_EQ(ignored("/v1/messages", R"({"max_tokens":1,"tone":1,
                                       "messages":[{"role":"user","content":"hi"}]})"),
            "tone");
  std::string many;
  for (int i = 0; i < 500; ++i)
    many += fmt::format(R"(,"unknown{}":1)", i);
  const std::string named =
      ignored(kChatPath, R"({"messages":[{"role":"user","content":"hi"}])" + many + "}");
  EXPECT_TRUE(named.starts_with("unknown0, unknown1, ")) << named;
  EXPECT_TRUE(named.ends_with(", ...")) << named;
  EXPECT_LT(named.size(), 1100U);

  // What is known and cannot be done stays refused, and so does what is unknown inside of fields.
  for (const std::string_view body :
       {R"({"messages":[{"role":"user","content":"hi"}],"functions":[{}]})",
        R"({"messages":[{"role":"user","content":"hi","tone":1}]})"}) {
    const Reply refused = rig.ask(post(kChatPath, body));
    EXPECT_EQ(refused.status, 400) << body;
    EXPECT_EQ(refused.error().at("code"), "unsupported_parameter") << body;
  }
}

// gzip of {"messages":[{"role":"user","content":"hi"}]}, and of the same with 5,000 times x.
constexpr std::string_view kPackedChat(
    "\x1F\x8B\x08\x00\x00\x00\x00\x00\x02\x03\xAB\x56\xCA\x4D\x2D\x2E\x4E\x4C\x4F\x2D"
    "\x56\xB2\x8A\xAE\x56\x2A\xCA\xCF\x49\x55\xB2\x52\x2A\x2D\x4E\x2D\x52\xD2\x51\x4A"
    "\xCE\xCF\x2B\x49\xCD\x2B\x01\x0A\x64\x64\x2A\xD5\xC6\xD6\x02\x00\xA8\x46\x04\xDA"
    "\x2D\x00\x00\x00",
    64);
constexpr std::string_view kPackedLongChat(
    "\x1F\x8B\x08\x00\x00\x00\x00\x00\x02\x03\xED\xC8\xB1\x09\x80\x30\x14\x45\xD1\x5D"
    "\x5E\xED\x04\x59\x45\x2C\x44\x1E\x36\x9A\x40\x7E\x02\x42\xC8\xEE\xBA\x84\xDD\x3D"
    "\xE5\x19\xBA\x1D\xB1\x9F\x0E\xA5\x75\xA8\x96\xCB\x4A\xEA\xE1\xAA\x45\x47\xC9\xCD"
    "\xB9\x7D\xF1\x00\x00\x00\x00\x00\x00\x00\xF8\x9D\xE6\x36\x5F\xC2\x27\xEF\x33\xB3"
    "\x13\x00\x00",
    83);

TEST(Call, ABodyMayComePackedByGzip) {
  Log log;
  ApiOptions options = log.options();
  options.log_prompts = true;
  options.http.request.body_bytes_max = 4000;
  ServerRig rig(std::move(options));
  rig.load();
  const std::string gzip = "Content-Encoding: gzip\r\n";
  RawClient client(rig.server->port());
  for (size_t count = 1; count <= 2; ++count) {
    client.send(count == 1 ? post(kChatPath, kPackedChat, gzip) : post(kChatPath, kChat));
    EXPECT_EQ(rig.backend.wait_for(count).chat.messages.at(0).at("content"), "hi");
    rig.backend.end(said("a"));
    EXPECT_EQ(read_reply(client).status, 200);
  }

  const Reply bomb = rig.ask(post(kChatPath, kPackedLongChat, gzip));
  EXPECT_EQ(bomb.status, 413);
  EXPECT_EQ(bomb.error().at("code"), "request_too_large");
  EXPECT_EQ(bomb.error().at("message"),
            "the body cannot be decompressed as its Content-Encoding says: it unpacks to more than "
            "4000 bytes");
  const Reply damaged = rig.ask(post(kChatPath, kPackedChat.substr(0, 40), gzip));
  EXPECT_EQ(damaged.status, 400);
  EXPECT_EQ(damaged.error().at("code"), "bad_request");
  const Reply other = rig.ask(post(kChatPath, kPackedChat, "Content-Encoding: br\r\n"));
  EXPECT_EQ(other.status, 415);
  EXPECT_EQ(other.error().at("code"), "unsupported_encoding");
  EXPECT_EQ(rig.ask(post("/v1/batches", kPackedChat, gzip)).status, 415);
  rig.server->stop(std::chrono::seconds(30));
  EXPECT_EQ(log.calls().at(0).at("body"), R"({"messages":[{"role":"user","content":"hi"}]})");
}

TEST(Call, ABodyOfTooManyValuesIsRefusedUnread) {
  ServerRig rig;
  rig.load();
  std::string body = R"({"messages":[)";
  while (body.size() < 7'000'000)
    body += "[],";
  const Reply refused = rig.ask(post(kChatPath, body + "[]]}"));
  EXPECT_EQ(refused.status, 413);
  EXPECT_EQ(refused.error().at("code"), "request_too_large");
  const std::string message(refused.error().at("message").as_string());
  EXPECT_NE(message.find("at most 2,000,000 are accepted"), std::string::npos) << message;
}

// What a body is parsed to counts among what may be inside.
TEST(Call, BodiesAreBoundedByWhatTheyBecome) {
  ServerRig rig({.bytes_inside_max = 400'000});
  rig.load();
  RawClient first(rig.server->port());
  first.send(post(kChatPath, kChat));
  rig.backend.wait_for(1);
  std::string body = R"({"prompt":[1)";
  for (int i = 0; i < 10'000; ++i)
    body += ",1";
  const Reply refused = rig.ask(post("/v1/completions", body + "]}"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.error().at("code"), "server_overloaded");
  rig.backend.end(said("a"));
  EXPECT_EQ(read_reply(first).status, 200);
  // One alone has room, and gives it back.
  for (size_t i = 2; i < 4; ++i) {
    first.send(post("/v1/completions", body + "]}"));
    EXPECT_EQ(rig.backend.wait_for(i).inputs.at(0).tokens.size(), 10'001U);
    rig.backend.end(said("a"));
    EXPECT_EQ(read_reply(first).status, 200);
  }
  windrow::testing::eventually([&] { return bytes_inside(rig); }, 0);
}

// --- the room of answers ---

TEST(Call, AnAnswerForWhichThereIsNoRoomFailsAlone) {
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

TEST(Call, AStreamThatNobodyReadsTakesNoMoreThanItsRoom) {
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

// The first has megabytes to be read, the others none: they keep their order all the same.
TEST(Call, ALaneIsInTheOrderOfArrival) {
  ServerRig rig({.worker_threads = 4});
  rig.load();
  std::string long_user;
  long_user.resize(16'000'000, 'x');
  const std::string long_body =
      R"({"user":")" + long_user + R"(","messages":[{"role":"user","content":")";
  std::vector<std::unique_ptr<RawClient>> clients;
  int64_t sent = 0;
  for (int i = 0; i < 4; ++i) {
    const std::string begin = i % 2 == 0 ? long_body : R"({"messages":[{"role":"user","content":")";
    const std::string body = begin + std::to_string(i) + "\"}]}";
    clients.push_back(std::make_unique<RawClient>(rig.server->port()));
    clients.back()->send(post(kChatPath, body, "X-Windrow-Lane: a\r\n"));
    sent += static_cast<int64_t>(body.size() + BodyMemoryBudget::kRequestBytes);
    windrow::testing::eventually([&] { return bytes_inside(rig); }, Ge(sent));
  }
  for (size_t i = 0; i < clients.size(); ++i) {
    const llm::Request request = rig.backend.wait_for(i + 1);
    EXPECT_EQ(request.chat.messages.at(0).at("content").as_string(), std::to_string(i));
    rig.backend.end(said("a"));
    EXPECT_EQ(read_reply(*clients[i]).status, 200);
  }
}

TEST(Call, AnswersAreLoggedWherePromptsAre) {
  Log log;
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

TEST(Call, WhoHasNoKeyIsNotHeard) {
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
