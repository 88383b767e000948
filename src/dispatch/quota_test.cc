#include "dispatch/quota.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace windrow::dispatch {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds(1000)};

// Every window of a minute that begins with a request, counted anew.
void expect_within(const std::vector<std::pair<TimePoint, int64_t>>& sent, int64_t requests_max,
                   int64_t tokens_max) {
  size_t end = 0;
  int64_t tokens = 0;
  for (size_t begin = 0; begin < sent.size(); ++begin) {
    for (; end < sent.size() && sent[end].first < sent[begin].first + minutes(1); ++end)
      tokens += sent[end].second;
    ASSERT_LE(static_cast<int64_t>(end - begin), requests_max);
    ASSERT_LE(tokens, tokens_max);
    tokens -= sent[begin].second;
  }
}

TEST(Quota, WithoutLimitsEverythingGoesAtOnce) {
  Quota quota;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(quota.ready_at(kStart, 1'000'000), kStart);
    quota.take(kStart, 1'000'000);
  }
}

TEST(Quota, IsNeverExceededInAnyMinute) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int64_t requests_max = random.between(1, 300);
    const int64_t tokens_max = random.between(1000, 20'000);
    Quota quota({.requests_per_minute = requests_max, .tokens_per_minute = tokens_max});
    std::vector<std::pair<TimePoint, int64_t>> sent;
    std::vector<Quota::Grant> out;
    TimePoint now = kStart;
    while (now < kStart + minutes(10)) {
      const int64_t tokens = random.between(1, 500);
      const auto ready = quota.ready_at(now, tokens);
      ASSERT_TRUE(ready);
      ASSERT_GE(*ready, now);
      if (*ready > now) {
        now = *ready;
        continue;
      }
      out.push_back(quota.take(now, tokens));
      sent.emplace_back(now, tokens);
      // Now and then no row is sent for a while, or one ends that cost what was expected.
      if (random.chance(0.05)) now += milliseconds(random.between(0, 20'000));
      if (random.chance(0.5)) {
        quota.ended(now, out.back(), Quota::End::kAnswered, out.back().tokens, {}, random);
        out.pop_back();
      }
    }
    expect_within(sent, requests_max, tokens_max);
  }
}

TEST(Quota, LetsNearlyAllOfItBeUsed) {
  Quota quota({.requests_per_minute = 100});
  int64_t sent = 0;
  for (TimePoint now = kStart; now < kStart + minutes(10);) {
    const TimePoint ready = *quota.ready_at(now, 1);
    if (ready > now) {
      now = ready;
      continue;
    }
    quota.take(now, 1);
    ++sent;
  }
  EXPECT_GE(sent, 980);
  EXPECT_LE(sent, 1000);
}

TEST(Quota, SpreadsAMinuteOverTheMinute) {
  Quota quota({.requests_per_minute = 600});
  int64_t at_once = 0;
  for (; quota.ready_at(kStart, 1) == kStart; ++at_once)
    quota.take(kStart, 1);
  EXPECT_GE(at_once, 40);
  EXPECT_LE(at_once, 60);
}

TEST(Quota, ARequestAboveTheTokensOfAMinutePassesAlone) {
  Quota quota({.tokens_per_minute = 100});
  EXPECT_EQ(quota.ready_at(kStart, 1000), kStart);
  quota.take(kStart, 1000);
  EXPECT_GE(*quota.ready_at(kStart, 1), kStart + minutes(1));
}

TEST(Quota, WhatCostLessThanExpectedMakesRoom) {
  Quota quota({.tokens_per_minute = 1000});
  Random random(1);
  const Quota::Grant grant = quota.take(kStart, 1000);
  EXPECT_GT(*quota.ready_at(kStart, 500), kStart + seconds(30));
  quota.ended(kStart + seconds(1), grant, Quota::End::kAnswered, 10, {}, random);
  EXPECT_LE(*quota.ready_at(kStart + seconds(1), 500), kStart + seconds(2));
}

TEST(Quota, ASingleRefusalPausesNoOtherRow) {
  Quota quota;
  Random random(1);
  quota.ended(kStart, quota.take(kStart, 1), Quota::End::kRefused, 0, {}, random);
  EXPECT_EQ(quota.ready_at(kStart, 1), kStart);
  EXPECT_FALSE(quota.take(kStart, 1).probe);
  EXPECT_EQ(quota.cooling_until(kStart), std::nullopt);
}

// `Retry-After` is the server's word about the key. Then all go on: one refusal is no overload.
TEST(Quota, ARefusalThatNamesATimeStopsAllUntilThen) {
  Quota quota;
  Random random(1);
  quota.ended(kStart, quota.take(kStart, 1), Quota::End::kRefused, 0, seconds(20), random);
  EXPECT_EQ(quota.ready_at(kStart, 1), kStart + seconds(20));
  EXPECT_EQ(quota.cooling_until(kStart), kStart + seconds(20));
  const TimePoint later = kStart + seconds(20);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(quota.ready_at(later, 1), later);
    EXPECT_FALSE(quota.take(later, 1).probe);
  }
}

TEST(Quota, AnOverloadStopsAllAndThenOneGoesToSee) {
  Quota quota;
  Random random(1);
  const Quota::Grant first = quota.take(kStart, 1);
  const Quota::Grant second = quota.take(kStart, 1);
  quota.ended(kStart, first, Quota::End::kOverloaded, 0, seconds(20), random);
  EXPECT_EQ(quota.ready_at(kStart, 1), kStart + seconds(20));
  // Was there before; its answer does not say that the pause is over.
  quota.ended(kStart + seconds(1), second, Quota::End::kAnswered, 1, {}, random);
  const TimePoint later = kStart + seconds(20);
  EXPECT_EQ(quota.ready_at(later, 1), later);
  const Quota::Grant probe = quota.take(later, 1);
  EXPECT_EQ(quota.ready_at(later, 1), std::nullopt);
  quota.ended(later + seconds(1), probe, Quota::End::kAnswered, 1, {}, random);
  quota.take(later + seconds(1), 1);
  EXPECT_EQ(quota.ready_at(later + seconds(1), 1), later + seconds(1));
}

// Also one that would be a row's own affair at another time; and a time of 0 is no time.
TEST(Quota, AProbeThatIsRefusedPausesLonger) {
  Quota quota;
  Random random(1);
  TimePoint now = kStart;
  quota.ended(now, quota.take(now, 1), Quota::End::kOverloaded, 0, {}, random);
  Duration total{};
  for (int i = 0; i < 12; ++i) {
    const TimePoint next = *quota.ready_at(now, 1);
    EXPECT_GT(next, now);
    EXPECT_LE(next, now + minutes(2) + seconds(1));
    total += next - now;
    now = next;
    quota.ended(now, quota.take(now, 1), Quota::End::kRefused, 0, Duration{}, random);
  }
  EXPECT_GT(total, minutes(1));
}

TEST(Quota, AProbeThatFailsOtherwiseIsFollowedByAnother) {
  Quota quota;
  Random random(1);
  quota.ended(kStart, quota.take(kStart, 1), Quota::End::kOverloaded, 0, seconds(5), random);
  const TimePoint later = kStart + seconds(5);
  const Quota::Grant probe = quota.take(later, 1);
  quota.ended(later, probe, Quota::End::kOther, 0, {}, random);
  EXPECT_EQ(quota.ready_at(later, 1), later);
  EXPECT_TRUE(quota.take(later, 1).probe);
}

}  // namespace
}  // namespace windrow::dispatch
