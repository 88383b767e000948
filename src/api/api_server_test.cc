#include "api/api_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <set>
#include <string>
#include <vector>

#include "api/testing/events.h"
#include "api/testing/server_rig.h"
#include "base/testing/eventually.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using http::testing::RawClient;
using llm::Failure;
using testing::events_in;
using testing::get;
using testing::kChat;
using testing::kChatPath;
using testing::kStream;
using testing::post;
using testing::read_reply;
using testing::Reply;
using testing::said;
using testing::ServerRig;

TEST(ApiServer, AnswersAChat) {
  ServerRig rig;
  rig.load();
  RawClient client(rig.server->port());
  client.send(post(kChatPath, kChat));
  const llm::BackendCall asked = rig.backend.wait_for_call(1);
  EXPECT_EQ(asked.request->endpoint, llm::Endpoint::kChatCompletions);
  EXPECT_EQ(asked.request->chat.messages.size(), 1U);
  EXPECT_EQ(asked.listener, nullptr);
  rig.backend.end(said("hello"));
  const Reply reply = read_reply(client);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("Content-Type"), "application/json");
  const json::value body = reply.json();
  EXPECT_EQ(body.at("object"), "chat.completion");
  EXPECT_EQ(body.at("model"), "m");
  EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), "hello");
  EXPECT_EQ(body.at("usage").at("total_tokens"), 5);
  EXPECT_TRUE(std::string_view(body.at("id").as_string()).starts_with("chatcmpl-"));
}

TEST(ApiServer, ClientsWhoseBaseUrlLacksTheVersionAreAnswered) {
  ServerRig rig;
  rig.load();
  RawClient client(rig.server->port());
  size_t count = 0;
  const auto ask = [&](std::string_view path, std::string_view body) {
    client.send(post(std::string(path), std::string(body)));
    rig.backend.wait_for(++count);
    rig.backend.end(path == "/embeddings" ? llm::Answer{.embeddings = {{1, 0}}} : said("a"));
    return read_reply(client).json().at("object");
  };
  EXPECT_EQ(ask("/chat/completions", kChat), "chat.completion");
  EXPECT_EQ(ask("/completions", R"({"prompt":"a"})"), "text_completion");
  EXPECT_EQ(ask("/embeddings", R"({"input":"a"})"), "list");
  EXPECT_EQ(ask("/responses", R"({"input":"a"})"), "response");
  EXPECT_EQ(rig.ask(get("/models")).body, rig.ask(get("/v1/models")).body);
  EXPECT_EQ(rig.ask(get("/models/m")).body, rig.ask(get("/v1/models/m")).body);
  EXPECT_EQ(rig.ask(get("/files")).status, 404);
}

TEST(ApiServer, EveryEndpointReachesTheDispatcher) {
  ServerRig rig;
  rig.load();
  RawClient client(rig.server->port());

  client.send(post("/v1/completions", R"({"prompt":"a","model":"other"})"));
  rig.backend.wait_for(1);
  rig.backend.end(said("b"));
  Reply reply = read_reply(client);
  EXPECT_EQ(reply.json().at("object"), "text_completion");
  EXPECT_EQ(reply.json().at("model"), "other");

  client.send(post("/v1/embeddings", R"({"input":["a","b"]})"));
  EXPECT_EQ(rig.backend.wait_for(2).inputs.size(), 2U);
  rig.backend.end(llm::Answer{.embeddings = {{1, 0}, {0, 1}}});
  EXPECT_EQ(read_reply(client).json().at("data").as_array().size(), 2U);

  size_t count = 2;
  for (const char* path : {"/v1/rerank", "/rerank"}) {
    client.send(post(path, R"({"query":"a","documents":["b"]})"));
    EXPECT_EQ(rig.backend.wait_for(++count).query, "a");
    rig.backend.end(llm::Answer{.ranking = {{.index = 0, .score = 2}}});
    EXPECT_EQ(read_reply(client).json().at("results"),
              json::parse(R"([{"index":0,"relevance_score":2.0}])"));
  }
}

// Cohere's clients compare them with a threshold.
TEST(ApiServer, ScoresOfTheSecondVersionAreFromZeroToOne) {
  ServerRig rig;
  rig.load();
  RawClient client(rig.server->port());
  client.send(post("/v2/rerank", R"({"query":"a","documents":["b","c","d"]})"));
  rig.backend.wait_for(1);
  rig.backend.end(llm::Answer{.ranking = {{.index = 1, .score = 90},
                                          {.index = 2, .score = 0},
                                          {.index = 0, .score = 0.25F, .is_probability = true}}});
  EXPECT_EQ(read_reply(client).json().at("results"),
            json::parse(R"([{"index":1,"relevance_score":1.0},{"index":2,"relevance_score":0.5},
                            {"index":0,"relevance_score":0.25}])"));
}

TEST(ApiServer, TeisOwnRerankIsAnArray) {
  ServerRig rig;
  rig.load();
  RawClient client(rig.server->port());
  client.send(post("/rerank", R"({"query":"a","texts":["b","c"],"truncate":false,
      "return_text":true,"raw_scores":true})"));
  EXPECT_EQ(rig.backend.wait_for(1).inputs.size(), 2U);
  rig.backend.end(llm::Answer{.ranking = {{.index = 1, .score = 2.5F, .text = "c"}}});
  EXPECT_EQ(read_reply(client).json(), json::parse(R"([{"index":1,"score":2.5,"text":"c"}])"));
  client.send(post("/rerank", R"({"query":"a","texts":["b","c"]})"));
  rig.backend.wait_for(2);
  rig.backend.end(llm::Answer{.ranking = {{.index = 0, .score = 0}}});
  EXPECT_EQ(read_reply(client).json(), json::parse(R"([{"index":0,"score":0.5}])"));
  // Elsewhere it is no field.
  EXPECT_EQ(rig.ask(post("/v1/rerank", R"({"query":"a","texts":["b"]})")).status, 400);
}

// Of two models the servers of one are away.
TEST(ApiServer, AModelWithoutReachableUpstreamIsRefusedAndRunningAnswersEnd) {
  std::atomic<bool> away = false;
  ApiOptions options;
  options.are_unreachable = [&](uint64_t upstreams) { return away && upstreams == 1; };
  ServerRig rig(std::move(options), {.in_flight_max = 1, .waiting_max = 10});
  const auto add = [&](const char* name, uint64_t upstreams) {
    rig.registry.add({.name = name,
                      .dispatcher = &rig.dispatcher,
                      .endpoints = testing::kAllEndpoints,
                      .upstreams = upstreams});
  };
  add("a", 3);
  add("b", 1);
  rig.registry.set_state(ServeState::kReady);
  const auto chat = [](std::string_view members) {
    return post(kChatPath,
                R"({"messages":[{"role":"user","content":"hi"}],)" + std::string(members) + "}");
  };
  RawClient running(rig.server->port());
  running.send(chat(R"("model":"b","stream":true)"));
  rig.backend.wait_for(1);
  rig.backend.say({.text = "he"});
  RawClient waiting(rig.server->port());
  waiting.send(chat(R"("model":"b","temperature":0.5)"));
  RawClient other(rig.server->port());
  other.send(chat(R"("model":"a")"));
  windrow::testing::eventually([&] { return rig.dispatcher.in_flight(); }, ::testing::Ge(3));

  away = true;
  const Reply given_up = read_reply(waiting);
  EXPECT_EQ(given_up.status, 503);
  EXPECT_EQ(given_up.error().at("code"), "upstream_unreachable");
  EXPECT_NE(given_up.header("Retry-After"), "");
  EXPECT_EQ(rig.ask(chat(R"("model":"b")")).status, 503);
  const Reply ready = rig.ask(get("/ready"));
  EXPECT_EQ(ready.status, 200);
  EXPECT_EQ(ready.json().at("unreachable"), json::array{"b"});
  EXPECT_EQ(rig.ask(get("/ready?model=a")).status, 200);
  EXPECT_EQ(rig.ask(get("/ready?model=b")).status, 503);
  EXPECT_EQ(rig.ask(get("/ready?model=c")).status, 404);

  rig.backend.say({.text = "llo", .finish_reason = llm::FinishReason::kStop});
  rig.backend.end(said("hello"));
  const Reply stream = read_reply(running);
  EXPECT_EQ(events_in(stream.body).back(), "[DONE]");
  EXPECT_EQ(stream.body.find("upstream_unreachable"), std::string::npos);
  rig.backend.wait_for(2);
  rig.backend.end(said("b"));
  EXPECT_EQ(read_reply(other).status, 200);
}

TEST(ApiServer, StreamsPieces) {
  ServerRig rig;
  rig.load();
  RawClient client(rig.server->port());
  client.send(post(kChatPath, kStream));
  rig.backend.wait_for(1);
  rig.backend.say({.text = "he"});
  rig.backend.say({.text = "llo", .finish_reason = llm::FinishReason::kStop});
  rig.backend.end(said("hello"));
  const Reply reply = read_reply(client);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("Content-Type"), "text/event-stream; charset=utf-8");
  std::string content;
  std::vector<std::string> events = events_in(reply.body);
  EXPECT_EQ(events.back(), "[DONE]");
  events.pop_back();
  std::set<std::string> ids;
  for (const std::string& event : events) {
    const json::value chunk = json::parse(event);
    ids.insert(std::string(chunk.at("id").as_string()));
    const json::object& delta = chunk.at("choices").at(0).at("delta").as_object();
    if (delta.contains("content")) content += delta.at("content").as_string();
  }
  EXPECT_EQ(content, "hello");
  EXPECT_EQ(ids.size(), 1U);
}

TEST(ApiServer, AStreamThatFailsBeforeItBeginsHasAStatus) {
  ServerRig rig;
  rig.load();
  RawClient client(rig.server->port());
  client.send(post(kChatPath, kStream));
  rig.backend.wait_for(1);
  rig.backend.end(Failure{.status = 400, .code = "context_length_exceeded", .message = "long"});
  const Reply reply = read_reply(client);
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.error().at("code"), "context_length_exceeded");
}

TEST(ApiServer, WhatIsNoRequestIsRefusedByName) {
  ServerRig rig;
  rig.load();
  const auto param = [&](std::string_view body) {
    const Reply reply = rig.ask(post(kChatPath, body));
    EXPECT_EQ(reply.status, 400) << reply.body;
    EXPECT_EQ(reply.error().at("type"), "invalid_request_error");
    const json::value name = reply.error().at("param");
    return name.is_null() ? std::string("-") : std::string(name.as_string());
  };
  EXPECT_EQ(param(""), "-");
  EXPECT_EQ(param("{"), "-");
  EXPECT_EQ(param("[]"), "-");
  EXPECT_EQ(param("{}"), "messages");
  EXPECT_EQ(param("{\"messages\":\"\xFF\"}"), "-");
  EXPECT_EQ(param(std::string(100, '[')), "-");
  EXPECT_EQ(param(R"({"messages":[{"role":"user","content":"hi"}],"temperature":9})"),
            "temperature");
  EXPECT_EQ(param(R"({"messages":[{"role":"user","content":"hi"}],"wish":9})"), "wish");
  EXPECT_EQ(param(R"({"messages":[{"role":"user","content":"hi"}],"stream":9})"), "stream");
  EXPECT_EQ(param(R"({"messages":[{"role":"user","content":"hi"}],"model":9})"), "model");
}

TEST(ApiServer, WhatIsNotThereIsSaidInTheSameShape) {
  ServerRig rig;
  rig.load(false);
  const Reply unknown = rig.ask(post(kChatPath, R"({"model":"x","messages":[]})"));
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.error().at("code"), "model_not_found");
  EXPECT_EQ(unknown.error().at("message"), "there is no model \"x\"; the only model is m");
  EXPECT_EQ(rig.ask(post(kChatPath, R"({"messages":[]})")).error().at("param"), "messages");
  EXPECT_EQ(rig.ask(get("/v1/nothing")).error().at("code"), "not_found");
  const Reply compact = rig.ask(post("/v1/responses/compact", R"({"input":"a"})"));
  EXPECT_EQ(compact.status, 404);
  EXPECT_EQ(compact.error().at("code"), "not_found");
  const std::string compact_message(compact.error().at("message").as_string());
  EXPECT_TRUE(compact_message.starts_with("this server does not compact conversations"))
      << compact_message;
  const Reply method = rig.ask(get(kChatPath));
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(method.header("Allow"), "POST, OPTIONS");
}

TEST(ApiServer, SaysWhatItHasAndHowItIs) {
  ServerRig rig;
  EXPECT_EQ(rig.ask(get("/health")).status, 200);
  EXPECT_EQ(rig.ask(get("/ready")).status, 503);
  const Reply early = rig.ask(post(kChatPath, kChat));
  EXPECT_EQ(early.status, 503);
  EXPECT_EQ(early.error().at("code"), "server_loading");
  EXPECT_NE(early.header("Retry-After"), "");
  rig.registry.add({.name = "a/b:c", .dispatcher = &rig.dispatcher}, true);
  rig.load();
  EXPECT_EQ(rig.ask(get("/ready")).status, 200);
  EXPECT_EQ(rig.ask(get("/v1/models")).json().at("data").as_array().size(), 2U);
  EXPECT_EQ(rig.ask(get("/v1/models/m")).json().at("id"), "m");
  EXPECT_EQ(rig.ask(get("/v1/models/a/b%3Ac")).json().at("id"), "a/b:c");
  EXPECT_EQ(rig.ask(get("/v1/models/x")).status, 404);
  rig.registry.set_state(ServeState::kStopping);
  EXPECT_EQ(rig.ask(post(kChatPath, kChat)).error().at("code"), "server_stopping");
}

TEST(ApiServer, AModelIsAskedOnlyWhatItAnswers) {
  ServerRig rig;
  rig.registry.add(
      {.name = "e", .dispatcher = &rig.dispatcher, .endpoints = {llm::Endpoint::kEmbeddings}},
      true);
  rig.registry.set_state(ServeState::kReady);
  const Reply reply = rig.ask(post(kChatPath, kChat));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.error().at("code"), "unsupported_by_model");
  EXPECT_EQ(reply.error().at("param"), "model");
}

TEST(ApiServer, AboveWhatMayWaitItRefuses) {
  ServerRig rig({}, {.in_flight_max = 1, .waiting_max = 1});
  rig.load();
  RawClient first(rig.server->port());
  RawClient second(rig.server->port());
  first.send(post(kChatPath, kChat));
  rig.backend.wait_for(1);
  second.send(post(kChatPath, kChat));
  windrow::testing::eventually([&] { return rig.dispatcher.in_flight(); }, ::testing::Ge(2));
  const Reply refused = rig.ask(post(kChatPath, kChat));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.error().at("code"), "server_overloaded");
  EXPECT_EQ(refused.error().at("type"), "rate_limit_error");
  EXPECT_NE(refused.header("Retry-After"), "");
  rig.backend.end(said("a"));
  EXPECT_EQ(read_reply(first).status, 200);
  rig.backend.end(said("b"));
  EXPECT_EQ(read_reply(second).status, 200);
}

TEST(ApiServer, BodiesAreBoundedInBytes) {
  ServerRig rig({.bytes_inside_max = 40'000});
  rig.load();
  RawClient first(rig.server->port());
  first.send(post(kChatPath, R"({"messages":[{"role":"user","content":")" +
                                 std::string(30'000, 'a') + "\"}]}"));
  rig.backend.wait_for(1);
  const Reply refused = rig.ask(post(kChatPath, kChat));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.error().at("code"), "server_overloaded");
  rig.backend.end(said("a"));
  EXPECT_EQ(read_reply(first).status, 200);
  first.send(post(kChatPath, kChat));
  rig.backend.end(said("b"));
  EXPECT_EQ(read_reply(first).status, 200);
}

TEST(ApiServer, AClientThatDisconnectsCancelsItsRequest) {
  ServerRig rig;
  rig.load();
  RawClient client(rig.server->port());
  client.send(post(kChatPath, kStream));
  rig.backend.wait_for(1);
  rig.backend.say({.text = "he"});
  client.close();
  rig.backend.wait_unwanted();
  // The server is well.
  EXPECT_EQ(rig.ask(get("/health")).status, 200);
}

TEST(ApiServer, StopFinishesWhatIsInside) {
  ServerRig rig;
  rig.load();
  RawClient client(rig.server->port());
  client.send(post(kChatPath, kChat));
  rig.backend.wait_for(1);
  RawClient resting(rig.server->port());
  resting.send(get("/health"));
  EXPECT_EQ(read_reply(resting).status, 200);
  auto stopped = std::async(std::launch::async, [&] { rig.server->stop(std::chrono::hours(1)); });
  resting.read_all();  // it is closed when the stop begins
  rig.backend.end(said("last"));
  const Reply reply = read_reply(client);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("Connection"), "close");
  client.close();
  resting.close();
  stopped.get();
}

TEST(ApiServer, StopWithoutGraceAnswersCallsInProgressWith503) {
  ServerRig rig;
  rig.load();
  RawClient whole(rig.server->port());
  RawClient stream(rig.server->port());
  whole.send(post(kChatPath, kChat));
  rig.backend.wait_for(1);
  stream.send(post(kChatPath, kStream));
  rig.backend.wait_for_call(2).listener->on_delta({.text = "he"});
  // The stream has begun when its first event is there.
  auto stopped = std::async(std::launch::async, [&] { rig.server->stop({}); });
  const Reply refused = read_reply(whole);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.error().at("code"), "server_stopping");
  const Reply cut = read_reply(stream);
  EXPECT_EQ(cut.status, 200);
  const std::vector<std::string> events = events_in(cut.body);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(json::parse(events.back()).at("error").at("code"), "server_stopping");
  rig.backend.wait_unwanted();
  rig.backend.wait_unwanted();
  stopped.get();
}

// An engine asks it as long as it likes, also while the server is taken down.
TEST(ApiServer, ArrivingMayBeReadAtAnyTime) {
  ServerRig rig;
  rig.load();
  std::atomic<bool> stopped = false;
  auto asking = std::async(std::launch::async, [&] {
    int64_t most = 0;
    while (!stopped)
      most = std::max(most, rig.server->arriving());
    return most;
  });
  rig.server->stop({});
  EXPECT_EQ(rig.server->arriving(), 0);
  stopped = true;
  EXPECT_EQ(asking.get(), 0);
}

TEST(ApiServer, WhileNoUpstreamIsReachableNoCallWaits) {
  std::atomic<bool> unreachable = false;
  ServerRig rig({.are_unreachable = [&](uint64_t) { return unreachable.load(); }},
                {.in_flight_max = 1, .waiting_max = 1});
  rig.load();
  RawClient running(rig.server->port());
  running.send(post(kChatPath, kStream));
  rig.backend.wait_for(1);
  RawClient waiting(rig.server->port());
  waiting.send(post(kChatPath, kChat));
  windrow::testing::eventually([&] { return rig.dispatcher.in_flight(); }, ::testing::Ge(2));
  unreachable = true;
  const Reply given_up = read_reply(waiting);
  EXPECT_EQ(given_up.status, 503);
  EXPECT_EQ(given_up.error().at("code"), "upstream_unreachable");
  EXPECT_NE(given_up.header("Retry-After"), "");
  // It is answered before it is taken away, and would else get the place of the other one.
  windrow::testing::eventually([&] { return rig.dispatcher.in_flight(); }, ::testing::Le(1));
  rig.backend.end_all();
  EXPECT_EQ(rig.ask(get("/ready")).status, 503);
  EXPECT_EQ(rig.ask(get("/health")).status, 200);
  EXPECT_EQ(rig.ask(post(kChatPath, kChat)).error().at("code"), "upstream_unreachable");
  unreachable = false;
  windrow::testing::eventually([&] { return rig.ask(get("/ready")).status; }, 200);
}

TEST(ApiServer, LargeAnswersComeWhole) {
  ServerRig rig;
  rig.load();
  RawClient client(rig.server->port());
  client.send(post("/v1/embeddings", R"({"input":"a"})"));
  rig.backend.wait_for(1);
  const std::vector<float> vector(100'000, 0.25F);
  rig.backend.end(llm::Answer{.embeddings = {vector}});
  const json::value body = read_reply(client).json();
  EXPECT_EQ(body.at("data").at(0).at("embedding").as_array().size(), vector.size());
}

}  // namespace
}  // namespace windrow::api
