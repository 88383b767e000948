#include "upstream/retry_after.h"

#include <gtest/gtest.h>

namespace windrow::upstream {
namespace {

constexpr int64_t kNow = 1'795'297'254;  // Sat, 21 Nov 2026 21:40:54 GMT

std::optional<int64_t> after(std::initializer_list<http::Headers::Field> fields) {
  return retry_after_ms(http::Headers(fields), kNow);
}

TEST(RetryAfter, SecondsAndDates) {
  EXPECT_EQ(after({{"Retry-After", "7"}}), 7000);
  EXPECT_EQ(after({{"retry-after", "0"}}), 0);
  EXPECT_EQ(after({{"retry-after", "1.5"}}), 1500);
  EXPECT_EQ(after({{"retry-after", "Sat, 21 Nov 2026 21:41:04 GMT"}}), 10'000);
  EXPECT_EQ(after({{"retry-after", "Sat, 21 Nov 2026 21:40:04 GMT"}}), 0);
  EXPECT_EQ(after({{"retry-after-ms", "250"}, {"retry-after", "7"}}), 250);
}

TEST(RetryAfter, LimitsThatAreUsedUp) {
  EXPECT_EQ(
      after({{"x-ratelimit-remaining-requests", "0"}, {"x-ratelimit-reset-requests", "6m0s"}}),
      360'000);
  EXPECT_EQ(
      after({{"x-ratelimit-remaining-requests", "5"}, {"x-ratelimit-reset-requests", "6m0s"}}),
      std::nullopt);
  EXPECT_EQ(after({{"x-ratelimit-remaining-requests", "0"},
                   {"x-ratelimit-reset-requests", "20ms"},
                   {"x-ratelimit-remaining-tokens", "0"},
                   {"x-ratelimit-reset-tokens", "1h2m3.5s"}}),
            3'600'000);
  EXPECT_EQ(
      after({{"x-ratelimit-remaining-tokens", "0"}, {"x-ratelimit-reset-tokens", "1795297264"}}),
      10'000);
}

TEST(RetryAfter, NonsenseIsNothing) {
  EXPECT_EQ(after({}), std::nullopt);
  for (const char* text : {"", "soon", "-5", "1x", "nan", "inf", "1e3", "5s5", "Sat, 99 Nov"}) {
    EXPECT_EQ(after({{"retry-after", text}}), std::nullopt) << text;
  }
  EXPECT_EQ(after({{"retry-after", "999999"}}), 3'600'000);
}

}  // namespace
}  // namespace windrow::upstream
