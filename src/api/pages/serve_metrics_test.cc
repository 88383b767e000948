#include "api/pages/serve_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"

namespace windrow::api {
namespace {

using std::chrono::milliseconds;

RequestRecord call(std::string model, int status, std::string code = "") {
  RequestRecord record;
  record.endpoint = llm::Endpoint::kChatCompletions;
  record.model = std::move(model);
  record.status = status;
  record.code = std::move(code);
  return record;
}

TEST(Histogram, CountsAsSortingDoes) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<double> bounds;
    bounds.reserve(5);
    for (int i = 0; i < 5; ++i)
      bounds.push_back(static_cast<double>(random.below(20)));
    std::ranges::sort(bounds);
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    Histogram histogram(bounds);
    std::vector<double> values;
    double sum = 0;
    for (int i = 0; i < 200; ++i) {
      values.push_back(static_cast<double>(random.between(-2, 21)));
      histogram.add(values.back());
      sum += std::max(values.back(), 0.0);
    }
    const Histogram::Reading reading = histogram.read();
    ASSERT_EQ(reading.counts.size(), bounds.size() + 1);
    for (size_t i = 0; i < bounds.size(); ++i) {
      const auto expected =
          std::ranges::count_if(values, [&](double value) { return value <= bounds[i]; });
      EXPECT_EQ(reading.counts[i], expected) << bounds[i];
    }
    EXPECT_EQ(reading.counts.back(), 200);
    EXPECT_EQ(reading.sum, sum);
  }
}

TEST(ServeMetrics, CountsCallsByWhatTheyWere) {
  ServeMetrics metrics;
  metrics.ended(call("chat", 200), {});
  metrics.ended(call("chat", 200), {});
  metrics.ended(call("chat", 429, "rate_limit_exceeded"), {});
  metrics.ended(call("other model", 200), {});
  RequestRecord embed = call("chat", 499);
  embed.endpoint = llm::Endpoint::kEmbeddings;
  metrics.ended(embed, {});
  RequestRecord page;
  page.status = 200;
  metrics.ended(page, {});
  page.status = 401;
  page.code = "invalid_api_key";
  metrics.ended(page, {});

  const ServeMetrics::Reading reading = metrics.read();
  std::vector<std::string> calls;
  calls.reserve(reading.calls.size());
  for (const auto& series : reading.calls) {
    calls.push_back(std::to_string(static_cast<int>(series.endpoint)) + " " + series.model + " " +
                    std::to_string(series.status) + " " + std::to_string(series.count));
  }
  EXPECT_EQ(calls, (std::vector<std::string>{"0 chat 200 2", "0 other model 200 1", "0 chat 429 1",
                                             "2 chat 499 1"}));
  EXPECT_EQ(reading.errors, (std::vector<std::pair<std::string, int64_t>>{
                                {"invalid_api_key", 1}, {"rate_limit_exceeded", 1}}));
  EXPECT_EQ(reading.others, 2);
  EXPECT_EQ(reading.clients_left, 1);
}

TEST(ServeMetrics, AddsUpTokensAndTimesOfCalls) {
  ServeMetrics metrics;
  RequestRecord record = call("chat", 200);
  record.priority = dispatch::Priority::kBatch;
  record.usage = {.prompt_tokens = 10, .completion_tokens = 3, .cached_tokens = 4};
  record.queue = milliseconds(500);
  metrics.ended(record, std::chrono::seconds(2));
  record.status = 500;
  record.queue.reset();
  record.ttft = milliseconds(250);
  metrics.ended(record, std::chrono::seconds(1));
  metrics.token_gap(dispatch::Priority::kInteractive, milliseconds(20));

  const ServeMetrics::Reading reading = metrics.read();
  ASSERT_EQ(reading.tokens.size(), 1U);
  EXPECT_EQ(reading.tokens[0].model, "chat");
  EXPECT_EQ(reading.tokens[0].prompt, 20);
  EXPECT_EQ(reading.tokens[0].cached, 8);
  EXPECT_EQ(reading.tokens[0].generated, 6);
  EXPECT_EQ(reading.duration_s[2].counts.back(), 2);
  EXPECT_DOUBLE_EQ(reading.duration_s[2].sum, 3);
  EXPECT_EQ(reading.duration_s[0].counts.back(), 0);
  EXPECT_EQ(reading.queue_s[2].counts.back(), 1) << "one never began";
  EXPECT_DOUBLE_EQ(reading.ttft_s[2].sum, 0.25);
  EXPECT_EQ(reading.token_gap_s[0].counts.back(), 1);
  EXPECT_EQ(reading.token_gap_s[1].counts.back(), 0);
}

TEST(ServeMetrics, CountsPassesOfEachModelAndKind) {
  ServeMetrics metrics;
  const llm::StepObserver chat = metrics.steps("chat");
  const llm::StepObserver same = metrics.steps("chat");
  const llm::StepObserver embed = metrics.steps("embed");
  chat({.rows_decoding = 3,
        .rows_prefilling = 1,
        .tokens = 100,
        .preempted = 2,
        .duration = milliseconds(30),
        .sampling = milliseconds(3),
        .mask_wait = milliseconds(1)});
  same({.rows_decoding = 1, .tokens = 1, .duration = milliseconds(10)});
  embed({.kind = llm::StepKind::kEmbed, .reason = llm::StepReason::kLinger, .rows_prefilling = 7});

  const ServeMetrics::Reading reading = metrics.read();
  ASSERT_EQ(reading.steps.size(), 2U);
  const ServeMetrics::StepSeries& first = reading.steps[0];
  EXPECT_EQ(first.model, "chat");
  EXPECT_EQ(first.kind, llm::StepKind::kGenerate);
  EXPECT_EQ(first.steps[static_cast<size_t>(llm::StepReason::kWork)], 2);
  EXPECT_EQ(first.preempted, 2);
  EXPECT_DOUBLE_EQ(first.sampling_s, 0.003);
  EXPECT_DOUBLE_EQ(first.mask_wait_s, 0.001);
  EXPECT_EQ(first.rows.sum, 5);
  EXPECT_EQ(first.tokens.sum, 101);
  EXPECT_DOUBLE_EQ(first.duration_s.sum, 0.04);
  EXPECT_EQ(reading.steps[1].model, "embed");
  EXPECT_EQ(reading.steps[1].kind, llm::StepKind::kEmbed);
  EXPECT_EQ(reading.steps[1].steps[static_cast<size_t>(llm::StepReason::kLinger)], 1);
}

// A server elsewhere may invent codes; memory and page stay small all the same.
TEST(ServeMetrics, LabelsFromElsewhereAreBounded) {
  ServeMetrics metrics;
  for (int i = 0; i < 10'000; ++i)
    metrics.ended(call("m" + std::to_string(i), 500, "code" + std::to_string(i)), {});
  const ServeMetrics::Reading reading = metrics.read();
  EXPECT_LE(reading.errors.size(), 201U);
  EXPECT_LE(reading.calls.size(), 2001U);
  int64_t calls = 0;
  for (const auto& series : reading.calls)
    calls += series.count;
  int64_t errors = 0;
  for (const auto& [code, count] : reading.errors)
    errors += count;
  EXPECT_EQ(calls, 10'000);
  EXPECT_EQ(errors, 10'000);
}

TEST(ServeMetrics, NothingIsLostBetweenThreads) {
  ServeMetrics metrics;
  const llm::StepObserver steps = metrics.steps("chat");
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2'000; ++i) {
        metrics.ended(call("chat", i % 2 == 0 ? 200 : 500, i % 2 == 0 ? "" : "e"), milliseconds(1));
        steps({.tokens = 1});
        if (i % 500 != 0) continue;
        EXPECT_LE(metrics.read().duration_s[1].counts.back(), 8'000);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  const ServeMetrics::Reading reading = metrics.read();
  EXPECT_EQ(reading.calls.at(0).count + reading.calls.at(1).count, 8'000);
  EXPECT_EQ(reading.errors.at(0).second, 4'000);
  EXPECT_EQ(reading.duration_s[1].counts.back(), 8'000);
  EXPECT_EQ(reading.steps.at(0).tokens.sum, 8'000);
}

}  // namespace
}  // namespace windrow::api
