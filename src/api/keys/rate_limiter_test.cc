#include "api/keys/rate_limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"

namespace windrow::api {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

TimePoint at(Duration since_start) {
  return TimePoint(since_start);
}

std::string header(const RateLimiter& allowance, TimePoint now, std::string_view name) {
  http::Headers headers;
  allowance.add_headers(now, headers);
  return std::string(headers.get(name).value_or("none"));
}

TEST(RateLimiter, WithoutLimitsEverythingGoes) {
  RateLimiter allowance({}, at({}));
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_FALSE(allowance.enter(at({})));
    EXPECT_FALSE(allowance.take_tokens(at({}), 1'000'000));
  }
  EXPECT_EQ(allowance.in_flight(), 10'000);
  http::Headers headers;
  allowance.add_headers(at({}), headers);
  EXPECT_TRUE(headers.empty());
}

TEST(RateLimiter, RequestsComeBackOneByOne) {
  RateLimiter allowance({.requests_per_minute = 6}, at({}));
  for (int i = 0; i < 6; ++i)
    EXPECT_FALSE(allowance.enter(at({}))) << i;
  const auto refused = allowance.enter(at({}));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->code, "rate_limit_exceeded");
  EXPECT_TRUE(refused->overloaded);
  EXPECT_EQ(refused->retry_after_ms, 10'000);
  EXPECT_THAT(refused->message, HasSubstr("6 requests per minute"));
  EXPECT_THAT(refused->message, HasSubstr("in 10s"));
  EXPECT_TRUE(allowance.enter(at(milliseconds(9'999))));
  EXPECT_FALSE(allowance.enter(at(seconds(10))));
  EXPECT_TRUE(allowance.enter(at(seconds(10))));
}

// Batch work leaves half of the tokens to requests that cannot wait.
TEST(RateLimiter, WhatCanWaitLeavesHalfToWhatCannot) {
  RateLimiter allowance({.tokens_per_minute = 600}, at({}));
  EXPECT_EQ(allowance.take_spare_tokens(at({}), 200), Duration{});
  EXPECT_EQ(allowance.take_spare_tokens(at({}), 100), Duration{});
  EXPECT_EQ(allowance.take_spare_tokens(at({}), 20), seconds(2));
  EXPECT_EQ(allowance.take_spare_tokens(at({}), 20), seconds(2)) << "asking takes nothing";
  EXPECT_FALSE(allowance.take_tokens(at({}), 250));
  EXPECT_EQ(allowance.take_spare_tokens(at({}), 10), seconds(26));
  EXPECT_EQ(allowance.take_spare_tokens(at(seconds(26)), 10), Duration{});
  // One that is larger than half goes when all is there, and is missing afterwards.
  EXPECT_EQ(allowance.take_spare_tokens(at(minutes(2)), 1000), Duration{});
  EXPECT_EQ(allowance.take_spare_tokens(at(minutes(2)), 1), seconds(70) + milliseconds(100));
  allowance.settle_tokens(at(minutes(2)), 1000, 100);
  EXPECT_EQ(allowance.take_spare_tokens(at(minutes(2)), 100), Duration{});
  RateLimiter without({}, at({}));
  EXPECT_EQ(without.take_spare_tokens(at({}), 1'000'000), Duration{});
}

TEST(RateLimiter, HeadersSayWhatIsLeftAndWhenAllIsBack) {
  RateLimiter allowance({.requests_per_minute = 60, .tokens_per_minute = 1000}, at({}));
  ASSERT_FALSE(allowance.enter(at({})));
  ASSERT_FALSE(allowance.take_tokens(at({}), 250));
  EXPECT_EQ(header(allowance, at({}), "x-ratelimit-limit-requests"), "60");
  EXPECT_EQ(header(allowance, at({}), "x-ratelimit-remaining-requests"), "59");
  EXPECT_EQ(header(allowance, at({}), "x-ratelimit-reset-requests"), "1s");
  EXPECT_EQ(header(allowance, at({}), "x-ratelimit-limit-tokens"), "1000");
  EXPECT_EQ(header(allowance, at({}), "x-ratelimit-remaining-tokens"), "750");
  EXPECT_EQ(header(allowance, at({}), "x-ratelimit-reset-tokens"), "15s");
  EXPECT_EQ(header(allowance, at(seconds(14)), "x-ratelimit-reset-tokens"), "1s");
  EXPECT_EQ(header(allowance, at(minutes(1)), "x-ratelimit-reset-tokens"), "0s");
  EXPECT_EQ(header(allowance, at(minutes(1)), "x-ratelimit-remaining-tokens"), "1000");
}

TEST(RateLimiter, TokensAreSettledByWhatWasUsed) {
  RateLimiter allowance({.tokens_per_minute = 1000}, at({}));
  EXPECT_FALSE(allowance.take_tokens(at({}), 900));
  const auto refused = allowance.take_tokens(at({}), 200);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->retry_after_ms, 6'000);
  EXPECT_THAT(refused->message, HasSubstr("1000 tokens per minute for this key, 100 left, about "
                                          "200 needed"));
  allowance.settle_tokens(at({}), 900, 100);
  EXPECT_EQ(header(allowance, at({}), "x-ratelimit-remaining-tokens"), "900");
  EXPECT_FALSE(allowance.take_tokens(at({}), 200));
  allowance.settle_tokens(at({}), 200, 1'200);
  EXPECT_EQ(header(allowance, at({}), "x-ratelimit-remaining-tokens"), "0");
  EXPECT_EQ(header(allowance, at({}), "x-ratelimit-reset-tokens"), "1m18s");
  EXPECT_TRUE(allowance.take_tokens(at(seconds(17)), 1)) << "what was used beyond is missing";
  EXPECT_FALSE(allowance.take_tokens(at(seconds(19)), 1));
}

TEST(RateLimiter, MoreThanAMinutesTokensGoWhenNothingElseDid) {
  RateLimiter allowance({.tokens_per_minute = 1000}, at({}));
  ASSERT_FALSE(allowance.take_tokens(at({}), 1));
  const auto refused = allowance.take_tokens(at({}), 5'000);
  ASSERT_TRUE(refused);
  EXPECT_FALSE(allowance.take_tokens(at(milliseconds(*refused->retry_after_ms)), 5'000));
  EXPECT_TRUE(allowance.take_tokens(at(minutes(4)), 1));
  EXPECT_FALSE(allowance.take_tokens(at(minutes(5)), 1));
}

TEST(RateLimiter, InFlightIsGivenBackByLeaving) {
  RateLimiter allowance({.in_flight_max = 2}, at({}));
  EXPECT_FALSE(allowance.enter(at({})));
  EXPECT_FALSE(allowance.enter(at({})));
  const auto refused = allowance.enter(at(hours(1)));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->retry_after_ms, 1'000);
  EXPECT_EQ(allowance.in_flight(), 2);
  allowance.leave();
  EXPECT_FALSE(allowance.enter(at({})));
}

TEST(RateLimiter, WhatWasForgottenDoesNotCount) {
  RateLimiter allowance({.requests_per_minute = 2}, at({}));
  ASSERT_FALSE(allowance.enter(at({})));
  ASSERT_FALSE(allowance.enter(at({})));
  allowance.forget_request(at({}));
  EXPECT_FALSE(allowance.enter(at({})));
  allowance.forget_request(at(hours(1)));
  EXPECT_EQ(header(allowance, at(hours(1)), "x-ratelimit-remaining-requests"), "2")
      << "never more than there may be";
}

TEST(RateLimiter, NeitherStandingNorBackwardsNorLeapingTimeGivesTooMuch) {
  RateLimiter allowance({.requests_per_minute = 3}, at(hours(1)));
  for (int i = 0; i < 3; ++i)
    ASSERT_FALSE(allowance.enter(at(hours(1))));
  EXPECT_TRUE(allowance.enter(at(hours(1))));
  EXPECT_TRUE(allowance.enter(at({})));
  EXPECT_TRUE(allowance.enter(at(hours(1))));
  EXPECT_FALSE(allowance.enter(at(hours(1) + seconds(20))));
  const TimePoint last = TimePoint::max();
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(allowance.enter(last));
  EXPECT_TRUE(allowance.enter(last));
}

TEST(RateLimiter, OtherLimitsKeepWhatWasUsed) {
  RateLimiter allowance({.requests_per_minute = 10}, at({}));
  for (int i = 0; i < 4; ++i)
    ASSERT_FALSE(allowance.enter(at({})));
  allowance.set_limits({.requests_per_minute = 5}, at({}));
  EXPECT_EQ(header(allowance, at({}), "x-ratelimit-remaining-requests"), "1");
  allowance.set_limits({.requests_per_minute = 20}, at({}));
  EXPECT_EQ(header(allowance, at({}), "x-ratelimit-remaining-requests"), "16");
  allowance.set_limits({}, at({}));
  EXPECT_EQ(header(allowance, at({}), "x-ratelimit-remaining-requests"), "none");
  EXPECT_FALSE(allowance.enter(at({})));
  allowance.set_limits({.requests_per_minute = 7}, at({}));
  EXPECT_EQ(header(allowance, at({}), "x-ratelimit-remaining-requests"), "7");
}

TEST(ResetText, IsAsTheApiWritesIt) {
  EXPECT_EQ(reset_text({}), "0s");
  EXPECT_EQ(reset_text(Duration(1)), "1ms");
  EXPECT_EQ(reset_text(milliseconds(17)), "17ms");
  EXPECT_EQ(reset_text(seconds(1)), "1s");
  EXPECT_EQ(reset_text(milliseconds(8'640)), "8.64s");
  EXPECT_EQ(reset_text(minutes(6)), "6m0s");
  EXPECT_EQ(reset_text(milliseconds(72'012)), "1m12.012s");
  EXPECT_EQ(reset_text(hours(1) + minutes(2) + seconds(3)), "1h2m3s");
  EXPECT_EQ(reset_text(-seconds(3)), "0s");
}

// The bucket in whole numbers: a token is 60e9 parts, and L of those come back each nanosecond.
class ExactBucket {
 public:
  __extension__ using Parts = __int128;
  static constexpr Parts kToken = 60'000'000'000;

  explicit ExactBucket(int64_t limit) : limit_(limit), left_(limit * kToken) {}

  void move_to(int64_t now_ns) {
    if (now_ns <= now_ns_) return;
    left_ = std::min(limit_ * kToken, left_ + Parts(limit_) * (now_ns - now_ns_));
    now_ns_ = now_ns;
  }
  // How many parts are missing; not above 0: it may go.
  Parts missing(int64_t amount) const { return std::min<Parts>(amount, limit_) * kToken - left_; }
  void add(int64_t amount) { left_ = std::min(limit_ * kToken, left_ + amount * kToken); }

 private:
  Parts limit_;
  Parts left_;
  int64_t now_ns_ = 0;
};

bool is_near(ExactBucket::Parts missing) {
  return missing > -ExactBucket::kToken / 1000 && missing < ExactBucket::kToken / 1000;
}

TEST(RateLimiter, DecidesAsWholeNumbersDo) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int64_t requests = random.between(1, 200);
    const int64_t tokens = random.between(1, 100'000);
    RateLimiter allowance({.requests_per_minute = requests, .tokens_per_minute = tokens}, at({}));
    ExactBucket exact_requests(requests);
    ExactBucket exact_tokens(tokens);
    struct Out {
      int64_t expected;
    };
    std::vector<Out> out;
    int64_t now_ns = 0;
    for (int i = 0; i < 400; ++i) {
      if (random.chance(0.1)) {
        now_ns -= random.between(0, 1'000'000'000);
        now_ns = std::max<int64_t>(now_ns, 0);
      } else if (random.chance(0.05)) {
        now_ns += random.between(0, 600'000'000'000);
      } else {
        now_ns += random.between(0, 120'000'000'000 / requests);
      }
      const TimePoint now{Duration(now_ns)};
      exact_requests.move_to(now_ns);
      exact_tokens.move_to(now_ns);
      if (!out.empty() && random.chance(0.4)) {
        const int64_t expected = out.back().expected;
        const int64_t used = random.between(0, expected * 2);
        out.pop_back();
        allowance.settle_tokens(now, expected, used);
        exact_tokens.add(expected - used);
        allowance.leave();
        continue;
      }
      const auto missing_request = exact_requests.missing(1);
      const bool refused = allowance.enter(now).has_value();
      if (!is_near(missing_request)) {
        ASSERT_EQ(refused, missing_request > 0) << i;
      }
      if (refused) continue;
      exact_requests.add(-1);
      const int64_t expected = random.between(0, random.chance(0.1) ? tokens * 3 : tokens / 3);
      const auto missing = exact_tokens.missing(expected);
      const auto failure = allowance.take_tokens(now, expected);
      if (!is_near(missing)) {
        ASSERT_EQ(failure.has_value(), missing > 0) << i;
      }
      if (!failure) {
        exact_tokens.add(-expected);
        out.push_back({expected});
        continue;
      }
      const double exact_ms = static_cast<double>(missing) / static_cast<double>(tokens) / 1e6;
      ASSERT_NEAR(static_cast<double>(*failure->retry_after_ms), exact_ms, 2 + exact_ms * 1e-3);
      allowance.forget_request(now);
      exact_requests.add(1);
      allowance.leave();
    }
    EXPECT_EQ(allowance.in_flight(), static_cast<int64_t>(out.size()));
  }
}

}  // namespace
}  // namespace windrow::api
