#include "report/progress.h"

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"

namespace windrow::report {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A job whose clock and counters move by hand.
class ProgressTest : public ::testing::Test {
 protected:
  ProgressTest() {
    counters_.phase = batch::JobPhase::kRunning;
    counters_.rows_total = 1000;
    clock_.advance(hours(5));  // the clock's own zero means nothing
  }

  void observe() { progress_.observe(read_progress(counters_, backend_, clock_.now())); }

  // `rows` finish evenly over `time`, five readings a second.
  void run(Duration time, int64_t rows, int64_t tokens_a_row = 0) {
    const int64_t ticks = time / milliseconds(200);
    const int64_t before = counters_.rows_succeeded;
    for (int64_t tick = 1; tick <= ticks; ++tick) {
      clock_.advance(milliseconds(200));
      const int64_t now = before + rows * tick / ticks;
      backend_.generated_tokens += (now - counters_.rows_succeeded) * tokens_a_row;
      counters_.rows_succeeded = now;
      observe();
    }
  }

  windrow::testing::ManualClock clock_;
  batch::JobCounters counters_;
  llm::BackendStats backend_;
  Progress progress_;
};

TEST_F(ProgressTest, CountsRowsOfAllRunsAndMeasuresThisOne) {
  counters_.rows_before = 100;
  counters_.rows_before_failed = 4;
  counters_.rows_failed = 1;
  observe();
  run(seconds(60), 120, 10);
  const ProgressNumbers numbers = progress_.numbers();
  EXPECT_EQ(numbers.rows_done, 100 + 120 + 1);
  EXPECT_EQ(numbers.rows_failed, 5);
  EXPECT_EQ(numbers.rows_total, 1000);
  EXPECT_NEAR(numbers.rows_per_s, 2.0, 0.05);
  EXPECT_NEAR(numbers.generated_tokens_per_s, 20, 0.5);
}

TEST_F(ProgressTest, TimeLeftFollowsTheRecentRate) {
  observe();
  run(seconds(100), 400);  // 4 a second
  ASSERT_TRUE(progress_.numbers().left.has_value());
  EXPECT_NEAR(windrow::seconds(*progress_.numbers().left), 150, 5);
  run(seconds(100), 100);  // 1 a second: what was before no longer counts
  EXPECT_NEAR(windrow::seconds(*progress_.numbers().left), 500, 10);
}

TEST_F(ProgressTest, RowsOfEarlierRunsDoNotMakeItLookFast) {
  counters_.rows_before = 900;
  observe();
  run(seconds(50), 10);
  EXPECT_NEAR(windrow::seconds(*progress_.numbers().left), 90 / 0.2, 30);
}

TEST_F(ProgressTest, TimeLeftIsUnknownUntilThereIsEnoughToGoBy) {
  observe();
  EXPECT_FALSE(progress_.numbers().left.has_value());
  run(seconds(2), 10);
  EXPECT_FALSE(progress_.numbers().left.has_value()) << "two seconds";
  run(seconds(4), 0);
  EXPECT_TRUE(progress_.numbers().left.has_value());
}

TEST_F(ProgressTest, TwoRowsAreNotEnoughHoweverLongTheyTook) {
  observe();
  run(seconds(600), 2);
  EXPECT_FALSE(progress_.numbers().left.has_value());
  run(seconds(300), 1);
  EXPECT_NEAR(windrow::seconds(*progress_.numbers().left), 997.0 * 300, 997.0 * 10);
}

TEST_F(ProgressTest, RareRowsAreMeasuredOverALongerTime) {
  observe();
  run(hours(1), 36);  // one every 100 s: none in most windows of 30 s
  EXPECT_NEAR(progress_.numbers().rows_per_s, 0.01, 0.001);
}

TEST_F(ProgressTest, AStandstillShowsInTheRate) {
  observe();
  run(seconds(60), 240);
  const Duration before = *progress_.numbers().left;
  run(seconds(240), 0);
  EXPECT_LT(progress_.numbers().rows_per_s, 0.5);
  EXPECT_GT(*progress_.numbers().left, 5 * before);
}

TEST_F(ProgressTest, TimeLeftIsUnknownWithoutATotalAndWhenStopping) {
  counters_.rows_total = -1;
  observe();
  run(seconds(60), 240);
  EXPECT_FALSE(progress_.numbers().left.has_value());
  counters_.rows_total = 1000;
  observe();
  EXPECT_TRUE(progress_.numbers().left.has_value());
  counters_.phase = batch::JobPhase::kStopping;
  observe();
  EXPECT_FALSE(progress_.numbers().left.has_value());
}

TEST_F(ProgressTest, LoadingDoesNotCountAsRunning) {
  counters_.phase = batch::JobPhase::kWaiting;
  observe();
  clock_.advance(seconds(600));
  observe();
  EXPECT_EQ(progress_.numbers().rows_per_s, 0);
  counters_.phase = batch::JobPhase::kRunning;
  observe();
  run(seconds(20), 40);
  EXPECT_NEAR(progress_.numbers().rows_per_s, 2.0, 0.1);
}

TEST_F(ProgressTest, ALongJobKeepsItsRatesTrue) {
  counters_.rows_total = 100'000'000;
  observe();
  run(hours(3), 108'000);  // 54,000 readings
  EXPECT_NEAR(progress_.numbers().rows_per_s, 10, 0.2);
  run(seconds(45), 900);
  EXPECT_NEAR(progress_.numbers().rows_per_s, 20, 0.5);
}

ProgressNumbers example() {
  return ProgressNumbers{.phase = batch::JobPhase::kRunning,
                         .rows_done = 1204,
                         .rows_total = 170'000,
                         .rows_failed = 12,
                         .rows_running = 16,
                         .rows_per_s = 3.614,
                         .prompt_tokens_per_s = 2130,
                         .generated_tokens_per_s = 412,
                         .device_bytes_used = 1288490189,
                         .device_bytes_max = 25125558681,
                         .elapsed = seconds(333),
                         .left = hours(12) + std::chrono::minutes(58)};
}

TEST(ProgressText, TheLineHoldsEveryNumber) {
  EXPECT_EQ(fit_pieces(progress_pieces(example()), 200, false),
            "1,204/170,000  0.7 %  12 failed  3.61 rows/s  2,130 prompt tok/s  412 output tok/s  "
            "16 in batch  1.20 GiB of 23.4 GiB  5 min 33 s  ETA 12 h 58 min");
}

TEST_F(ProgressTest, ElapsedTimeIncludesLoading) {
  counters_.phase = batch::JobPhase::kWaiting;
  observe();
  clock_.advance(seconds(40));
  counters_.phase = batch::JobPhase::kRunning;
  observe();
  run(seconds(20), 40);
  EXPECT_EQ(progress_.numbers().elapsed, seconds(60));
}

TEST_F(ProgressTest, EmbeddingsAreTextsWithoutOutputTokens) {
  observe();
  for (int i = 0; i < 300; ++i) {
    clock_.advance(milliseconds(200));
    ++counters_.rows_succeeded;
    ++counters_.rows_of_texts;
    counters_.texts += 8;
    backend_.prompt_tokens += 100;
    observe();
  }
  ProgressNumbers numbers = progress_.numbers();
  EXPECT_TRUE(numbers.texts_only);
  EXPECT_NEAR(numbers.texts_per_s, 40, 1);
  EXPECT_EQ(rates_text(numbers), "40.0 texts/s, 5.00 rows/s, 500 prompt tokens/s");
  numbers.left = std::nullopt;
  EXPECT_EQ(
      fit_pieces(progress_pieces(numbers), 200, false),
      "300/1,000  30.0 %  40.0 texts/s  5.00 rows/s  500 prompt tok/s  0 in batch  1 min 0 s  "
      "ETA ?");
  numbers.one_text_a_row = true;
  EXPECT_EQ(rates_text(numbers), "40.0 texts/s, 500 prompt tokens/s");
  // A row that failed is no text, and no answer either.
  ++counters_.rows_failed;
  counters_.failures.add(400, "invalid_value");
  observe();
  EXPECT_TRUE(progress_.numbers().texts_only);
  // One that was answered with text is.
  ++counters_.rows_succeeded;
  backend_.generated_tokens = 5;
  observe();
  EXPECT_FALSE(progress_.numbers().texts_only);
}

TEST(ProgressText, RowsThatAreTriedAgainAreSaid) {
  ProgressNumbers numbers = example();
  numbers.retries = {.waiting = 3, .try_next = 2, .tries_max = 3};
  EXPECT_NE(fit_pieces(progress_pieces(numbers), 200, false)
                .find("12 failed  3 trying again, 2 of 3  3.61 rows/s"),
            std::string::npos);
  EXPECT_NE(progress_sentence(numbers).find("; 3 trying again, 2 of 3; 5 min 33 s so far"),
            std::string::npos);
  numbers.retries.try_next = 1;  // a refusal for load is no attempt
  EXPECT_EQ(retries_text(numbers.retries), "3 refused, trying again");
  EXPECT_EQ(retries_text({}), "");
}

TEST(ProgressText, WhatIsReusedIsSaidWhereItIs) {
  ProgressNumbers numbers = example();
  numbers.prompt_reused = 0.614;
  EXPECT_EQ(fit_pieces(progress_pieces(numbers), 200, false),
            "1,204/170,000  0.7 %  12 failed  3.61 rows/s  2,130 prompt tok/s  61 % reused  "
            "412 output tok/s  16 in batch  1.20 GiB of 23.4 GiB  5 min 33 s  ETA 12 h 58 min");
  EXPECT_NE(progress_sentence(numbers).find(", 61 % of the prompts reused, 16 rows in batch"),
            std::string::npos);
}

TEST(ProgressText, ANarrowTerminalKeepsWhatMatters) {
  const std::vector<ProgressPiece> pieces = progress_pieces(example());
  EXPECT_EQ(fit_pieces(pieces, 80, false),
            "1,204/170,000  0.7 %  12 failed  3.61 rows/s  412 output tok/s  ETA 12 h 58 min");
  EXPECT_EQ(fit_pieces(pieces, 45, false), "1,204/170,000  12 failed  ETA 12 h 58 min");
  EXPECT_EQ(fit_pieces(pieces, 13, false), "1,204/170,000");
  EXPECT_EQ(fit_pieces(pieces, 5, false), "1,204");
  for (size_t width = 0; width < 140; ++width) {
    EXPECT_LE(fit_pieces(pieces, width, false).size(), width);
  }
}

TEST(ProgressText, OnlyFailuresAreColoured) {
  const std::string line = fit_pieces(progress_pieces(example()), 200, true);
  EXPECT_NE(line.find("\x1b[31m12 failed\x1b[0m"), std::string::npos);
  ProgressNumbers numbers = example();
  numbers.rows_failed = 0;
  EXPECT_EQ(fit_pieces(progress_pieces(numbers), 200, true),
            fit_pieces(progress_pieces(numbers), 200, false));
}

TEST(ProgressText, WhatIsNotKnownIsNotClaimed) {
  ProgressNumbers numbers = example();
  numbers.rows_total = -1;
  numbers.rows_failed = 0;
  numbers.device_bytes_used = 0;
  numbers.left = std::nullopt;
  EXPECT_EQ(fit_pieces(progress_pieces(numbers), 200, false),
            "1,204 rows  3.61 rows/s  2,130 prompt tok/s  412 output tok/s  16 in batch  "
            "5 min 33 s  ETA ?");
}

TEST(ProgressText, AlmostDoneIsNotDone) {
  ProgressNumbers numbers = example();
  numbers.rows_done = 169'999;
  EXPECT_NE(fit_pieces(progress_pieces(numbers), 200, false).find("99.9 %"), std::string::npos);
}

TEST(ProgressText, PhasesAroundTheRunHaveWords) {
  ProgressNumbers numbers = example();
  numbers.phase = batch::JobPhase::kWaiting;
  EXPECT_EQ(fit_pieces(progress_pieces(numbers), 200, false), "loading the model");
  EXPECT_EQ(progress_sentence(numbers), "loading the model");
  numbers.phase = batch::JobPhase::kStopping;
  EXPECT_TRUE(fit_pieces(progress_pieces(numbers), 200, false).starts_with("stopping  1,204/"));
}

TEST(ProgressText, TheSentenceForLogsHoldsEveryNumber) {
  EXPECT_EQ(progress_sentence(example()),
            "1,204 of 170,000 rows done (0.7 %), 12 failed; 3.61 rows/s, 2,130 prompt and 412 "
            "output tokens/s, 16 rows in batch, memory 1.20 GiB of 23.4 GiB; 5 min 33 s "
            "so far; time left 12 h 58 min");
}

}  // namespace
}  // namespace windrow::report
