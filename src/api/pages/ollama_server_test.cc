// Ollama's API over a real port: what comes in, goes out, streams and fails.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "api/testing/server_rig.h"
#include "base/crypto.h"
#include "base/testing/eventually.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using http::testing::RawClient;
using testing::get;
using ::testing::HasSubstr;
using testing::post;
using testing::read_reply;
using testing::Reply;
using testing::said;
using testing::ServerRig;

std::vector<json::value> lines_of(std::string_view body) {
  std::vector<json::value> lines;
  while (!body.empty()) {
    const size_t end = body.find('\n');
    lines.push_back(json::parse(body.substr(0, end)));
    body.remove_prefix(end == std::string_view::npos ? body.size() : end + 1);
  }
  return lines;
}

// A model that comes and goes as a test says.
class Guest final : public llm::ModelResidency {
 public:
  llm::ModelStatus status() const override {
    ++looks;
    const std::scoped_lock lock(mutex_);
    return reading_;
  }
  void load() override {}
  llm::UnloadResult unload() override { return llm::UnloadResult::kInUse; }
  void unload_when_unused() override { ++dismissals; }

  void set(llm::ModelStatus reading) {
    const std::scoped_lock lock(mutex_);
    reading_ = std::move(reading);
  }

  mutable std::atomic<int> looks = 0;
  std::atomic<int> dismissals = 0;

 private:
  mutable std::mutex mutex_;
  llm::ModelStatus reading_{.state = llm::LoadState::kLoaded};
};

std::shared_ptr<Guest> add_guest(ServerRig& rig) {
  auto guest = std::make_shared<Guest>();
  rig.registry.add({.name = "guest",
                    .dispatcher = &rig.dispatcher,
                    .endpoints = testing::kAllEndpoints,
                    .residence = guest});
  return guest;
}

class OllamaApi : public ::testing::Test {
 protected:
  explicit OllamaApi(bool raw = false) { rig_.load(true, raw); }

  Reply ask(const char* path, const std::string& body, llm::Outcome outcome) {
    RawClient client(rig_.server->port());
    client.send(post(path, body));
    asked_ = rig_.backend.wait_for(++count_);
    rig_.backend.end(std::move(outcome));
    return read_reply(client);
  }

  std::string refused(const char* path, const std::string& body) {
    const Reply reply = rig_.ask(post(path, body));
    EXPECT_EQ(reply.status, 400) << reply.body;
    return std::string(reply.json().at("error").as_string());
  }

  ServerRig rig_{{}, {.refusal_patience = Duration::zero()}};
  llm::Request asked_;
  size_t count_ = 0;
};

llm::Answer with_tool_call() {
  return {.choices = {{.text = "Let me see.",
                       .reasoning = "hm",
                       .tool_calls = {{.id = "c1", .name = "f", .arguments = R"({"a":1})"}},
                       .finish_reason = llm::FinishReason::kToolCalls}},
          .usage = {.prompt_tokens = 7, .completion_tokens = 5},
          .timings = {.queue_ms = 1, .prefill_ms = 20, .decode_ms = 30}};
}

TEST_F(OllamaApi, AChatIsAskedAndAnsweredInItsWords) {
  const Reply reply = ask("/api/chat", R"({"model":"m","stream":false,"think":true,"format":"json",
      "messages":[{"role":"system","content":"brief"},{"role":"user","content":"hi"}],
      "options":{"num_predict":9,"temperature":0,"top_k":3,"stop":["x"],"seed":5,"num_ctx":1024,
                 "repeat_penalty":1.5,"mirostat":0}})",
                          with_tool_call());
  EXPECT_EQ(json::value(asked_.chat.messages),
            json::parse(R"([{"role":"system","content":"brief"},{"role":"user","content":"hi"}])"));
  EXPECT_EQ(asked_.output_tokens_max, 9);
  EXPECT_EQ(asked_.sampling.temperature, 0);
  EXPECT_EQ(asked_.sampling.top_k, 3);
  EXPECT_EQ(asked_.sampling.repetition_penalty, 1.5F);
  EXPECT_TRUE(asked_.structured.has_value());
  EXPECT_EQ(json::value(asked_.chat.wishes), json::parse(R"({"enable_thinking":true})"));
  ASSERT_EQ(reply.status, 200);
  json::value body = reply.json();
  EXPECT_EQ(body.at("message"), json::parse(R"({"role":"assistant","content":"Let me see.",
      "thinking":"hm","tool_calls":[{"id":"c1","function":{"index":0,"name":"f",
      "arguments":{"a":1}}}]})"));
  EXPECT_EQ(body.at("done"), true);
  EXPECT_EQ(body.at("done_reason"), "stop");
  EXPECT_EQ(body.at("prompt_eval_count"), 7);
  EXPECT_EQ(body.at("prompt_eval_duration"), 20'000'000);
  EXPECT_EQ(body.at("eval_count"), 5);
  EXPECT_EQ(body.at("eval_duration"), 30'000'000);
  EXPECT_GT(body.at("total_duration").as_int64(), 0);
  EXPECT_THAT(std::string(body.at("created_at").as_string()), ::testing::EndsWith("Z"));
}

TEST_F(OllamaApi, AnAnswerIsAStreamOfLinesUnlessItIsToBeOne) {
  RawClient client(rig_.server->port());
  client.send(post("/api/chat", R"({"model":"m","messages":[{"role":"user","content":"hi"}]})"));
  rig_.backend.wait_for(++count_);
  rig_.backend.say({.reasoning = "h"});
  rig_.backend.say({.reasoning = "m"});
  rig_.backend.say({.text = "Let me"});
  rig_.backend.end(with_tool_call());
  const Reply reply = read_reply(client);
  EXPECT_EQ(reply.header("Content-Type"), "application/x-ndjson");
  std::string thoughts;
  std::string text;
  json::array calls;
  const std::vector<json::value> lines = lines_of(reply.body);
  for (const json::value& line : lines) {
    const json::object& message = line.at("message").as_object();
    text += message.at("content").as_string();
    if (message.contains("thinking")) thoughts += message.at("thinking").as_string();
    if (message.contains("tool_calls")) calls = message.at("tool_calls").as_array();
    EXPECT_EQ(line.at("done"), &line == &lines.back());
  }
  EXPECT_EQ(thoughts, "hm");
  EXPECT_EQ(text, "Let me see.");
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].at("function").at("arguments"), json::parse(R"({"a":1})"));
  EXPECT_EQ(lines.back().at("done_reason"), "stop");
  EXPECT_EQ(lines.back().at("eval_count"), 5);
}

TEST_F(OllamaApi, AStreamThatFailsEndsWithTheError) {
  RawClient client(rig_.server->port());
  client.send(post("/api/generate", R"({"model":"m","prompt":"hi"})"));
  rig_.backend.wait_for(++count_);
  rig_.backend.say({.text = "he"});
  rig_.backend.end(llm::Failure{.failure_class = llm::FailureClass::kBackend, .message = "broken"});
  const std::vector<json::value> lines = lines_of(read_reply(client).body);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].at("response"), "he");
  EXPECT_EQ(lines[1], json::parse(R"({"error":"broken"})"));
}

TEST_F(OllamaApi, ResultsOfToolsGoToTheirCalls) {
  ask("/api/chat", R"({"model":"m","stream":false,"messages":[
      {"role":"user","content":"a"},
      {"role":"assistant","content":"","images":[],"unknown":1,"tool_calls":[
        {"function":{"name":"f","arguments":{"x":1}}},{"function":{"name":"g"}},
        {"id":"mine","function":{"index":2,"name":"f","arguments":{}}}]},
      {"role":"tool","tool_name":"g","content":"G"},
      {"role":"tool","tool_call_id":"mine","content":"M"},
      {"role":"tool","tool_name":"f","content":"F"},
      {"role":"tool","content":"?"}]})",
      said("ok"));
  const json::array& messages = asked_.chat.messages;
  ASSERT_EQ(messages.size(), 6U);
  EXPECT_EQ(messages[1].at("tool_calls").at(1).at("function").at("name"), "g");
  const json::value id_of_g = messages[1].at("tool_calls").at(1).at("id");
  EXPECT_EQ(messages[2].at("tool_call_id"), id_of_g);
  EXPECT_EQ(messages[3].at("tool_call_id"), "mine");
  EXPECT_EQ(messages[4].at("tool_call_id"), messages[1].at("tool_calls").at(0).at("id"));
  EXPECT_EQ(messages[4].at("content"), "F");
}

TEST_F(OllamaApi, APromptIsAChatUnlessItIsRaw) {
  Reply reply = ask("/api/generate",
                    R"({"model":"m","stream":false,"prompt":"hi","system":"brief"})", said("yes"));
  EXPECT_EQ(asked_.endpoint, llm::Endpoint::kChatCompletions);
  EXPECT_EQ(json::value(asked_.chat.messages),
            json::parse(R"([{"role":"system","content":"brief"},{"role":"user","content":"hi"}])"));
  EXPECT_EQ(reply.json().at("response"), "yes");
  reply = ask("/api/generate", R"({"model":"m","stream":false,"prompt":"hi","raw":true,
              "options":{"num_predict":3}})",
              said("yes"));
  EXPECT_EQ(asked_.endpoint, llm::Endpoint::kCompletions);
  EXPECT_EQ(asked_.inputs.at(0).text, "hi");
  EXPECT_EQ(asked_.output_tokens_max, 3);
  EXPECT_EQ(reply.json().at("response"), "yes");
  EXPECT_THAT(
      refused("/api/generate", R"({"model":"m","prompt":"hi","raw":true,"system":"brief"})"),
      HasSubstr("system is given with raw"));
}

TEST_F(OllamaApi, TextsAreEmbedded) {
  const llm::Answer answer{.embeddings = {{0.5F, 1.0F}, {0.25F, 0.0F}},
                           .usage = {.prompt_tokens = 4}};
  Reply reply = ask("/api/embed", R"({"model":"m","input":["a","b"],"truncate":true,
                    "keep_alive":"5m","options":{"temperature":0}})",
                    answer);
  EXPECT_EQ(asked_.inputs.size(), 2U);
  EXPECT_EQ(reply.json().at("embeddings"), json::parse("[[0.5,1.0],[0.25,0.0]]"));
  EXPECT_EQ(reply.json().at("prompt_eval_count"), 4);
  reply = ask("/api/embeddings", R"({"model":"m","prompt":"a"})", answer);
  EXPECT_EQ(reply.json(), json::parse(R"({"embedding":[0.5,1.0]})"));
  EXPECT_THAT(refused("/api/embed", R"({"model":"m"})"), HasSubstr("/api/embed needs"));
}

TEST_F(OllamaApi, WhatIsWrongIsSaidInItsWords) {
  const auto chat = [&](const std::string& more) {
    return refused("/api/chat",
                   R"({"model":"m","messages":[{"role":"user","content":"a"}],)" + more + "}");
  };
  EXPECT_THAT(chat(R"("options":{"top_p":2})"), HasSubstr("options.top_p is 2"));
  EXPECT_THAT(chat(R"("options":{"num_predict":0})"), HasSubstr("options.num_predict"));
  EXPECT_THAT(chat(R"("options":{"mirostat":2})"),
              HasSubstr("options.mirostat must be 0, or absent"));
  EXPECT_THAT(chat(R"("options":{"tempature":1})"),
              HasSubstr("options.tempature is not supported"));
  EXPECT_THAT(chat(R"("format":"xml")"), HasSubstr(R"(format must be "json" or a JSON Schema)"));
  EXPECT_THAT(chat(R"("tone":1)"), HasSubstr("\"tone\" is not a field that /api/chat supports"));
  EXPECT_THAT(refused("/api/chat",
                      R"({"model":"m","messages":[{"role":"user","content":"a","images":["x"]}]})"),
              HasSubstr("messages[0].images are not supported"));
  EXPECT_THAT(refused("/api/generate", R"({"model":"m","prompt":"a","suffix":"b"})"),
              HasSubstr("suffix must be"));
  EXPECT_THAT(refused("/api/chat", "{"), HasSubstr("the body is not valid JSON"));
  const Reply nowhere = rig_.ask(post("/api/pull", R"({"model":"x"})"));
  EXPECT_EQ(nowhere.status, 404);
  EXPECT_TRUE(nowhere.json().at("error").is_string());
}

TEST_F(OllamaApi, WithoutAPromptAModelIsLoaded) {
  for (const char* body : {R"({"model":"m"})", R"({"model":"m","messages":[]})"}) {
    const Reply reply = rig_.ask(post("/api/chat", body));
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.json().at("done_reason"), "load");
    EXPECT_EQ(reply.json().at("message").at("content"), "");
  }
  EXPECT_EQ(rig_.ask(post("/api/generate", R"({"model":"m","prompt":""})")).json().at("response"),
            "");
  // This one is always there.
  EXPECT_THAT(refused("/api/generate", R"({"model":"m","keep_alive":0})"),
              HasSubstr("cannot be loaded or unloaded"));
  EXPECT_THAT(refused("/api/generate", R"({"model":"m","keep_alive":"0s"})"),
              HasSubstr("cannot be loaded or unloaded"));
}

class OllamaLoads : public OllamaApi {
 protected:
  // What a client gets who has it loaded; `then` is what becomes of it while the client waits.
  Reply load(const llm::ModelStatus& then) {
    guest_->set({.state = llm::LoadState::kLoading});
    RawClient client(rig_.server->port());
    client.send(post("/api/generate", R"({"model":"guest"})"));
    wait_for_looks();
    guest_->set(then);
    return read_reply(client);
  }

  void wait_for_looks() {
    const int before = guest_->looks;
    windrow::testing::eventually([&] { return guest_->looks.load(); }, ::testing::Gt(before + 2));
  }

  const std::shared_ptr<Guest> guest_ = add_guest(rig_);
};

TEST_F(OllamaLoads, AreAnsweredWhenTheModelIsThere) {
  const Reply there = load({.state = llm::LoadState::kLoaded, .loads = 1});
  EXPECT_EQ(there.status, 200);
  EXPECT_EQ(there.json().at("done_reason"), "load");
  const Reply broken = load({.loads_failed = 1, .load_error = "no such file"});
  EXPECT_EQ(broken.status, 503);
  EXPECT_THAT(broken.json().at("error").as_string().c_str(), HasSubstr("no such file"));
}

TEST_F(OllamaLoads, AreWaitedForUntilTheirDeadlines) {
  guest_->set({.state = llm::LoadState::kLoading});
  const auto load_until = [this](const char* deadline) {
    return rig_.ask(post("/api/generate", R"({"model":"guest"})",
                         fmt::format("X-Windrow-Deadline-Ms: {}\r\n", deadline)));
  };
  const Reply late = load_until("1");
  EXPECT_EQ(late.status, 408);
  EXPECT_TRUE(late.json().at("error").is_string()) << late.body;
  EXPECT_EQ(load_until("soon").status, 400);
}

TEST_F(OllamaLoads, EndWithTheirClientsAndWithTheServer) {
  guest_->set({.state = llm::LoadState::kLoading});
  RawClient leaver(rig_.server->port());
  RawClient waiter(rig_.server->port());
  for (RawClient* client : {&leaver, &waiter})
    client->send(post("/api/generate", R"({"model":"guest"})"));
  wait_for_looks();
  // Both have come when another connection that was opened later has been served.
  rig_.ask(get("/health"));
  leaver.close();
  auto stopped = std::async(std::launch::async, [&] { rig_.server->stop({}); });
  EXPECT_EQ(read_reply(waiter).status, 503);
  waiter.close();
  stopped.get();
}

TEST_F(OllamaApi, AModelThatIsNotKeptAliveLeavesAfterTheAnswer) {
  const std::shared_ptr<Guest> guest = add_guest(rig_);
  int dismissals = 0;
  for (const auto& [path, body] :
       {std::pair("/api/chat", R"("messages":[{"role":"user","content":"a"}])"),
        std::pair("/api/generate", R"("prompt":"a")"), std::pair("/api/embed", R"("input":"a")"),
        std::pair("/api/embeddings", R"("prompt":"a")")}) {
    const std::string start = R"({"model":"guest",)" + std::string(body);
    EXPECT_EQ(ask(path, start + R"(,"keep_alive":"5m"})", said("b")).status, 200) << path;
    EXPECT_EQ(guest->dismissals, dismissals) << path;
    EXPECT_EQ(ask(path, start + R"(,"keep_alive":0})", said("b")).status, 200) << path;
    EXPECT_EQ(guest->dismissals, ++dismissals) << path << ": while it is answered";
  }
  // One that is always there stays.
  EXPECT_EQ(ask("/api/generate", R"({"model":"m","prompt":"a","keep_alive":0})", said("b")).status,
            200);
}

TEST_F(OllamaApi, ModelsAreListedAndShown) {
  EXPECT_EQ(rig_.ask(get("/api/tags")).json().at("models").at(0).at("model"), "m");
  EXPECT_EQ(rig_.ask(get("/api/ps")).json().at("models").at(0).at("name"), "m");
  EXPECT_TRUE(rig_.ask(get("/api/version")).json().at("version").is_string());
  const Reply shown = rig_.ask(post("/api/show", R"({"model":"m"})"));
  ASSERT_EQ(shown.status, 200);
  EXPECT_EQ(shown.json().at("capabilities"), json::parse(R"(["completion","tools","embedding"])"));
  EXPECT_EQ(rig_.ask(post("/api/show", "{}")).status, 400);
  EXPECT_EQ(rig_.ask(post("/api/show", std::string(20'000, ' '))).status, 413);
}

TEST(OllamaNames, ATagIsLeftOutWhereNoModelHasIt) {
  ServerRig rig;
  rig.load(false);
  EXPECT_EQ(rig.ask(post("/api/show", R"({"model":"m:latest"})")).status, 200);
  EXPECT_EQ(rig.ask(post("/api/chat", R"({"model":"m:latest"})")).status, 200);
  const Reply reply = rig.ask(post("/api/chat", R"({"model":"m:7b"})"));
  EXPECT_EQ(reply.status, 404);
  EXPECT_THAT(reply.body, HasSubstr("there is no model"));
}

TEST(OllamaOfAServerWithKeys, WantsOne) {
  Sha256 hash;
  hash.add("wr-key");
  ApiOptions options;
  options.keys = std::make_shared<KeyRingHolder>(
      *KeyRing::parse("alice sha256:" + hash.finish() + "\n", "keys"));
  ServerRig rig(std::move(options));
  rig.load();
  for (const std::string& request : {get("/api/tags"), post("/api/chat", "{}")}) {
    const Reply reply = rig.ask(request);
    EXPECT_EQ(reply.status, 401);
    EXPECT_TRUE(reply.json().at("error").is_string()) << reply.body;
  }

  // Only an admin's unloads a model; the others' may still say how long they need it.
  const std::shared_ptr<Guest> guest = add_guest(rig);
  RawClient client(rig.server->port());
  client.send(post("/api/generate", R"({"model":"guest","prompt":"a","keep_alive":0})",
                   "Authorization: Bearer wr-key\r\n"));
  rig.backend.wait_for(1);
  rig.backend.end(said("b"));
  EXPECT_EQ(read_reply(client).status, 200);
  EXPECT_EQ(guest->dismissals, 0);
}

class OllamaElsewhere : public OllamaApi {
 protected:
  OllamaElsewhere() : OllamaApi(true) {}
};

TEST_F(OllamaElsewhere, ItsAnswersAreTranslated) {
  llm::Answer answer;
  answer.raw = R"({"choices":[{"index":0,"message":{"role":"assistant","content":"yes"},
                   "finish_reason":"length"}],"usage":{"prompt_tokens":3,"completion_tokens":2}})";
  const Reply chat = ask("/api/chat", R"({"model":"m","stream":false,"think":"low",
                         "messages":[{"role":"user","content":"hi"}]})",
                         answer);
  EXPECT_EQ(chat.json().at("message").at("content"), "yes");
  EXPECT_EQ(chat.json().at("done_reason"), "length");
  EXPECT_EQ(json::parse(asked_.raw).at("reasoning_effort"), "low");

  answer.raw = R"({"choices":[{"index":0,"text":"on"}]})";
  const Reply text =
      ask("/api/generate", R"({"model":"m","stream":false,"prompt":"go","raw":true})", answer);
  EXPECT_EQ(text.json().at("response"), "on");

  answer.raw = R"({"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1.5]}],
                   "usage":{"prompt_tokens":4}})";
  const Reply embedded = ask("/api/embed", R"({"model":"m","input":["a","b"]})", answer);
  EXPECT_EQ(embedded.json().at("embeddings"), json::parse("[[1.5],[2.0]]"));
  EXPECT_EQ(embedded.json().at("prompt_eval_count"), 4);
}

}  // namespace
}  // namespace windrow::api
