#include "upstream/memory_poll.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/testing/manual_clock.h"

namespace windrow::upstream {
namespace {

using std::chrono::seconds;

// Answers when the test says so.
class HeldClient final : public http::Client {
 public:
  struct Call {
    http::ClientRequest request;
    Done done;
  };

  http::CallId send(http::ClientRequest request, Done done) override {
    calls.push_back({std::move(request), std::move(done)});
    return http::CallId(calls.size());
  }
  void cancel(http::CallId) override {}

  std::vector<Call> calls;
};

class MemoryPollTest : public ::testing::Test {
 protected:
  MemoryPoll poll_of(ServerKind kind, const std::string& base = "http://h:8000/v1") {
    UpstreamOptions options;
    options.base = http::parse_url(base).value();
    options.api_key = "key";
    return {client_, clock_, options, kind};
  }

  void answer(int32_t status, std::string body) {
    http::ClientReply reply;
    reply.head.status = status;
    reply.body = std::move(body);
    client_.calls.back().done(std::move(reply));
  }

  std::string last_url() const { return http::to_string(client_.calls.back().request.url); }

  testing::ManualClock clock_;
  HeldClient client_;
};

TEST_F(MemoryPollTest, AsksAtOnceAndThenLessAndLessOften) {
  MemoryPoll poll = poll_of(ServerKind::kVllm);
  std::vector<int> asked_at;
  for (int second = 0; second <= 40; ++second) {
    const size_t before = client_.calls.size();
    poll.ask_when_due();
    poll.ask_when_due();
    if (client_.calls.size() > before) {
      asked_at.push_back(second);
      EXPECT_EQ(client_.calls.size(), before + 1);
      answer(200, "vllm:kv_cache_usage_perc 0.5\n");
    }
    clock_.advance(seconds(1));
  }
  EXPECT_EQ(asked_at, (std::vector{0, 1, 3, 7, 15, 25, 35}));
  EXPECT_EQ(last_url(), "http://h:8000/metrics");
  EXPECT_EQ(client_.calls.back().request.headers.get("Authorization"), "Bearer key");
  EXPECT_GT(client_.calls.back().request.limits.total, Duration::zero());
}

TEST_F(MemoryPollTest, NeverHasTwoQuestionsOut) {
  MemoryPoll poll = poll_of(ServerKind::kVllm);
  poll.ask_when_due();
  clock_.advance(seconds(60));
  poll.ask_when_due();
  EXPECT_EQ(client_.calls.size(), 1U);
  answer(200, "vllm:kv_cache_usage_perc 0.5\n");
  poll.ask_when_due();
  EXPECT_EQ(client_.calls.size(), 2U);
}

TEST_F(MemoryPollTest, KeepsWhatIsNowAndTheMost) {
  MemoryPoll poll = poll_of(ServerKind::kUnknown);
  EXPECT_FALSE(poll.reading().now.is_known());
  for (const char* page : {"vllm:kv_cache_usage_perc 0.25\nnv_gpu_memory_used_bytes 7\n",
                           "vllm:kv_cache_usage_perc 0.75\n", "vllm:kv_cache_usage_perc 0.5\n"}) {
    poll.ask_when_due();
    answer(200, page);
    clock_.advance(seconds(10));
  }
  EXPECT_EQ(poll.reading().now, (MemoryReading{.cache_used = 0.5}));
  EXPECT_EQ(poll.reading().most, (MemoryReading{.device_bytes = 7, .cache_used = 0.75}));
}

TEST_F(MemoryPollTest, WhoTellsNothingIsLeftAlone) {
  for (const auto& [status, body] :
       std::vector<std::pair<int32_t, std::string>>{{404, "not found"},
                                                    {501, ""},
                                                    {200, "<html></html>"},
                                                    {200, "llamacpp:n_decode_total 1\n"}}) {
    MemoryPoll poll = poll_of(ServerKind::kUnknown);
    const size_t before = client_.calls.size();
    for (int i = 0; i < 10; ++i) {
      const size_t calls = client_.calls.size();
      poll.ask_when_due();
      if (client_.calls.size() > calls) answer(status, body);
      clock_.advance(seconds(10));
    }
    EXPECT_EQ(client_.calls.size() - before, 3U) << body;
    EXPECT_FALSE(poll.reading().now.is_known());
  }
}

// A server that told once is there; it may be away for a while.
TEST_F(MemoryPollTest, AnAnswerThatFailsLeavesWhatWasSaid) {
  MemoryPoll poll = poll_of(ServerKind::kVllm);
  poll.ask_when_due();
  answer(200, "vllm:kv_cache_usage_perc 0.25\n");
  for (int i = 0; i < 10; ++i) {
    clock_.advance(seconds(10));
    poll.ask_when_due();
    ASSERT_EQ(client_.calls.size(), static_cast<size_t>(i) + 2);
    if (i % 2 == 0) {
      client_.calls.back().done(http::ClientFailure{});
    } else {
      answer(500, "vllm:kv_cache_usage_perc 1\n");
    }
    EXPECT_EQ(poll.reading().now, (MemoryReading{.cache_used = 0.25}));
  }
}

TEST_F(MemoryPollTest, OllamaTellsOfItsModels) {
  MemoryPoll poll = poll_of(ServerKind::kOllama, "http://h:11434/v1");
  poll.ask_when_due();
  EXPECT_EQ(last_url(), "http://h:11434/api/ps");
  answer(200, R"({"models":[{"size_vram":5}]})");
  EXPECT_EQ(poll.reading().now, (MemoryReading{.device_bytes = 5}));
}

TEST_F(MemoryPollTest, ServersWithoutEitherAreNeverAsked) {
  for (const ServerKind kind : {ServerKind::kMlx, ServerKind::kLmStudio})
    poll_of(kind).ask_when_due();
  EXPECT_TRUE(client_.calls.empty());
}

// Its answer may come when the job, and the poll with it, has ended.
TEST_F(MemoryPollTest, AnAnswerMayComeAfterItsEnd) {
  {
    MemoryPoll poll = poll_of(ServerKind::kVllm);
    poll.ask_when_due();
  }
  answer(200, "vllm:kv_cache_usage_perc 0.25\n");
}

}  // namespace
}  // namespace windrow::upstream
