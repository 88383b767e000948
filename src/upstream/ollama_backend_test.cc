#include "upstream/ollama_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

#include "http/curl_client.h"
#include "http/loop.h"
#include "http/testing/test_server.h"

namespace windrow::upstream {
namespace {

using http::testing::TestReply;
using http::testing::TestRequest;
using http::testing::TestServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Answers everything at once, having read so many tokens.
class Answering final : public llm::Backend {
 public:
  std::atomic<int32_t> prompt_tokens = 100;
  std::atomic<int> submitted = 0;

  void submit(llm::BackendCall, Done done) override {
    ++submitted;
    llm::Answer answer;
    answer.raw = "{}";
    answer.usage.prompt_tokens = prompt_tokens;
    done(answer);
  }
  int32_t in_flight_target() const override { return 4; }
  llm::BackendStats stats() const override { return {}; }
};

class OllamaBackendTest : public ::testing::Test {
 protected:
  OllamaBackendTest() {
    UpstreamOptions options;
    options.base = server_.url("/v1");
    options.api_key = "key";
    options.aliases = {{"m", "qwen"}};
    backend_ = std::make_unique<OllamaBackend>(
        client_, inner_, std::move(options), [this](const std::string& model, int64_t tokens) {
          contexts_.push_back(model + " " + std::to_string(tokens));
        });
  }

  TestReply answer(const TestRequest& request) {
    const std::scoped_lock lock(mutex_);
    asked_.push_back(request.target + " " + request.body);
    if (stalls_) return {.bytes_max = 0, .end = TestReply::End::kStall};
    if (request.target == "/api/ps")
      return {.body = R"({"models":[{"name":"qwen:latest","context_length":1000}]})"};
    return {.body = "{}"};
  }

  std::vector<std::string> asked() {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }

  static llm::Request row(size_t bytes = 10, const std::string& model = "m") {
    std::string text;
    for (size_t i = 0; i < bytes; ++i)
      text += static_cast<char>('a' + i % 26);
    llm::Request request;
    request.model = model;
    request.raw = R"({"messages":[{"role":"user","content":")" + text + R"("}]})";
    return request;
  }

  std::future<llm::Outcome> submit(llm::Request request, std::stop_token withdrawn = {}) {
    auto result = std::make_shared<std::promise<llm::Outcome>>();
    std::future<llm::Outcome> waiting = result->get_future();
    llm::BackendCall call = llm::plain_call(std::move(request));
    call.withdrawn = std::move(withdrawn);
    backend_->submit(std::move(call),
                     [result](llm::Outcome outcome) { result->set_value(std::move(outcome)); });
    return waiting;
  }

  // "answered", or the failure's code.
  static std::string end_of(std::future<llm::Outcome> outcome) {
    const llm::Outcome ended = outcome.get();
    const auto* failure = std::get_if<llm::Failure>(&ended);
    if (failure == nullptr) return "answered";
    return failure->failure_class == llm::FailureClass::kCancelled ? "cancelled" : failure->code;
  }

  std::mutex mutex_;
  std::vector<std::string> asked_;
  std::atomic<bool> stalls_ = false;
  TestServer server_{[this](const TestRequest& request) { return answer(request); }};
  SystemClock clock_;
  http::Loop loop_{clock_};
  http::CurlClient client_{loop_, {}};
  Answering inner_;
  std::vector<std::string> contexts_;
  std::unique_ptr<OllamaBackend> backend_;
};

TEST_F(OllamaBackendTest, AsksOnceForEachModelAndThenChecks) {
  std::vector<std::future<llm::Outcome>> rows;
  rows.reserve(10);
  for (int i = 0; i < 10; ++i)
    rows.push_back(submit(row()));
  for (auto& one : rows)
    EXPECT_EQ(end_of(std::move(one)), "answered");
  EXPECT_THAT(asked(),
              ElementsAre(HasSubstr(R"(/api/generate {"model":"qwen"})"), HasSubstr("/api/ps"),
                          HasSubstr(R"(/api/show {"model":"qwen"})")));
  EXPECT_THAT(contexts_, ElementsAre("m 1000"));
  EXPECT_EQ(inner_.submitted, 10);
  EXPECT_EQ(end_of(submit(row(13'000))), "context_length_exceeded");
  EXPECT_EQ(inner_.submitted, 10);
  inner_.prompt_tokens = 502;
  EXPECT_EQ(end_of(submit(row(4000))), "context_length_exceeded");
  EXPECT_EQ(inner_.submitted, 11);
}

TEST_F(OllamaBackendTest, AVerbatimRequestIsPassedOnUnseen) {
  llm::Request request;
  request.verbatim = {.method = llm::HttpMethod::kGet, .target = "/api/tags"};
  std::promise<llm::Outcome> outcome;
  backend_->submit(llm::plain_call(std::move(request)),
                   [&](llm::Outcome one) { outcome.set_value(std::move(one)); });
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(outcome.get_future().get()));
  EXPECT_EQ(server_.requests(), 0) << "no model is loaded for it";
}

TEST_F(OllamaBackendTest, WithoutAnAnswerNothingIsChecked) {
  EXPECT_EQ(end_of(submit(row(13'000, "other"))), "answered");
  EXPECT_THAT(contexts_, ElementsAre("other 0"));
}

TEST_F(OllamaBackendTest, AContextThatGrewEndsTheChecks) {
  EXPECT_EQ(end_of(submit(row())), "answered");
  inner_.prompt_tokens = 1500;
  EXPECT_EQ(end_of(submit(row(5000))), "answered");
  EXPECT_EQ(end_of(submit(row(13'000))), "answered");
}

TEST_F(OllamaBackendTest, ACallThatWaitsForTheContextCanBeCancelled) {
  stalls_ = true;
  std::stop_source withdrawn;
  std::future<llm::Outcome> waiting = submit(row(), withdrawn.get_token());
  withdrawn.request_stop();
  EXPECT_EQ(end_of(std::move(waiting)), "cancelled");
  std::future<llm::Outcome> last = submit(row());
  backend_.reset();
  EXPECT_EQ(end_of(std::move(last)), "cancelled");
  EXPECT_EQ(inner_.submitted, 0);
  EXPECT_THAT(contexts_, IsEmpty()) << "a question that was broken off is no unknown context";
}

}  // namespace
}  // namespace windrow::upstream
