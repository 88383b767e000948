#include "report/progress_record.h"

#include <gtest/gtest.h>

#include <chrono>

namespace windrow::report {
namespace {

ProgressNumbers some_numbers() {
  return {.phase = batch::JobPhase::kRunning,
          .rows_done = 1204,
          .rows_total = 170'000,
          .rows_failed = 12,
          .failures = {{.status = 400, .code = "invalid_value", .rows = 9},
                       {.status = 0, .code = "invalid_json_line", .rows = 3}},
          .rows_running = 16,
          .retries = {.waiting = 3, .try_next = 2, .tries_max = 5},
          .rows_per_s = 3.5,
          .texts_per_s = 7,
          .prompt_tokens_per_s = 2130,
          .generated_tokens_per_s = 412,
          .prompt_reused = 0.5,
          .device_bytes_used = 1288490189,
          .device_bytes_max = 25125558681,
          .elapsed = std::chrono::seconds(125),
          .left = std::chrono::seconds(4000),
          .upstreams = {{.name = "http://gpu1:8000",
                         .answers = 1000,
                         .failures = 4,
                         .latency_s = 1.5,
                         .in_flight = 15,
                         .in_flight_max = 16,
                         .state = "ok",
                         .finding = "saturates at 16 in flight",
                         .cache_used = 0.75}}};
}

TEST(ProgressRecord, IsReadBackAsItWasWritten) {
  const ProgressNumbers numbers = some_numbers();
  const auto record = read_progress_record(
      progress_record_text({.numbers = numbers, .written_unix_s = 1795286129}));
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->written_unix_s, 1795286129);
  const ProgressNumbers& read = record->numbers;
  EXPECT_EQ(read.rows_total, 170'000);
  EXPECT_EQ(read.failures, numbers.failures);
  EXPECT_EQ(read.retries, numbers.retries);
  EXPECT_EQ(read.elapsed, numbers.elapsed);
  EXPECT_EQ(read.left, numbers.left);
  ASSERT_EQ(read.upstreams.size(), 1U);
  EXPECT_EQ(upstream_piece(read.upstreams[0]), upstream_piece(numbers.upstreams[0]));
  // Both are made of every number that is shown.
  EXPECT_EQ(progress_sentence(read), progress_sentence(numbers));
  EXPECT_EQ(progress_to_json(read), progress_to_json(numbers));
}

TEST(ProgressRecord, WhatIsUnknownStaysUnknown) {
  ProgressNumbers numbers;
  numbers.rows_total = -1;
  const auto record = read_progress_record(progress_record_text({.numbers = numbers}));
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->numbers.rows_total, -1);
  EXPECT_FALSE(record->numbers.left.has_value());
}

// It is written again every second, also where a job has many servers and kinds of failures.
TEST(ProgressRecord, StaysSmall) {
  ProgressNumbers numbers = some_numbers();
  numbers.failures.resize(50, {.status = 500, .code = "server_error", .rows = 1});
  numbers.upstreams.resize(16, numbers.upstreams[0]);
  EXPECT_LT(progress_record_text({.numbers = numbers}).size(), 16'000U);
}

TEST(ProgressRecord, EveryPhaseHasAName) {
  for (int i = 0; i <= static_cast<int>(batch::JobPhase::kEnded); ++i) {
    const auto phase = static_cast<batch::JobPhase>(i);
    EXPECT_EQ(phase_of(to_string(phase)), phase);
  }
}

TEST(ProgressRecord, WhatIsNoRecordIsNone) {
  const std::string text = progress_record_text({.numbers = some_numbers()});
  EXPECT_FALSE(read_progress_record("").has_value());
  EXPECT_FALSE(read_progress_record("[]").has_value());
  EXPECT_FALSE(read_progress_record(R"({"version": 2, "phase": "running"})").has_value());
  EXPECT_FALSE(read_progress_record(R"({"version": 1, "phase": "resting"})").has_value());
  for (size_t size = 0; size + 1 < text.size(); ++size)
    EXPECT_FALSE(read_progress_record(text.substr(0, size)).has_value()) << size;
  // Numbers of other kinds count as absent.
  const auto odd = read_progress_record(
      R"({"version": 1, "phase": "running", "rows_total": "many", "left_s": true,)"
      R"( "upstreams": [1, {}], "failures": {"code": 1}, "retrying": [], "elapsed_s": 1e300})");
  ASSERT_TRUE(odd.has_value());
  EXPECT_EQ(odd->numbers.rows_total, -1);
  EXPECT_FALSE(odd->numbers.left.has_value());
  EXPECT_EQ(odd->numbers.upstreams.size(), 1U);
}

}  // namespace
}  // namespace windrow::report
