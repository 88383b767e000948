#include "upstream/upstream_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "http/curl_client.h"
#include "http/testing/test_server.h"

namespace windrow::upstream {
namespace {

using std::chrono::seconds;

TEST(WatchTimes, AServerThatAnswersIsAskedOnceAPeriod) {
  Random random(1);
  EXPECT_EQ(until_next_question({.period = seconds(60)}, 0, random), seconds(60));
}

TEST(WatchTimes, AServerThatDoesNotIsAskedLessAndLessOftenUpToThePeriod) {
  Random random(2);
  const WatchTimes times{.period = seconds(60), .retry_min = seconds(1)};
  for (const int64_t failures : {1, 2, 3, 6, 7, 8, 1000}) {
    const double most = std::min(60.0, std::exp2(static_cast<double>(failures - 1)));
    double least_seen = 100;
    double most_seen = 0;
    for (int i = 0; i < 1000; ++i) {
      const double wait = windrow::seconds(until_next_question(times, failures, random));
      least_seen = std::min(least_seen, wait);
      most_seen = std::max(most_seen, wait);
    }
    EXPECT_GE(least_seen, most * 2 / 3 - 1e-6) << failures;
    EXPECT_LT(least_seen, most * 0.7) << failures;
    EXPECT_LE(most_seen, most) << failures;
    EXPECT_GT(most_seen, most * 0.95) << failures;
  }
}

using http::testing::TestReply;
using http::testing::TestRequest;
using http::testing::TestServer;
using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A client of a process that may open no more files, while `full` is set.
class FullClient final : public http::Client {
 public:
  FullClient(http::Loop& loop, http::Client& inner, std::function<void()> on_shortage)
      : loop_(loop), inner_(inner), on_shortage_(std::move(on_shortage)) {}

  http::CallId send(http::ClientRequest request, Done done) override {
    if (!full) return inner_.send(std::move(request), std::move(done));
    loop_.post([this, done = std::move(done)] {
      done(http::ClientFailure{.kind = http::FailureKind::kFiles, .message = "no file"});
      on_shortage_();
    });
    return {};
  }
  void cancel(http::CallId call) override { inner_.cancel(call); }

  std::atomic<bool> full = false;

 private:
  http::Loop& loop_;
  http::Client& inner_;
  const std::function<void()> on_shortage_;
};

class UpstreamWatchTest : public ::testing::Test {
 protected:
  void watch(std::vector<http::Url> bases,
             WatchTimes times = {.period = milliseconds(1), .retry_min = milliseconds(1)}) {
    std::vector<UpstreamOptions> servers;
    for (http::Url& base : bases)
      servers.push_back({.base = std::move(base), .api_key = "key"});
    watch_ = std::make_unique<UpstreamWatch>(
        loop_, full_client_, std::move(servers),
        WatchOptions{.times = times, .on_change = [this](size_t server) {
                       const std::scoped_lock lock(mutex_);
                       changes_.push_back(server);
                       changed_.notify_all();
                     }});
  }

  // What a server is like once there were so many changes.
  ServerReading after(size_t changes, size_t server = 0) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return changes_.size() >= changes; });
    return watch_->reading(server);
  }

  void answer(TestReply reply) {
    const std::scoped_lock lock(mutex_);
    reply_ = std::move(reply);
  }

  TestReply handle(const TestRequest& request) {
    const std::scoped_lock lock(mutex_);
    EXPECT_EQ(request.headers.get("authorization"), "Bearer key");
    if (request.target == "/api/version") {
      ++versions_asked_;
      return version_;
    }
    EXPECT_EQ(request.target, "/v1/models");
    ++asked_;
    changed_.notify_all();
    return reply_;
  }

  SystemClock clock_;
  http::Loop loop_{clock_};
  std::unique_ptr<http::Client> client_ =
      std::make_unique<http::CurlClient>(loop_, http::ClientOptions{});
  std::mutex mutex_;
  std::condition_variable changed_;
  TestReply reply_{.body = R"({"data":[{"id":"b"},{"id":"a"}]})"};
  TestReply version_{.status = 404, .body = "nothing here"};
  int asked_ = 0;
  int versions_asked_ = 0;
  int shortages_ = 0;
  FullClient full_client_{loop_, *client_, [this] {
                            const std::scoped_lock lock(mutex_);
                            ++shortages_;
                            changed_.notify_all();
                          }};
  std::vector<size_t> changes_;
  TestServer server_{[this](const TestRequest& request) { return handle(request); }};
  std::unique_ptr<UpstreamWatch> watch_;
};

TEST_F(UpstreamWatchTest, TellsWhichServersHaveAModel) {
  const http::Url closed{
      .tls = false, .host = "127.0.0.1", .port = http::testing::closed_port(), .target = "/v1"};
  watch({server_.url("/v1"), closed}, {.period = hours(1), .retry_min = hours(1)});
  after(2);
  EXPECT_TRUE(watch_->reading(0).answers);
  EXPECT_THAT(*watch_->models_of(0), ElementsAre("a", "b"));
  EXPECT_TRUE(watch_->reading(1).asked);
  EXPECT_FALSE(watch_->reading(1).answers);
  EXPECT_THAT(watch_->reading(1).problem, HasSubstr("127.0.0.1"));
  EXPECT_TRUE(watch_->reading(1).unreached_since.has_value());
  EXPECT_FALSE(watch_->reading(0).unreached_since.has_value());
  EXPECT_EQ(watch_->models_of(1), std::nullopt);
  EXPECT_EQ(watch_->answering(), 1U);
}

TEST_F(UpstreamWatchTest, SeesAServerComeAndGoAndItsModelsChange) {
  answer({.status = 401, .body = "{}"});
  watch({server_.url("/v1")});
  EXPECT_THAT(after(1).problem, HasSubstr("refuses the key"));
  EXPECT_EQ(watch_->answering(), 0U);
  EXPECT_FALSE(watch_->reading(0).unreached_since.has_value()) << "it is there";
  answer({.body = R"({"data":[{"id":"a"}]})"});
  EXPECT_THAT(*after(2).models, ElementsAre("a"));
  EXPECT_EQ(watch_->answering(), 1U);
  answer({.body = R"({"data":[{"id":"c"},{"id":"a"}]})"});
  EXPECT_THAT(*after(3).models, ElementsAre("a", "c"));
  answer({.bytes_max = 0, .end = TestReply::End::kReset});
  EXPECT_FALSE(after(4).answers);
  EXPECT_THAT(*watch_->models_of(0), ElementsAre("a", "c")) << "of the last time it answered";
  answer({.status = 404, .body = "nothing here"});
  EXPECT_TRUE(after(5).answers) << "not every server says what it has";
  EXPECT_EQ(watch_->models_of(0), std::nullopt);
}

TEST_F(UpstreamWatchTest, TellsNothingWhereNothingChanges) {
  watch({server_.url("/v1")});
  after(1);
  answer({.body = R"({"data":[{"id":"a"},{"id":"b"}]})"});  // in another order
  std::unique_lock lock(mutex_);
  const int before = asked_;
  changed_.wait(lock, [&] { return asked_ > before + 5; });
  EXPECT_EQ(changes_.size(), 1U);
}

TEST_F(UpstreamWatchTest, IdentifiesServersThatCameAndCameBack) {
  answer({.status = 401, .body = "{}"});
  version_ = {.body = R"({"version":"0.12.3"})"};
  watch({server_.url("/v1")});
  EXPECT_EQ(after(1).identity, ServerIdentity{});
  answer({.body = R"({"data":[{"id":"a"}]})"});
  EXPECT_EQ(after(2).identity, (ServerIdentity{.kind = ServerKind::kOllama, .version = "0.12.3"}));
  {
    std::unique_lock lock(mutex_);
    const int before = asked_;
    changed_.wait(lock, [&] { return asked_ > before + 5; });
    EXPECT_EQ(versions_asked_, 1) << "while it is there it is who it was";
  }
  answer({.bytes_max = 0, .end = TestReply::End::kReset});
  EXPECT_FALSE(after(3).answers);
  {
    const std::scoped_lock lock(mutex_);
    version_ = {.status = 404};
    reply_ = {.body = R"({"data":[{"id":"a","owned_by":"vllm"}]})"};
  }
  EXPECT_EQ(after(4).identity.kind, ServerKind::kVllm);
}

// A server that could not be asked keeps its last reading.
TEST_F(UpstreamWatchTest, AShortageOfFilesHereChangesNothing) {
  watch({server_.url("/v1")});
  EXPECT_TRUE(after(1).answers);
  full_client_.full = true;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return shortages_ > 3; });
  }
  EXPECT_TRUE(watch_->reading(0).answers);
  EXPECT_FALSE(watch_->reading(0).unreached_since.has_value());
  full_client_.full = false;
  std::unique_lock lock(mutex_);
  const int before = asked_;
  changed_.wait(lock, [&] { return asked_ > before + 3; });
  EXPECT_EQ(changes_.size(), 1U);
}

TEST_F(UpstreamWatchTest, ItsEndEndsTheQuestionsThatAreOut) {
  answer({.bytes_max = 0, .end = TestReply::End::kStall});
  watch({server_.url("/v1"), server_.url("/v1")});
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asked_ == 2; });
  }
  watch_.reset();
  client_.reset();
  EXPECT_TRUE(changes_.empty());
}

TEST_F(UpstreamWatchTest, ItMayEndAtAnyMoment) {
  for (int i = 0; i < 50; ++i) {
    const size_t before = changes_.size();  // no watch runs here
    watch({server_.url("/v1")});
    if (i % 2 == 0) {
      EXPECT_TRUE(after(before + 1).answers);
    }
    watch_.reset();
  }
}

}  // namespace
}  // namespace windrow::upstream
