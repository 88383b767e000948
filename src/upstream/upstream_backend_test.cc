// The backend against a real server on loopback.
#include "upstream/upstream_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "http/curl_client.h"
#include "http/loop.h"
#include "http/testing/test_server.h"

namespace windrow::upstream {
namespace {

using http::testing::TestReply;
using http::testing::TestRequest;
using http::testing::TestServer;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kAnswer =
    R"({"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],)"
    R"("usage":{"prompt_tokens":5,"completion_tokens":2,)"
    R"("prompt_tokens_details":{"cached_tokens":3}}})";

TestReply json_reply(std::string body, int32_t status = 200) {
  TestReply reply;
  reply.status = status;
  reply.headers.set("Content-Type", "application/json");
  reply.body = std::move(body);
  return reply;
}

llm::Request chat(std::string raw) {
  llm::Request request;
  request.raw = std::move(raw);
  request.model = "m";
  return request;
}

class UpstreamBackendTest : public ::testing::Test {
 protected:
  void open(UpstreamOptions options = {}) {
    options.base = with_version(server_.url("/"));
    options.on_failure = [this](const llm::Failure& failure) {
      const std::scoped_lock lock(mutex_);
      told_.push_back(failure.code);
      texts_.push_back(failure.message);
    };
    backend_ = std::make_unique<UpstreamBackend>(*client_, clock_, std::move(options));
  }

  llm::Outcome ask(llm::Request request) {
    std::promise<llm::Outcome> outcome;
    backend_->submit(llm::plain_call(std::move(request)),
                     [&](llm::Outcome one) { outcome.set_value(std::move(one)); });
    return outcome.get_future().get();
  }

  TestReply handle(const TestRequest& request) {
    const std::scoped_lock lock(mutex_);
    seen_.push_back(request);
    return reply_;
  }

  SystemClock clock_;
  http::Loop loop_{clock_};
  std::unique_ptr<http::Client> client_ =
      std::make_unique<http::CurlClient>(loop_, http::ClientOptions{});
  std::mutex mutex_;
  TestReply reply_ = json_reply(std::string(kAnswer));
  std::vector<TestRequest> seen_;
  std::vector<std::string> told_;
  std::vector<std::string> texts_;
  TestServer server_{[this](const TestRequest& request) { return handle(request); }};
  std::unique_ptr<UpstreamBackend> backend_;
};

TEST_F(UpstreamBackendTest, ABodyGoesOutAsItWasWrittenAndTheReplyIsKept) {
  UpstreamOptions options;
  options.api_key = "sk-1";
  options.headers.set("X-Own", "yes");
  open(std::move(options));
  const llm::Outcome outcome = ask(chat(R"({"model":"m", "vendor":{"x":1.0}})"));
  ASSERT_TRUE(std::holds_alternative<llm::Answer>(outcome));
  EXPECT_EQ(std::get<llm::Answer>(outcome).raw, kAnswer);
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_EQ(seen_[0].method, "POST");
  EXPECT_EQ(seen_[0].target, "/v1/chat/completions");
  EXPECT_EQ(seen_[0].body, R"({"model":"m", "vendor":{"x":1.0}})");
  EXPECT_EQ(seen_[0].headers.get("authorization"), "Bearer sk-1");
  EXPECT_EQ(seen_[0].headers.get("x-own"), "yes");
  EXPECT_EQ(backend_->status().answers, 1);
  const llm::BackendStats stats = backend_->stats();
  EXPECT_EQ(stats.prompt_tokens, 2);
  EXPECT_EQ(stats.cached_tokens, 3);
  EXPECT_EQ(stats.generated_tokens, 2);
}

TEST_F(UpstreamBackendTest, AnAliasChangesTheModelAndNothingElse) {
  UpstreamOptions options;
  options.aliases = {{"m", "llama3:\"70b\""}};
  open(std::move(options));
  ask(chat(R"({"temperature":0.50,"model":"m","top_p":1})"));
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_EQ(seen_[0].body, R"({"temperature":0.50,"model":"llama3:\"70b\"","top_p":1})");
}

TEST_F(UpstreamBackendTest, FailuresAreCountedAndTold) {
  open();
  reply_ = json_reply(R"({"error":{"message":"slow down","code":"rate"}})", 429);
  reply_.headers.set("Retry-After", "7");
  const llm::Outcome outcome = ask(chat("{}"));
  const auto& failure = std::get<llm::Failure>(outcome);
  EXPECT_EQ(failure.failure_class, llm::FailureClass::kTransient);
  EXPECT_TRUE(failure.overloaded);
  EXPECT_EQ(failure.retry_after_ms, 7000);
  EXPECT_EQ(told_, std::vector<std::string>{"rate"});
  EXPECT_EQ(backend_->status().failures, 1);
  EXPECT_EQ(backend_->status().failures_by_code,
            (std::vector<std::pair<std::string, int64_t>>{{"rate", 1}}));
  EXPECT_EQ(backend_->status().failures_by_kind,
            (std::vector<std::pair<std::string_view, int64_t>>{{"unreached", 0},
                                                               {"files", 0},
                                                               {"overloaded", 1},
                                                               {"timeout", 0},
                                                               {"broken", 0},
                                                               {"request", 0}}));
}

TEST_F(UpstreamBackendTest, ClientsHearNothingOfWhereItIs) {
  UpstreamOptions options;
  options.client_name = "a server behind this one";
  open(std::move(options));
  reply_ = json_reply(R"({"error":{"message":"slow down","code":"rate"}})", 429);
  const llm::Outcome refused = ask(chat("{}"));
  EXPECT_THAT(std::get<llm::Failure>(refused).message,
              StartsWith("a server behind this one answered 429: slow down"));
  reply_.bytes_max = 10;
  reply_.end = TestReply::End::kReset;
  const llm::Outcome broken = ask(chat("{}"));
  EXPECT_THAT(std::get<llm::Failure>(broken).message, Not(HasSubstr("127.0.0.1")));
  ASSERT_EQ(texts_.size(), 2U);
  for (const std::string& text : texts_)
    EXPECT_THAT(text, HasSubstr(backend_->name())) << "who runs it is told";
}

TEST(FailureKinds, AreFew) {
  const auto kind = [](llm::Failure failure) { return kind_of(failure); };
  using llm::FailureClass;
  EXPECT_EQ(kind({.failure_class = FailureClass::kTransient, .status = 502, .unreached = true}),
            FailureKind::kUnreached);
  EXPECT_EQ(kind({.failure_class = FailureClass::kTransient, .status = 503, .overloaded = true}),
            FailureKind::kOverloaded);
  EXPECT_EQ(kind({.failure_class = FailureClass::kTransient, .status = 504, .overloaded = true}),
            FailureKind::kTimeout);
  EXPECT_EQ(kind({.failure_class = FailureClass::kTransient, .status = 500}), FailureKind::kBroken);
  EXPECT_EQ(kind({.failure_class = FailureClass::kRequest, .status = 502}), FailureKind::kBroken);
  EXPECT_EQ(kind({.failure_class = FailureClass::kRequest, .status = 404}), FailureKind::kRequest);
}

TEST_F(UpstreamBackendTest, AKeyThatTheServerRepeatsIsHidden) {
  UpstreamOptions options;
  options.api_key = "sk-secret";
  open(std::move(options));
  reply_ = json_reply(R"({"error":{"message":"Incorrect API key provided: sk-secret"}})", 400);
  const llm::Outcome outcome = ask(chat("{}"));
  const auto& failure = std::get<llm::Failure>(outcome);
  EXPECT_THAT(failure.message, HasSubstr("provided: ***"));
  EXPECT_EQ(failure.message.find("sk-secret"), std::string::npos);
  EXPECT_EQ(failure.raw.find("sk-secret"), std::string::npos);
}

TEST_F(UpstreamBackendTest, AByteOrderMarkIsNoFault) {
  open();
  reply_ = json_reply("\xEF\xBB\xBF" + std::string(kAnswer));
  EXPECT_EQ(std::get<llm::Answer>(ask(chat("{}"))).raw, kAnswer);
}

TEST_F(UpstreamBackendTest, JsonThatIsNoneMayComeRightTheNextTime) {
  open();
  llm::Request request = chat("{}");
  request.structure = llm::Structure::kJsonObject;
  request.structure_field = "response_format";
  const llm::Outcome outcome = ask(std::move(request));
  const auto& failure = std::get<llm::Failure>(outcome);
  EXPECT_EQ(failure.failure_class, llm::FailureClass::kTransient);
  EXPECT_EQ(failure.code, "invalid_structured_output");
  EXPECT_THAT(failure.message, HasSubstr("\"hi\""));
  EXPECT_EQ(failure.raw, kAnswer) << "people want to see it";
  EXPECT_EQ(failure.usage.completion_tokens, 2) << "it cost something";
}

TEST_F(UpstreamBackendTest, AnAnswerThatDoesNotFitItsSchemaMayComeRightTheNextTime) {
  std::vector<std::string> refused;
  AnswerSchemas schemas([&](const std::string& why) { refused.push_back(why); });
  UpstreamOptions options;
  options.schemas = &schemas;
  open(std::move(options));
  reply_ = json_reply(R"({"choices":[{"message":{"content":"200"},"finish_reason":"stop"}]})");
  const auto asking = [](std::string schema) {
    llm::Request request = chat("{}");
    request.structure = llm::Structure::kJson;
    request.structure_field = "guided_json";
    request.structure_schema = std::move(schema);
    return request;
  };
  const llm::Outcome outcome = ask(asking(R"({"maximum":130})"));
  const auto& failure = std::get<llm::Failure>(outcome);
  EXPECT_EQ(failure.failure_class, llm::FailureClass::kTransient);
  EXPECT_EQ(failure.code, "invalid_structured_output");
  EXPECT_EQ(failure.param, "guided_json");
  EXPECT_THAT(failure.message, HasSubstr("above the maximum of 130 (/maximum of the schema)"));
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(ask(asking(R"({"maximum":200})"))));
  EXPECT_TRUE(refused.empty());

  EXPECT_TRUE(std::holds_alternative<llm::Answer>(ask(asking(R"({"type":"tartan"})"))));
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(ask(asking(R"({"type":"tartan"})"))));
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_THAT(refused[0], HasSubstr("/type: must be null, boolean"));
}

TEST_F(UpstreamBackendTest, AStructureThatALimitCutOffIsTruncated) {
  open();
  reply_ = json_reply(R"({"choices":[{"message":{"content":"{\"a"},"finish_reason":"length"}]})");
  llm::Request request = chat("{}");
  EXPECT_FALSE(std::get<llm::Answer>(ask(request)).truncated) << "any text is right";
  request.structure = llm::Structure::kJson;
  request.structure_field = "response_format";
  const llm::Outcome outcome = ask(std::move(request));
  EXPECT_TRUE(std::get<llm::Answer>(outcome).truncated);
  EXPECT_EQ(std::get<llm::Answer>(outcome).raw, reply_.body);
}

TEST_F(UpstreamBackendTest, AnUnknownModelIsAnsweredWithTheModelsItHas) {
  UpstreamOptions options;
  options.models = "it has llama3, qwen3";
  open(std::move(options));
  reply_ = json_reply(R"({"error":{"message":"no such model"}})", 404);
  EXPECT_THAT(std::get<llm::Failure>(ask(chat("{}"))).message, HasSubstr("it has llama3, qwen3"));
}

TEST_F(UpstreamBackendTest, AServerThatIsGoneWasNotReached) {
  open();
  ask(chat("{}"));
  uint16_t port = 0;
  {
    TestServer other([](const TestRequest&) { return TestReply{}; });
    port = other.port();
  }
  UpstreamOptions options;
  options.base = http::Url{.tls = false, .host = "127.0.0.1", .port = port, .target = "/v1"};
  UpstreamBackend gone(*client_, clock_, std::move(options));
  std::promise<llm::Outcome> outcome;
  gone.submit(llm::plain_call(chat("{}")),
              [&](llm::Outcome one) { outcome.set_value(std::move(one)); });
  const llm::Outcome ended = outcome.get_future().get();
  EXPECT_TRUE(std::get<llm::Failure>(ended).unreached);
}

TEST_F(UpstreamBackendTest, WhatIsCancelledEndsAsThat) {
  open();
  reply_.end = TestReply::End::kStall;
  reply_.bytes_max = 10;
  std::promise<llm::Outcome> outcome;
  std::stop_source unwanted;
  llm::BackendCall call = llm::plain_call(chat("{}"));
  call.unwanted = unwanted.get_token();
  backend_->submit(std::move(call), [&](llm::Outcome one) { outcome.set_value(std::move(one)); });
  unwanted.request_stop();
  const llm::Outcome ended = outcome.get_future().get();
  EXPECT_EQ(std::get<llm::Failure>(ended).failure_class, llm::FailureClass::kCancelled);
  EXPECT_EQ(backend_->status().failures, 0) << "nobody's fault";
}

// What is decided and not yet sent when it is cancelled is not sent.
TEST_F(UpstreamBackendTest, WhatIsWithdrawnBeforeItIsSentIsNotSent) {
  open();
  std::stop_source withdrawn;
  llm::BackendCall call = llm::plain_call(chat("{}"));
  call.withdrawn = withdrawn.get_token();
  llm::BackendCall too_late = call;
  std::promise<llm::Outcome> answered;
  backend_->submit(std::move(call), [&](llm::Outcome one) { answered.set_value(std::move(one)); });
  withdrawn.request_stop();
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(answered.get_future().get()))
      << "it has been sent, so it goes on";
  std::promise<llm::Outcome> outcome;
  backend_->submit(std::move(too_late),
                   [&](llm::Outcome one) { outcome.set_value(std::move(one)); });
  const llm::Outcome ended = outcome.get_future().get();
  EXPECT_EQ(std::get<llm::Failure>(ended).failure_class, llm::FailureClass::kCancelled);
  EXPECT_EQ(server_.requests(), 1);
}

TEST_F(UpstreamBackendTest, ItsEndEndsWhatIsOut) {
  open();
  reply_.end = TestReply::End::kStall;
  reply_.bytes_max = 10;
  std::atomic<int> ended = 0;
  for (int i = 0; i < 20; ++i)
    backend_->submit(llm::plain_call(chat("{}")), [&](const llm::Outcome&) { ++ended; });
  backend_.reset();
  EXPECT_EQ(ended, 20);
}

std::string chat_of(std::string_view base) {
  return http::to_string(
      target_of(with_version(http::parse_url(base).value()), llm::Endpoint::kChatCompletions));
}

TEST(Target, TheBaseUrlIsWhatClientsOfTheApiTake) {
  EXPECT_EQ(chat_of("http://h:8000/v1"), "http://h:8000/v1/chat/completions");
  EXPECT_EQ(chat_of("http://h:8000/v1/"), "http://h:8000/v1/chat/completions");
  EXPECT_EQ(chat_of("http://h:8000"), "http://h:8000/v1/chat/completions");
  EXPECT_EQ(chat_of("https://h/openai/v1"), "https://h/openai/v1/chat/completions");
  EXPECT_EQ(chat_of("https://h/deploy/x?version=1"),
            "https://h/deploy/x/chat/completions?version=1");
}

TEST(Target, OtherRoutesBeginAtTheServer) {
  EXPECT_EQ(http::to_string(at_root(http::parse_url("http://h:1/v1?k=1").value(), "/api/ps")),
            "http://h:1/api/ps");
}

TEST(Target, SomeAreBesideTheApi) {
  const auto metrics_of = [](std::string_view base) {
    return http::to_string(beside_version(with_version(http::parse_url(base).value()), "/metrics"));
  };
  EXPECT_EQ(metrics_of("http://h:8000"), "http://h:8000/metrics");
  EXPECT_EQ(metrics_of("http://h:8000/v1/?k=1"), "http://h:8000/metrics");
  EXPECT_EQ(metrics_of("https://h/openai/v1"), "https://h/openai/metrics");
  EXPECT_EQ(metrics_of("https://h/deploy/x?version=1"), "https://h/metrics");
}

}  // namespace
}  // namespace windrow::upstream
