#include "dispatch/retry_policy.h"

#include <gtest/gtest.h>

namespace windrow::dispatch {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr TimePoint kNow{seconds(100)};
constexpr RetryOptions kOptions{.attempts_max = 3, .backoff_base = seconds(1)};

class Row {
 public:
  RetryDecision fails(Fault fault, std::optional<Duration> retry_after = {}, TimePoint now = kNow,
                      RetryOptions options = kOptions) {
    return decide_retry(options, fault, retry_after, now, attempts, random_);
  }

  Attempts attempts;

 private:
  Random random_{7};
};

TEST(RetryPolicy, PassingFailuresAreTriedUntilTheAttemptsAreUsedUp) {
  Row row;
  EXPECT_TRUE(row.fails(Fault::kTransient).again);
  EXPECT_TRUE(row.fails(Fault::kTransient).again);
  EXPECT_FALSE(row.fails(Fault::kTransient).again);
  EXPECT_EQ(row.attempts.used, 3);
}

TEST(RetryPolicy, WhatCannotHelpIsNotTried) {
  for (const Fault fault : {Fault::kRequest, Fault::kCancelled, Fault::kBackend}) {
    Row row;
    EXPECT_FALSE(row.fails(fault).again);
    EXPECT_EQ(row.attempts.used, 1);
  }
}

TEST(RetryPolicy, ARefusalForLoadUsesUpNothingButPatience) {
  Row row;
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(row.fails(Fault::kOverloaded, {}, kNow + seconds(i)).again);
  EXPECT_EQ(row.attempts.used, 0);
  EXPECT_EQ(row.attempts.refused, 100);
  EXPECT_FALSE(row.fails(Fault::kOverloaded, {}, kNow + minutes(30)).again);
}

TEST(RetryPolicy, PatienceBeginsAnewWhenAServerTookTheRow) {
  Row row;
  EXPECT_TRUE(row.fails(Fault::kOverloaded).again);
  EXPECT_TRUE(row.fails(Fault::kTransient, {}, kNow + minutes(29)).again);
  EXPECT_TRUE(row.fails(Fault::kOverloaded, {}, kNow + minutes(31)).again);
}

TEST(RetryPolicy, AServerThatIsAwayCostsNoAttempt) {
  Row row;
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(row.fails(Fault::kUnreached, {}, kNow + seconds(i)).again);
  EXPECT_EQ(row.attempts.used, 0);
  EXPECT_EQ(row.attempts.refused, 20);
  EXPECT_FALSE(row.fails(Fault::kUnreached, {}, kNow + minutes(30)).again) << "for ever";
}

TEST(RetryPolicy, TheServersWordIsKept) {
  Row row;
  EXPECT_LE(row.fails(Fault::kOverloaded, seconds(90)).at, kNow + seconds(4))
      << "the quota keeps to it, and the row may go elsewhere";
  EXPECT_GE(row.fails(Fault::kTransient, seconds(90)).at, kNow + seconds(90));
}

TEST(RetryPolicy, WherePeopleWaitARefusalIsSoonTheirs) {
  const RetryOptions options{.backoff_base = seconds(1), .refusal_patience = seconds(10)};
  Row row;
  EXPECT_GE(row.fails(Fault::kOverloaded, seconds(4), kNow, options).at, kNow + seconds(4));
  EXPECT_FALSE(row.fails(Fault::kOverloaded, {}, kNow + seconds(10), options).again);
  Row other;
  EXPECT_FALSE(other.fails(Fault::kOverloaded, seconds(20), kNow, options).again)
      << "they can wait by themselves";
  Row away;
  EXPECT_TRUE(away.fails(Fault::kUnreached, {}, kNow, options).again);
  EXPECT_TRUE(away.fails(Fault::kUnreached, {}, kNow + seconds(60), options).again);
}

TEST(RetryPolicy, WithoutABaseARetryIsAtOnce) {
  Row row;
  EXPECT_EQ(row.fails(Fault::kTransient, {}, kNow, {}).at, kNow);
}

// Between 0 and base * 2^(n-1), bounded, and spread over all of that.
TEST(RetryPolicy, JitterIsFull) {
  Random random(3);
  for (int number = 1; number <= 12; ++number) {
    const Duration whole = std::min<Duration>(seconds(1) * (1 << (number - 1)), seconds(60));
    Duration sum{};
    for (int i = 0; i < 2000; ++i) {
      const Duration wait = full_jitter(seconds(1), seconds(60), number, random);
      ASSERT_GE(wait, Duration{});
      ASSERT_LT(wait, whole);
      sum += wait;
    }
    EXPECT_NEAR(windrow::seconds(sum) / 2000, windrow::seconds(whole) / 2,
                windrow::seconds(whole) * 0.03);
  }
}

TEST(RetryPolicy, AShortageOfFilesIsNoTryOfTheRow) {
  Row row;
  for (int i = 0; i < 100; ++i) {
    const TimePoint now = kNow + seconds(i);
    const RetryDecision decision = row.fails(Fault::kShortOfFiles, {}, now);
    EXPECT_TRUE(decision.again);
    EXPECT_LE(decision.at, now + seconds(4));
  }
  EXPECT_EQ(row.attempts.used, 0);
  EXPECT_EQ(row.attempts.refused, 0);
  EXPECT_FALSE(row.fails(Fault::kShortOfFiles, {}, kNow + minutes(30)).again);
}

TEST(RetryPolicy, WherePeopleWaitAShortageOfFilesIsSaidSoon) {
  RetryOptions options = kOptions;
  options.refusal_patience = seconds(5);
  Row row;
  EXPECT_TRUE(row.fails(Fault::kShortOfFiles, {}, kNow, options).again);
  EXPECT_FALSE(row.fails(Fault::kShortOfFiles, {}, kNow + seconds(5), options).again);
}

TEST(RetryPolicy, AnItemsOwnNumberOfAttemptsCountsRefusalsAndServersThatAreAway) {
  for (const Fault fault : {Fault::kTransient, Fault::kOverloaded, Fault::kUnreached}) {
    RetryOptions options = kOptions;
    options.sends_max = 1;
    Row once;
    EXPECT_FALSE(once.fails(fault, {}, kNow, options).again);
    options.sends_max = 5;
    Row often;
    for (int i = 1; i < 5; ++i)
      EXPECT_TRUE(often.fails(fault, {}, kNow, options).again) << i;
    EXPECT_FALSE(often.fails(fault, {}, kNow, options).again);
  }
}

TEST(RetryPolicy, AShortageOfFilesIsNoneOfAnItemsAttempts) {
  RetryOptions options = kOptions;
  options.sends_max = 1;
  Row row;
  EXPECT_TRUE(row.fails(Fault::kShortOfFiles, {}, kNow, options).again) << "nothing was sent";
  EXPECT_FALSE(row.fails(Fault::kTransient, {}, kNow, options).again);
}

}  // namespace
}  // namespace windrow::dispatch
