// Verbatim requests and the sinks of their replies, against a real server on loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "http/curl_client.h"
#include "http/loop.h"
#include "http/testing/test_server.h"
#include "llm/reply_sink.h"
#include "upstream/upstream_backend.h"
#include "upstream/verbatim_call.h"

namespace windrow::upstream {
namespace {

using http::testing::TestReply;
using http::testing::TestRequest;
using http::testing::TestServer;
using ::testing::HasSubstr;

constexpr size_t kLargeBytes = size_t{64} << 20;

char byte_at(size_t at) {
  return static_cast<char>('a' + at % 23);
}

std::string body_of(size_t bytes) {
  std::string body(bytes, ' ');
  for (size_t i = 0; i < body.size(); ++i)
    body[i] = byte_at(i);
  return body;
}

// Checks every byte and keeps none.
class Checking final : public llm::ReplySink {
 public:
  explicit Checking(size_t bytes_max = kLargeBytes, Take take = Take::kMore)
      : bytes_max_(bytes_max), take_(take) {}

  size_t bytes_max() const override { return bytes_max_; }

  void on_begin(std::function<void()> resume) override {
    resume_ = std::move(resume);
    EXPECT_EQ(bytes, 0U);
  }

  Take on_bytes(std::string_view piece) override {
    EXPECT_FALSE(ended) << "bytes after the end";
    EXPECT_FALSE(paused_.load()) << "bytes while it pauses";
    EXPECT_FALSE(piece.empty());
    for (const char byte : piece)
      wrong += byte == byte_at(bytes++) ? 0 : 1;
    ++pieces;
    longest = std::max(longest, piece.size());
    if (take_ == Take::kPause) paused_ = true;
    begun = true;
    begun.notify_all();
    return take_;
  }

  // On any thread.
  void go_on() {
    paused_ = false;
    resume_();
  }
  bool is_paused() const { return paused_; }

  // Read after the end.
  size_t bytes = 0;
  size_t wrong = 0;
  size_t pieces = 0;
  size_t longest = 0;
  std::atomic<bool> begun = false;
  std::atomic<bool> ended = false;

 private:
  const size_t bytes_max_;
  const Take take_;
  std::function<void()> resume_;
  std::atomic<bool> paused_ = false;
};

class UpstreamVerbatim : public ::testing::Test {
 protected:
  UpstreamVerbatim() { open({}); }

  void open(UpstreamOptions options) {
    options.base = with_version(server_.url("/"));
    options.on_failure = [this](const llm::Failure&) { ++told_; };
    backend_ = std::make_unique<UpstreamBackend>(*client_, clock_, std::move(options));
  }

  static llm::Request verbatim(llm::HttpMethod method, std::string target, std::string raw = "") {
    llm::Request request;
    request.raw = std::move(raw);
    request.verbatim = {.method = method, .target = std::move(target)};
    return request;
  }

  std::future<llm::Outcome> start(llm::Request request,
                                  const std::shared_ptr<Checking>& sink = nullptr,
                                  std::stop_token unwanted = {}) {
    auto outcome = std::make_shared<std::promise<llm::Outcome>>();
    llm::BackendCall call = llm::plain_call(std::move(request));
    call.reply_sink = sink;
    call.unwanted = std::move(unwanted);
    backend_->submit(std::move(call), [outcome, sink = sink.get()](llm::Outcome one) {
      if (sink) sink->ended = true;
      outcome->set_value(std::move(one));
    });
    return outcome->get_future();
  }

  llm::VerbatimReply reply_to(llm::Request request) {
    llm::Outcome outcome = start(std::move(request)).get();
    if (const auto* failure = std::get_if<llm::Failure>(&outcome)) {
      ADD_FAILURE() << failure->message;
      return {};
    }
    return std::get<llm::Answer>(outcome).verbatim.value();
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
  TestReply reply_;
  std::vector<TestRequest> seen_;
  std::atomic<int> told_ = 0;
  TestServer server_{[this](const TestRequest& request) { return handle(request); }};
  std::unique_ptr<UpstreamBackend> backend_;
};

TEST_F(UpstreamVerbatim, AReplyOfAnyStatusComesBackAsItIs) {
  for (const int32_t status : {200, 201, 302, 400, 401, 404, 429, 500, 503}) {
    reply_ = {.status = status, .body = "no { json\n"};
    reply_.headers.set("Content-Type", "text/odd");
    const llm::VerbatimReply reply =
        reply_to(verbatim(llm::HttpMethod::kPost, "/generate", R"({"text":"a"})"));
    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(reply.content_type, "text/odd");
    EXPECT_EQ(reply.body, "no { json\n");
  }
  EXPECT_EQ(told_, 0) << "none of them is a failure";
  EXPECT_EQ(seen_.front().target, "/generate");
  EXPECT_EQ(seen_.front().body, R"({"text":"a"})");
}

TEST_F(UpstreamVerbatim, MethodTargetAndHeadersAreThoseOfTheRequest) {
  UpstreamOptions options;
  options.api_key = "sk-own";
  open(std::move(options));
  llm::Request request = verbatim(llm::HttpMethod::kGet, "/v1/models?limit=2");
  request.headers = {{.name = "X-Trace", .value = "t1"},
                     {.name = "Authorization", .value = "Bearer theirs"},
                     {.name = "Content-Length", .value = "5"}};
  reply_to(std::move(request));
  reply_to(verbatim(llm::HttpMethod::kDelete, "/adapters/x"));
  reply_to(verbatim(llm::HttpMethod::kPut, "/adapters/x", "y"));
  reply_to(verbatim(llm::HttpMethod::kPatch, "/adapters/x", "z"));
  reply_to(verbatim(llm::HttpMethod::kPost, "/flush"));
  ASSERT_EQ(seen_.size(), 5U);
  EXPECT_EQ(seen_[0].method, "GET");
  EXPECT_EQ(seen_[0].target, "/v1/models?limit=2");
  EXPECT_EQ(seen_[0].body, "");
  EXPECT_EQ(seen_[0].headers.get("X-Trace"), "t1");
  EXPECT_EQ(seen_[0].headers.get("Authorization"), "Bearer sk-own");
  EXPECT_EQ(seen_[1].method, "DELETE");
  EXPECT_EQ(seen_[2].method + seen_[2].body, "PUTy");
  EXPECT_EQ(seen_[3].method + seen_[3].body, "PATCHz");
  EXPECT_EQ(seen_[4].method + seen_[4].body, "POST");
}

TEST_F(UpstreamVerbatim, AnEndpointsBodyGoesToItsRouteWithTheServersName) {
  UpstreamOptions options;
  options.aliases = {{"m", "theirs"}};
  open(std::move(options));
  llm::Request request = verbatim(llm::HttpMethod::kPost, "", R"({"model":"m","messages":[]})");
  request.model = "m";
  reply_to(std::move(request));
  EXPECT_EQ(seen_.front().target, "/v1/chat/completions");
  EXPECT_EQ(seen_.front().body, R"({"model":"theirs","messages":[]})");
}

TEST_F(UpstreamVerbatim, AKeyThatAnErrorRepeatsIsHidden) {
  UpstreamOptions options;
  options.api_key = "sk-secret";
  open(std::move(options));
  reply_ = {.status = 401, .body = "wrong key: sk-secret"};
  EXPECT_EQ(reply_to(verbatim(llm::HttpMethod::kGet, "/x")).body, "wrong key: ***");
}

TEST_F(UpstreamVerbatim, WhereNoReplyCameThereIsAFailure) {
  reply_ = {.body = "abc", .bytes_max = 10, .end = TestReply::End::kReset};
  const llm::Outcome outcome = start(verbatim(llm::HttpMethod::kGet, "/x")).get();
  EXPECT_EQ(std::get<llm::Failure>(outcome).failure_class, llm::FailureClass::kTransient);
  EXPECT_EQ(told_, 1);
}

TEST_F(UpstreamVerbatim, AHeaderThatIsNoneIsTold) {
  llm::Request request = verbatim(llm::HttpMethod::kGet, "/x");
  request.headers = {{.name = "X-Trace", .value = "a\r\nX-Other: b"}};
  const llm::Outcome outcome = start(std::move(request)).get();
  EXPECT_THAT(std::get<llm::Failure>(outcome).message, HasSubstr("X-Trace has a line end"));
  EXPECT_TRUE(seen_.empty());
}

// --- sinks --------------------------------------------------------------------------------------

TEST_F(UpstreamVerbatim, ALongReplyPassesThroughInPieces) {
  reply_ = {.body = body_of(kLargeBytes),
            .framing = TestReply::Framing::kChunked,
            .chunk_bytes = 1 << 20};
  reply_.headers.set("Content-Type", "application/json");
  const auto sink = std::make_shared<Checking>();
  const llm::Outcome outcome = start(verbatim(llm::HttpMethod::kGet, "/x"), sink).get();
  const auto& reply = std::get<llm::Answer>(outcome).verbatim;
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->content_type, "application/json");
  EXPECT_EQ(reply->body, "");
  EXPECT_EQ(sink->bytes, kLargeBytes);
  EXPECT_EQ(sink->wrong, 0U);
  EXPECT_LE(sink->longest, size_t{1} << 20);
  EXPECT_EQ(sink.use_count(), 1) << "the backend has let it go";
}

TEST_F(UpstreamVerbatim, ASinkThatPausesIsGivenNothingMeanwhile) {
  reply_ = {.body = body_of(kLargeBytes / 16)};
  const auto sink = std::make_shared<Checking>(kLargeBytes, llm::ReplySink::Take::kPause);
  std::future<llm::Outcome> outcome = start(verbatim(llm::HttpMethod::kGet, "/x"), sink);
  sink->begun.wait(false);
  std::jthread resumer([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (sink->is_paused()) sink->go_on();
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(std::get<llm::Answer>(outcome.get()).verbatim->status, 200);
  EXPECT_EQ(sink->bytes, kLargeBytes / 16);
  EXPECT_EQ(sink->wrong, 0U);
  EXPECT_GT(sink->pieces, 10U);
}

TEST_F(UpstreamVerbatim, ResumingAfterTheBackendIsGoneDoesNothing) {
  reply_ = {.body = body_of(kLargeBytes / 16)};
  const auto sink = std::make_shared<Checking>(kLargeBytes, llm::ReplySink::Take::kPause);
  std::future<llm::Outcome> outcome = start(verbatim(llm::HttpMethod::kGet, "/x"), sink);
  sink->begun.wait(false);
  backend_.reset();
  EXPECT_EQ(std::get<llm::Failure>(outcome.get()).failure_class, llm::FailureClass::kCancelled);
  client_.reset();
  sink->go_on();
}

TEST_F(UpstreamVerbatim, APausedCallIsBrokenOffWhenItIsUnwanted) {
  reply_ = {.body = body_of(kLargeBytes / 16)};
  const auto sink = std::make_shared<Checking>(kLargeBytes, llm::ReplySink::Take::kPause);
  std::stop_source unwanted;
  std::future<llm::Outcome> outcome =
      start(verbatim(llm::HttpMethod::kGet, "/x"), sink, unwanted.get_token());
  sink->begun.wait(false);
  unwanted.request_stop();
  EXPECT_EQ(std::get<llm::Failure>(outcome.get()).failure_class, llm::FailureClass::kCancelled);
  EXPECT_EQ(sink->pieces, 1U);
}

TEST_F(UpstreamVerbatim, ASinkMayStop) {
  reply_ = {.body = body_of(kLargeBytes / 16)};
  const auto sink = std::make_shared<Checking>(kLargeBytes, llm::ReplySink::Take::kStop);
  const llm::Outcome outcome = start(verbatim(llm::HttpMethod::kGet, "/x"), sink).get();
  EXPECT_EQ(std::get<llm::Failure>(outcome).failure_class, llm::FailureClass::kCancelled);
  EXPECT_EQ(sink->pieces, 1U);
}

TEST_F(UpstreamVerbatim, AReplyThatIsLongerThanTheSinkTakesIsAFailureThatIsFinal) {
  reply_ = {.body = std::string("abcdefghij")};
  const auto takes = std::make_shared<Checking>(10);
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(
      start(verbatim(llm::HttpMethod::kGet, "/x"), takes).get()));
  const auto sink = std::make_shared<Checking>(9);
  const llm::Outcome outcome = start(verbatim(llm::HttpMethod::kGet, "/x"), sink).get();
  EXPECT_EQ(std::get<llm::Failure>(outcome).code, "reply_too_large");
  EXPECT_EQ(std::get<llm::Failure>(outcome).failure_class, llm::FailureClass::kRequest);
  EXPECT_LE(sink->bytes, 9U);
}

TEST_F(UpstreamVerbatim, TheTextOfAnErrorComesWholeAndNotToTheSink) {
  reply_ = {.status = 503, .body = "busy"};
  const auto sink = std::make_shared<Checking>(1);
  const llm::Outcome outcome = start(verbatim(llm::HttpMethod::kGet, "/x"), sink).get();
  const auto& reply = std::get<llm::Answer>(outcome).verbatim;
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 503);
  EXPECT_EQ(reply->body, "busy");
  EXPECT_EQ(sink->bytes, 0U);
  reply_.body = std::string(kErrorBytesMax + 1, 'x');
  const llm::Outcome large = start(verbatim(llm::HttpMethod::kGet, "/x"), sink).get();
  EXPECT_EQ(std::get<llm::Failure>(large).code, "reply_too_large");
}

TEST_F(UpstreamVerbatim, AReplyThatBreaksOffIsAFailureAfterItsFirstBytes) {
  reply_ = {.body = body_of(1 << 20), .bytes_max = 500'000, .end = TestReply::End::kReset};
  const auto sink = std::make_shared<Checking>();
  const llm::Outcome outcome = start(verbatim(llm::HttpMethod::kGet, "/x"), sink).get();
  EXPECT_EQ(std::get<llm::Failure>(outcome).code, "connection_reset");
  EXPECT_EQ(sink->wrong, 0U);
}

}  // namespace
}  // namespace windrow::upstream
