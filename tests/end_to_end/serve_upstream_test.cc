// `windrow serve` before servers elsewhere: what clients hear of them, and that they come and go.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <csignal>
#include <memory>
#include <string>
#include <string_view>

#include "end_to_end/served.h"
#include "end_to_end/sim_upstream.h"
#include "http/testing/test_server.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Ne;
using ::testing::Not;

TEST(ServeUpstream, TheOnlyUpstreamThatIsDeadEndsTheServer) {
  const JobFolder folder;
  const Ended ended =
      folder.windrow({"serve", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1/v1"});
  EXPECT_EQ(ended.code, 3) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("127.0.0.1:1"));
}

TEST(ServeUpstream, UpstreamsAnswerForTheServer) {
  const JobFolder folder;
  Served behind(folder, {"--model", "chat=sim:instant"});
  ASSERT_TRUE(behind.wait_until_ready());
  Served front(folder, {"--upstream", fmt::format("http://127.0.0.1:{}/v1", behind.port()),
                        "--model-alias", "fast=chat"});
  ASSERT_TRUE(front.wait_until_ready()) << front.process().wait();
  for (const char* model : {"chat", "fast"}) {
    const HttpReply reply = front.post(
        "/v1/completions", fmt::format(R"({{"model":"{}","prompt":"a","max_tokens":3}})", model));
    EXPECT_EQ(reply.status, 200) << reply.body;
  }
  EXPECT_EQ(front.post("/v1/completions", R"({"model":"none","prompt":"a"})").status, 404);
  const std::string page = front.get("/metrics").body;
  const std::string label = fmt::format(R"({{upstream="http://127.0.0.1:{}"}})", behind.port());
  EXPECT_THAT(page, HasSubstr(fmt::format("windrow_upstream_healthy{} 1", label)));
  EXPECT_THAT(page, HasSubstr(fmt::format("windrow_upstream_answers_total{} 2", label)));
}

TEST(ServeUpstream, AFileHereIsTheTokenizerOfAModelThere) {
  const JobFolder folder;
  folder.use_model(model_path("qwen3"));
  Served behind(folder, {"--model", "chat=model.gguf"});
  ASSERT_TRUE(behind.wait_until_ready());
  const std::string url = fmt::format("http://127.0.0.1:{}/v1", behind.port());
  Served front(folder, {"--upstream", url, "--tokenizer", "chat=model.gguf"});
  ASSERT_TRUE(front.wait_until_ready()) << front.process().wait();
  const std::string messages = R"("messages":[{"role":"user","content":"the house"}])";
  const std::string there = behind.post("/tokenize", fmt::format("{{{}}}", messages)).body;
  const std::string here =
      front.post("/tokenize", fmt::format(R"({{"model":"chat",{}}})", messages)).body;
  EXPECT_EQ(json::parse(here).at("tokens"), json::parse(there).at("tokens"));
  const json::value answer =
      json::parse(front
                      .post("/v1/chat/completions",
                            fmt::format(R"({{"model":"chat","max_tokens":1,{}}})", messages))
                      .body);
  EXPECT_EQ(answer.at("usage").at("prompt_tokens"), json::parse(here).at("count"))
      << "the tokens are those that a chat sends";

  Served without(folder, {"--upstream", url});
  ASSERT_TRUE(without.wait_until_ready());
  const HttpReply refused = without.post("/tokenize", R"({"model":"chat","content":"a"})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("--tokenizer chat=model.gguf"));

  const SimUpstream listed(folder, {});
  const auto fault = [&](const std::string& tokenizer) {
    const Ended ended = folder.windrow(
        {"serve", "--listen", "127.0.0.1:0", "--upstream", listed.url(), "--tokenizer", tokenizer});
    EXPECT_EQ(ended.code, 2) << ended;
    return ended.errors;
  };
  EXPECT_THAT(fault("other=model.gguf"),
              HasSubstr("no server has a model of this name; the models are sim"));
  EXPECT_THAT(fault("sim=missing.gguf"), HasSubstr("there is no such model file"));
}

TEST(ServeUpstream, ATokenizerThatIsNotTheServersIsRefused) {
  const JobFolder folder;
  folder.use_model(model_path("qwen3"));
  Served behind(folder, {"--model", "right=model.gguf", "--model", "wrong=sim:instant"});
  ASSERT_TRUE(behind.wait_until_ready());
  Served front(folder, {"--upstream", fmt::format("http://127.0.0.1:{}/v1", behind.port()),
                        "--tokenizer", "right=model.gguf", "--tokenizer", "wrong=model.gguf"});
  ASSERT_TRUE(front.wait_until_ready()) << front.process().wait();
  const auto tokenize = [&](std::string_view model) {
    return front.post("/tokenize", fmt::format(R"({{"model":"{}","content":"a"}})", model));
  };
  for (const char* model : {"right", "wrong"}) {
    EXPECT_EQ(tokenize(model).status, 200) << "nothing is known yet";
    const std::string wish =
        fmt::format(R"("model":"{}","max_tokens":1,"return_token_ids":true)", model);
    EXPECT_EQ(
        front
            .post("/v1/chat/completions",
                  fmt::format(R"({{{},"messages":[{{"role":"user","content":"the old house"}}]}})",
                              wish))
            .status,
        200);
    EXPECT_EQ(
        front.post("/v1/completions", fmt::format(R"({{{},"prompt":"the house"}})", wish)).status,
        200);
  }
  EXPECT_EQ(tokenize("right").status, 200);
  for (const char* path : {"/tokenize", "/detokenize", "/apply-template"}) {
    const HttpReply refused = front.post(path, R"({"model":"wrong"})");
    EXPECT_EQ(refused.status, 400) << refused.body;
    EXPECT_THAT(refused.body, HasSubstr("--tokenizer wrong"));
    EXPECT_THAT(refused.body, Not(HasSubstr("house")));
  }
  EXPECT_TRUE(front.process().wait_for_errors("--tokenizer wrong="));
}

TEST(ServeUpstream, ClientsDoNotSeeTheUrlsOfUpstreams) {
  const JobFolder folder;
  const SimUpstream behind(folder, {"--fault", "reset=1"});
  Served front(folder, {"--upstream", behind.url(), "--max-attempts", "1"});
  ASSERT_TRUE(front.wait_until_ready()) << front.process().wait();
  const HttpReply models = front.get("/v1/models");
  const std::string name(json::parse(models.body).at("data").at(0).at("id").as_string());
  const HttpReply reply = front.post(
      "/v1/completions", fmt::format(R"({{"model":"{}","prompt":"a","max_tokens":3}})", name));
  EXPECT_EQ(reply.status, 502) << reply.body;
  EXPECT_THAT(reply.body, HasSubstr("a server behind this one"));
  EXPECT_THAT(reply.body, Not(HasSubstr("127.0.0.1")));
}

TEST(ServeUpstream, ARequestThatUpstreamsRefuseIsSoonRefused) {
  const JobFolder folder;
  const SimUpstream behind(folder, {"--fault", "429=1", "--model", "chat"});
  Served front(folder, {"--upstream", behind.url(), "--refusal-patience", "1"});
  ASSERT_TRUE(front.wait_until_ready()) << front.process().wait();
  const HttpReply reply =
      front.post("/v1/completions", R"({"model":"chat","prompt":"a","max_tokens":3})");
  EXPECT_EQ(reply.status, 429) << reply.body;
  EXPECT_THAT(reply.head, HasSubstr("Retry-After: "));
}

constexpr std::string_view kModelsReply =
    R"({"object":"list","data":[{"id":"chat","object":"model"}]})";

http::testing::TestReply reply_of(int32_t status, std::string_view body) {
  http::testing::TestReply reply{.status = status, .body = std::string(body)};
  reply.headers.add("Content-Type", "application/json");
  return reply;
}

std::string chat_url(const http::testing::TestServer& server) {
  return fmt::format("http://127.0.0.1:{}/v1", server.port());
}

// A key that is over is no matter of the clients.
TEST(ServeUpstream, MessagesAboutTheUpstreamsKeyAreNotForClients) {
  http::testing::TestServer behind([](const http::testing::TestRequest& request) {
    if (request.method == "GET") return reply_of(200, kModelsReply);
    return reply_of(401, R"({"error":{"message":"key of 10.0.0.5 is over","code":"key_over"}})");
  });
  const JobFolder folder;
  Served front(folder, {"--upstream", chat_url(behind)});
  ASSERT_TRUE(front.wait_until_ready()) << front.process().wait();
  const HttpReply reply = front.post("/v1/completions", R"({"model":"chat","prompt":"a"})");
  EXPECT_EQ(reply.status, 502) << reply.body;
  EXPECT_THAT(reply.body, HasSubstr("upstream_denied"));
  EXPECT_THAT(reply.body, Not(HasSubstr("over")));
  EXPECT_TRUE(front.process().wait_for_errors("key of 10.0.0.5 is over"));
}

// A prompt that is always refused is not what the server is tried with while others wait.
TEST(ServeUpstream, ARequestThatIsAlwaysRefusedStopsNoOther) {
  std::atomic<int> refused = 0;
  http::testing::TestServer behind([&](const http::testing::TestRequest& request) {
    if (request.method == "GET") return reply_of(200, kModelsReply);
    if (request.body.find("never") != std::string::npos) {
      ++refused;
      return reply_of(503, R"({"error":{"message":"not now","type":"server_error"}})");
    }
    return reply_of(200, R"({"choices":[{"index":0,"text":"yes","finish_reason":"stop"}]})");
  });
  const JobFolder folder;
  Served front(folder, {"--upstream", chat_url(behind), "--refusal-patience", "600"});
  ASSERT_TRUE(front.wait_until_ready()) << front.process().wait();
  const auto body = [](std::string_view prompt) {
    return fmt::format(R"({{"model":"chat","prompt":"{}","max_tokens":3}})", prompt);
  };
  const HttpCall one(front.port(), "POST", "/v1/completions", body("never"));
  const HttpCall other(front.port(), "POST", "/v1/completions", body("never ever"));
  ASSERT_TRUE(front.process().wait_until([&] { return refused.load(); }, Ge(4)));
  for (int i = 0; i < 20; ++i) {
    const HttpReply reply = front.post("/v1/completions", body(fmt::format("prompt {}", i)));
    ASSERT_EQ(reply.status, 200) << reply.body;
  }
}

TEST(ServeUpstream, AnUpstreamMayGoAndComeBackWithMoreModels) {
  const JobFolder folder;
  auto behind = std::make_unique<Served>(folder, Words{"--model", "chat=sim:instant"});
  ASSERT_TRUE(behind->wait_until_ready());
  const uint16_t port = behind->port();
  Served front(folder, {"--upstream", fmt::format("http://127.0.0.1:{}/v1", port)});
  ASSERT_TRUE(front.wait_until_ready()) << front.process().wait();
  const auto ask = [&](std::string_view model) {
    return front.post("/v1/completions",
                      fmt::format(R"({{"model":"{}","prompt":"a","max_tokens":3}})", model));
  };
  EXPECT_EQ(ask("chat").status, 200);
  EXPECT_EQ(ask("more").status, 404);

  behind->process().send(SIGKILL);
  behind->process().wait();
  ASSERT_TRUE(front.process().wait_until([&] { return front.get("/ready").status; }, Ne(200)));
  const HttpReply nobody = ask("chat");
  EXPECT_EQ(nobody.status, 503);
  EXPECT_THAT(nobody.body, HasSubstr("upstream_unreachable"));

  behind = std::make_unique<Served>(
      folder, Words{"--model", "chat=sim:instant", "--model", "more=sim:instant"},
      fmt::format("127.0.0.1:{}", port));
  ASSERT_TRUE(front.process().wait_until([&] { return front.get("/ready").status; }, 200));
  EXPECT_EQ(ask("chat").status, 200);
  ASSERT_TRUE(front.process().wait_until([&] { return ask("more").status; }, Ne(404)));
  EXPECT_EQ(ask("more").status, 200);
}

std::string prompt_for(std::string_view model, int tokens, std::string_view members = "") {
  return fmt::format(R"({{"model":"{}","prompt":"a","max_tokens":{}{}}})", model, tokens, members);
}

TEST(ServeUpstream, AModelWhoseOnlyServerIsAwayIsRefusedAlone) {
  const JobFolder folder;
  const SimUpstream one(folder, {"--model", "a", "--model", "both"});
  SimUpstream other(folder, {"--model", "b", "--model", "both"});
  Served front(folder, {"--upstream", one.url(), "--upstream", other.url()});
  ASSERT_TRUE(front.wait_until_ready()) << front.process().wait();
  const auto models = [&] { return front.get("/v1/models").body; };
  ASSERT_TRUE(front.process().wait_until(models, HasSubstr(R"("b")")));
  other.stop();
  // It comes before that is known, and is not left to wait.
  const HttpReply waited = front.post("/v1/completions", prompt_for("b", 2));
  EXPECT_EQ(waited.status, 503) << waited.body;
  EXPECT_THAT(waited.body, HasSubstr("upstream_unreachable"));
  EXPECT_EQ(front.get("/ready?model=b").status, 503);
  EXPECT_EQ(front.get("/ready?model=both").status, 200);
  EXPECT_THAT(front.get("/ready").body, HasSubstr(R"("unreachable":["b"])"));
  for (const char* model : {"a", "both"})
    EXPECT_EQ(front.post("/v1/completions", prompt_for(model, 2)).status, 200) << model;
}

// It closes its port at once, and finishes what runs.
TEST(ServeUpstream, AnUpstreamThatStopsGentlyFinishesItsStreams) {
  const JobFolder folder;
  Served behind(folder, {"--model", "chat=sim:step-us=40000", "--grace", "60"});
  ASSERT_TRUE(behind.wait_until_ready());
  Served front(folder, {"--upstream", fmt::format("http://127.0.0.1:{}/v1", behind.port())});
  ASSERT_TRUE(front.wait_until_ready()) << front.process().wait();
  HttpCall stream(front.port(), "POST", "/v1/completions",
                  prompt_for("chat", 400, R"(,"stream":true)"));
  ASSERT_TRUE(stream.wait_for("data: "));
  behind.process().send(SIGTERM);
  ASSERT_TRUE(front.process().wait_until([&] { return front.get("/ready").status; }, Ne(200)));
  EXPECT_EQ(front.post("/v1/completions", prompt_for("chat", 3)).status, 503);
  const std::string events = stream.rest().body;
  EXPECT_THAT(events, HasSubstr("data: [DONE]"));
  EXPECT_THAT(events, Not(HasSubstr("upstream_unreachable")));
}

std::string words(size_t bytes) {
  std::string text;
  for (size_t i = 0; text.size() < bytes; ++i)
    text += "word" + std::to_string(i) + " ";
  return text;
}

// A server that starts late is asked what it is before it gets a row: an Ollama would cut this
// prompt and answer the rest of it.
TEST(ServeUpstream, AnOllamaThatStartsLateIsRecognised) {
  const JobFolder folder;
  Served there(folder, {"--model", "chat=sim:instant"});
  ASSERT_TRUE(there.wait_until_ready());
  const uint16_t port = http::testing::closed_port();
  Served front(folder, {"--upstream", fmt::format("http://127.0.0.1:{}/v1", there.port()),
                        "--upstream", fmt::format("http://127.0.0.1:{}/v1", port)});
  ASSERT_TRUE(front.wait_until_ready()) << front.process().wait();
  const std::string healthy =
      fmt::format(R"(windrow_upstream_healthy{{upstream="http://127.0.0.1:{}"}} )", port);
  EXPECT_THAT(front.get("/metrics").body, HasSubstr(healthy + "0\n"));

  const SimUpstream late(
      folder, {"--ollama", "--context", "1000", "--token-ms", "0", "--model", "cutter"}, port);
  ASSERT_TRUE(
      front.process().wait_for_errors(fmt::format("http://127.0.0.1:{} answers: Ollama", port)));
  ASSERT_TRUE(front.process().wait_until([&] { return front.get("/v1/models").body; },
                                         HasSubstr("cutter")));
  EXPECT_THAT(front.get("/metrics").body, HasSubstr(healthy + "1\n"));
  const auto ask = [&](const std::string& text) {
    return front.post(
        "/v1/chat/completions",
        fmt::format(R"({{"model":"cutter","messages":[{{"role":"user","content":"{}"}}]}})", text));
  };
  EXPECT_EQ(ask("hello").status, 200);
  const HttpReply cut = ask(words(40'000));
  EXPECT_EQ(cut.status, 400) << cut.body;
  EXPECT_THAT(cut.body, HasSubstr("context_length_exceeded"));
}

}  // namespace
}  // namespace windrow::end_to_end
