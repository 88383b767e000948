// Streams and unwanted requests of the backend, against a real server on loopback.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "http/curl_client.h"
#include "http/loop.h"
#include "http/testing/test_server.h"
#include "llm/stream_sink.h"
#include "upstream/upstream_backend.h"

namespace windrow::upstream {
namespace {

namespace json = boost::json;
using http::testing::TestReply;
using http::testing::TestRequest;
using http::testing::TestServer;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Ear final : public llm::StreamSink {
 public:
  void on_delta(llm::Delta piece) override {
    EXPECT_FALSE(ended) << "a piece after the end";
    events.push_back(std::move(piece.raw));
    heard = true;
    heard.notify_all();
  }

  std::vector<std::string> events;  // read after the end, or after `heard`
  std::atomic<bool> heard = false;
  std::atomic<bool> ended = false;
};

// Of servers of several makers: what only they have.
const std::vector<std::string> kVendorEvents = {
    R"({"id":"a","choices":[],"prompt_filter_results":[{"prompt_index":0}]})",
    R"({"id":"a","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":)"
    R"([{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":""}}]}}]})",
    R"({"id":"a","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":)"
    R"({"arguments":"{\"a\": 1.50}"}}]},"logprobs":{"content":[{"token":"x","logprob":-0.10,)"
    R"("bytes":[120],"top_logprobs":[]}]},"finish_reason":null}]})",
    R"({"id":"a","choices":[{"index":0,"delta":{"reasoning_content":"h\u00e4","images":[1e3]},)"
    R"("stop_reason":128001,"finish_reason":"tool_calls"}],"timings":{"predicted_ms":1.0}})",
    R"({"id":"a","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,)"
    R"("completion_tokens_details":{"reasoning_tokens":2}},"x_vendor":true})"};

std::string body_of(const std::vector<std::string>& events, std::string_view end = "\n\n") {
  std::string body;
  for (const std::string& event : events)
    body += fmt::format("data: {}{}", event, end);
  return body + fmt::format("data: [DONE]{}", end);
}

TestReply stream_of(std::string body) {
  TestReply reply;
  reply.headers.set("Content-Type", "text/event-stream");
  reply.framing = TestReply::Framing::kChunked;
  reply.body = std::move(body);
  return reply;
}

class UpstreamStreams : public ::testing::Test {
 protected:
  UpstreamStreams() {
    client_ = std::make_unique<http::CurlClient>(loop_, http::ClientOptions{});
    backend_ = std::make_unique<UpstreamBackend>(
        *client_, clock_,
        UpstreamOptions{.base = with_version(server_.url("/")), .aliases = {{"alias", "theirs"}}});
  }

  TestReply handle(const TestRequest& request) {
    const std::scoped_lock lock(mutex_);
    seen_.push_back(request);
    ++requests_;
    requests_.notify_all();
    return reply_;
  }

  llm::BackendCall request(std::string raw = R"({"model":"m"})", std::string model = "m") {
    llm::Request request;
    request.raw = std::move(raw);
    request.model = std::move(model);
    return call(std::move(request));
  }

  llm::BackendCall call(llm::Request request) {
    llm::BackendCall call = llm::plain_call(std::move(request));
    call.listener = ear_;
    call.unwanted = stop_.get_token();
    return call;
  }

  std::future<llm::Outcome> send(llm::BackendCall call) {
    auto outcome = std::make_shared<std::promise<llm::Outcome>>();
    std::future<llm::Outcome> future = outcome->get_future();
    backend_->submit(std::move(call), [outcome, ear = ear_](llm::Outcome one) {
      ear->ended = true;
      outcome->set_value(std::move(one));
    });
    return future;
  }

  llm::Outcome ask(llm::BackendCall call) { return send(std::move(call)).get(); }

  SystemClock clock_;
  http::Loop loop_{clock_};
  std::unique_ptr<http::Client> client_;
  std::mutex mutex_;
  TestReply reply_ = stream_of(body_of(kVendorEvents));
  std::vector<TestRequest> seen_;
  std::atomic<int> requests_ = 0;
  TestServer server_{[this](const TestRequest& request) { return handle(request); }};
  std::shared_ptr<Ear> ear_ = std::make_shared<Ear>();
  std::stop_source stop_;
  std::unique_ptr<UpstreamBackend> backend_;
};

TEST_F(UpstreamStreams, WhatAServerSaysIsPassedOnUnchanged) {
  for (const std::string_view end : {"\n\n", "\r\n\r\n"}) {
    for (const size_t chunk : {size_t{1}, size_t{7}, size_t{100'000}}) {
      reply_ = stream_of(body_of(kVendorEvents, end));
      reply_.chunk_bytes = chunk;
      ear_ = std::make_shared<Ear>();
      const llm::Outcome outcome = ask(request());
      EXPECT_THAT(ear_->events, ElementsAreArray(kVendorEvents));
      const auto& answer = std::get<llm::Answer>(outcome);
      EXPECT_EQ(answer.raw, "");
      EXPECT_EQ(answer.usage.prompt_tokens, 9);
      EXPECT_EQ(answer.usage.completion_tokens, 4);
    }
  }
  EXPECT_EQ(backend_->status().answers, 6);
  EXPECT_EQ(backend_->stats().generated_tokens, 24);
}

TEST_F(UpstreamStreams, ABodyAsksForTheStreamAndItsUsageAndIsElseAsItWas) {
  ask(request(R"({"temperature":0.50,"model":"alias","messages":[{"content":[{"image_url":1}]}]})",
              "alias"));
  EXPECT_EQ(seen_.at(0).body,
            R"({"temperature":0.50,"model":"theirs","messages":[{"content":[{"image_url":1}]}],)"
            R"("stream":true,"stream_options":{"include_usage":true}})");
  llm::BackendCall unheard = request();
  unheard.listener = nullptr;
  ask(std::move(unheard));
  EXPECT_EQ(seen_.at(1).body, R"({"model":"m"})");
  // Only what is made bit by bit.
  llm::Request embedding = *request().request;
  embedding.endpoint = llm::Endpoint::kEmbeddings;
  reply_ = {.body = R"({"data":[{"embedding":[1]}]})"};
  EXPECT_EQ(std::get<llm::Answer>(ask(call(std::move(embedding)))).raw, reply_.body);
  EXPECT_EQ(seen_.at(2).body, R"({"model":"m"})");
}

TEST_F(UpstreamStreams, TheConnectionIsUsedAgain) {
  for (int i = 0; i < 5; ++i) {
    ear_ = std::make_shared<Ear>();
    ask(request());
  }
  // The answer is there at [DONE], so the next request may go out before the last reply has ended.
  EXPECT_LE(server_.connections(), 2);
}

TEST_F(UpstreamStreams, EventsAreHeardWhileTheServerIsStillSilent) {
  reply_.bytes_max = 200;  // of the first events
  reply_.end = TestReply::End::kStall;
  reply_.body = "data: {\"choices\":[{\"index\":0}]}\n\n" + std::string(1000, ':');
  std::future<llm::Outcome> outcome = send(request());
  ear_->heard.wait(false);
  EXPECT_EQ(backend_->stats().rows_running, 1);
  stop_.request_stop();
  EXPECT_EQ(std::get<llm::Failure>(outcome.get()).failure_class, llm::FailureClass::kCancelled);
}

TEST_F(UpstreamStreams, AServerThatHangsAfterDoneHasAnswered) {
  reply_.end = TestReply::End::kStall;
  reply_.bytes_max = 1 << 20;
  reply_.framing = TestReply::Framing::kClose;
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(ask(request())));
}

TEST_F(UpstreamStreams, WhatIsNoStreamIsAnAnswerOrAFailureAsEver) {
  reply_ = {.body = R"({"choices":[{"message":{"content":"hi"}}]})"};
  reply_.headers.set("Content-Type", "application/json");
  EXPECT_EQ(std::get<llm::Answer>(ask(request())).raw, reply_.body);
  reply_ = {.status = 503, .body = R"({"error":{"message":"full"}})"};
  ear_ = std::make_shared<Ear>();
  const llm::Outcome busy = ask(request());
  EXPECT_TRUE(std::get<llm::Failure>(busy).overloaded);
  reply_ = {.status = 400, .body = R"({"error":{"message":"I cannot stream"}})"};
  ear_ = std::make_shared<Ear>();
  EXPECT_THAT(std::get<llm::Failure>(ask(request())).message, HasSubstr("I cannot stream"));
  EXPECT_THAT(ear_->events, IsEmpty());
}

TEST_F(UpstreamStreams, AStreamThatBreaksIsAFailureThatIsNotRetried) {
  reply_ = stream_of("data: {\"choices\":[]}\n\n" + std::string(1000, ':'));
  reply_.bytes_max = 300;
  reply_.end = TestReply::End::kReset;
  const llm::Outcome outcome = ask(request());
  const auto& failure = std::get<llm::Failure>(outcome);
  EXPECT_EQ(failure.failure_class, llm::FailureClass::kRequest);
  EXPECT_EQ(failure.code, "stream_broken");
  const size_t named = failure.message.find(backend_->name());
  EXPECT_NE(named, std::string::npos);
  EXPECT_EQ(failure.message.find(backend_->name(), named + 1), std::string::npos) << "said once";
  EXPECT_EQ(ear_->events.size(), 1U);
  EXPECT_EQ(backend_->status().failures_by_code,
            (std::vector<std::pair<std::string, int64_t>>{{"stream_broken", 1}}));
}

TEST_F(UpstreamStreams, TheCallIsBrokenOffAtAnEventThatIsNone) {
  reply_ = stream_of("data: {\"choices\":[]}\n\ndata: {{\n\n" + std::string(1000, ':'));
  reply_.bytes_max = 300;
  reply_.end = TestReply::End::kStall;
  EXPECT_EQ(std::get<llm::Failure>(ask(request())).code, "stream_broken");
  backend_.reset();  // would wait for the server otherwise
}

// --- unwanted ---

TEST_F(UpstreamStreams, WhatIsUnwantedIsNotSent) {
  stop_.request_stop();
  EXPECT_EQ(std::get<llm::Failure>(ask(request())).failure_class, llm::FailureClass::kCancelled);
  EXPECT_EQ(server_.requests(), 0);
}

TEST_F(UpstreamStreams, WhatBecomesUnwantedIsBrokenOff) {
  reply_.bytes_max = 0;
  reply_.end = TestReply::End::kStall;
  for (const bool streams : {false, true}) {
    stop_ = {};
    ear_ = std::make_shared<Ear>();
    llm::BackendCall one = request();
    if (!streams) one.listener = nullptr;
    std::future<llm::Outcome> outcome = send(std::move(one));
    requests_.wait(streams ? 1 : 0);
    stop_.request_stop();
    EXPECT_EQ(std::get<llm::Failure>(outcome.get()).failure_class, llm::FailureClass::kCancelled);
  }
  EXPECT_EQ(backend_->status().failures, 0);
}

TEST_F(UpstreamStreams, ItsEndComesOnceWhenTheTwoMeet) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    std::stop_source stop;
    std::atomic<int> ends = 0;
    llm::BackendCall one = request();
    one.listener = std::make_shared<Ear>();
    one.unwanted = stop.get_token();
    const std::jthread other([&, spin = random.below(20'000)] {
      std::atomic<uint64_t> turns = 0;
      while (turns < spin)
        ++turns;
      stop.request_stop();
    });
    backend_->submit(std::move(one), [&](const llm::Outcome&) {
      ++ends;
      ends.notify_all();
    });
    ends.wait(0);
    EXPECT_EQ(ends, 1);
  }
  backend_.reset();
}

}  // namespace
}  // namespace windrow::upstream
