#include "upstream/device_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/testing/manual_clock.h"

namespace windrow::upstream {
namespace {

using Samples = std::vector<std::pair<std::string, double>>;

Samples samples_in(std::string_view text) {
  Samples list;
  MetricsText reader(text);
  while (const std::optional<MetricSample> sample = reader.next())
    list.emplace_back(sample->name, sample->value);
  return list;
}

TEST(MetricsText, ASampleIsANameLabelsAndANumber) {
  EXPECT_EQ(samples_in("# HELP vllm:num_requests_running Number of requests.\n"
                       "# TYPE vllm:num_requests_running gauge\n"
                       "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 16.0\n"
                       "\n"
                       "process_resident_memory_bytes 1.5e+09\n"
                       "up 1 1700000000000\n"
                       "  spaced \t {a=\"b\"}\t-2.5\r\n"
                       "last 7"),
            (Samples{{"vllm:num_requests_running", 16},
                     {"process_resident_memory_bytes", 1.5e9},
                     {"up", 1},
                     {"spaced", -2.5},
                     {"last", 7}}));
}

TEST(MetricsText, WhatIsQuotedEndsNoLabels) {
  EXPECT_EQ(samples_in("a{x=\"}\",y=\"\\\"}\",z=\"\\\\\"} 1\nb{} 2\n"),
            (Samples{{"a", 1}, {"b", 2}}));
}

TEST(MetricsText, NumbersMayBeInfiniteOrNone) {
  const Samples list = samples_in("a +Inf\nb -Inf\nc NaN\n");
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].second, std::numeric_limits<double>::infinity());
  EXPECT_EQ(list[1].second, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(list[2].second));
}

TEST(MetricsText, WhatIsNoSampleIsPassedOver) {
  for (const char* text : {"",
                           "\n\n",
                           "#",
                           "a",
                           "a ",
                           "a{",
                           "a{x=\"",
                           "a{x=\"1\"}",
                           "a{} x",
                           "a 1x",
                           "a +-1",
                           "1 2",
                           "a-b 1",
                           "a=1",
                           "{} 1",
                           "<html><body>1 2 3</body></html>",
                           R"({"models":[1]})",
                           "é 1",
                           "a 0x10",
                           "a 1,5",
                           "a \"1\"",
                           "a{\\\"} 1"})
    EXPECT_EQ(samples_in(text), Samples{}) << text;
  EXPECT_EQ(samples_in("a{ 1\nb 2\n"), (Samples{{"b", 2}}));
}

// What a careful writer wrote is read as it was, whatever names and labels hold.
TEST(MetricsText, WhatIsWrittenIsRead) {
  const uint64_t seed = 20261122;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const auto pick = [&](std::string_view from) { return from[random.below(from.size())]; };
  Samples written;
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    std::string name(1, pick("abZ_:"));
    for (uint64_t more = random.below(12); more > 0; --more)
      name += pick("abZ_:09");
    std::string labels;
    for (uint64_t more = random.below(4); more > 0; --more) {
      labels += (labels.empty() ? "l=\"" : ",l=\"");
      for (uint64_t bytes = random.below(8); bytes > 0; --bytes) {
        const char c = pick("ab \"\\{},=#\xc3\x01");
        if (c == '"' || c == '\\') labels += '\\';
        labels += c;
      }
      labels += '"';
    }
    const double value = (random.chance(0.5) ? 1 : -1) * static_cast<double>(random.next()) /
                         std::pow(10, static_cast<double>(random.below(30)));
    if (!labels.empty() || random.chance(0.2)) labels = "{" + labels + "}";
    text += fmt::format("{}{} {}{}\n", name, labels, value, random.chance(0.2) ? " 17000" : "");
    written.emplace_back(std::move(name), value);
  }
  EXPECT_EQ(samples_in(text), written);
}

// Bytes of the alphabet that the format is made of, in any order: it comes to an end, and what it
// gives lies in the text.
TEST(MetricsText, HostileBytesEnd) {
  const uint64_t seed = 20261123;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  constexpr std::string_view kAlphabet = "a:_0 \t\r\n#{}\"\\,=.+-einfNaN\xff";
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (uint64_t bytes = random.below(60); bytes > 0; --bytes)
      text += kAlphabet[random.below(kAlphabet.size())];
    if (random.chance(0.1)) text += '\0';
    MetricsText reader(text);
    size_t count = 0;
    while (const std::optional<MetricSample> sample = reader.next()) {
      ++count;
      ASSERT_FALSE(sample->name.empty());
      ASSERT_GE(sample->name.data(), text.data());
      ASSERT_LE(sample->name.data() + sample->name.size(), text.data() + text.size());
    }
    ASSERT_LE(count, text.size() / 3 + 1);
  }
}

TEST(DeviceMemory, IsThatOfAllLoadedModels) {
  EXPECT_EQ(memory_in_models(R"({"models":[{"name":"a","size":9,"size_vram":5000000000},)"
                             R"({"name":"b","size_vram":7}]})"),
            (MemoryReading{.device_bytes = 5'000'000'007U}));
}

TEST(DeviceMemory, WhatTellsNothingIsNone) {
  for (const char* body : {"", "404 page not found", "[]", R"({"models":{}})", R"({"models":[]})",
                           R"({"models":[1,{"size_vram":"much"},{"size_vram":-1}]})"})
    EXPECT_FALSE(memory_in_models(body).is_known()) << body;
}

TEST(DeviceMemory, EachServerHasItsOwnNameForTheSame) {
  const MemoryReading half{.cache_used = 0.5};
  EXPECT_EQ(memory_in_metrics("# TYPE vllm:kv_cache_usage_perc gauge\n"
                              "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.5\n"),
            half);
  EXPECT_EQ(memory_in_metrics("vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.5\n"
                              "vllm:cpu_cache_usage_perc{model_name=\"m\"} 0.9\n"),
            half);
  EXPECT_EQ(memory_in_metrics("sglang:token_usage{model_name=\"m\"} 0.5\n"
                              "sglang:cache_hit_rate{model_name=\"m\"} 0.9\n"),
            half);
  EXPECT_EQ(memory_in_metrics("llamacpp:kv_cache_usage_ratio 0.5\nllamacpp:kv_cache_tokens 99\n"),
            half);
  EXPECT_EQ(memory_in_metrics("nv_gpu_memory_used_bytes{gpu_uuid=\"a\"} 1000000000.000000\n"
                              "nv_gpu_memory_used_bytes{gpu_uuid=\"b\"} 1.5e9\n"
                              "nv_gpu_memory_total_bytes{gpu_uuid=\"a\"} 9e9\n"),
            (MemoryReading{.device_bytes = 2'500'000'000U}));
}

TEST(DeviceMemory, TheFullestEngineCounts) {
  EXPECT_EQ(memory_in_metrics("vllm:kv_cache_usage_perc{engine=\"0\"} 0.25\n"
                              "vllm:kv_cache_usage_perc{engine=\"1\"} 0.75\n"
                              "vllm:kv_cache_usage_perc{engine=\"2\"} 0.5\n"),
            (MemoryReading{.cache_used = 0.75}));
}

TEST(DeviceMemory, AnEmptyCacheIsToldToo) {
  EXPECT_EQ(memory_in_metrics("vllm:kv_cache_usage_perc 0.0\n"), (MemoryReading{.cache_used = 0}));
}

TEST(DeviceMemory, NumbersThatCannotBeAreNone) {
  for (const char* page :
       {"", "<html>404</html>", "vllm:kv_cache_usage_perc NaN\n", "sglang:token_usage -0.1\n",
        "vllm:kv_cache_usage_perc -Inf\n", "nv_gpu_memory_used_bytes +Inf\n",
        "nv_gpu_memory_used_bytes 1e300\n", "nv_gpu_memory_used_bytes -5\n",
        "xvllm:kv_cache_usage_perc 0.5\n", "vllm:kv_cache_usage_perc_max 0.5\n"})
    EXPECT_FALSE(memory_in_metrics(page).is_known()) << page;
  EXPECT_EQ(memory_in_metrics("sglang:token_usage 1.02\n"), (MemoryReading{.cache_used = 1}));
}

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

TEST_F(MemoryPollTest, AServerWithoutReadingsIsNotAskedAgain) {
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
