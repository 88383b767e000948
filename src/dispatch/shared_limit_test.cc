#include "dispatch/shared_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/random.h"

namespace windrow::dispatch {
namespace {

TEST(SharedLimit, WhoWantsLittleGetsItAndTheOthersShareTheRest) {
  const SharedLimit limit(100);
  const std::vector<int32_t> wanted{10, 1000, 1000};
  EXPECT_EQ(limit.most_for(0, wanted), 33);  // what it could have, if it wanted more
  EXPECT_EQ(limit.most_for(1, wanted), 45);
  EXPECT_EQ(limit.most_for(2, wanted), 45);
  EXPECT_EQ(limit.most_for(0, std::vector<int32_t>{500}), 100);
  EXPECT_EQ(limit.most_for(1, std::vector<int32_t>{10, 20}), 90);
}

TEST(SharedLimit, EveryUpstreamGetsOne) {
  const SharedLimit limit(2);
  const std::vector<int32_t> wanted(6, 50);
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_EQ(limit.most_for(i, wanted), 1);
  EXPECT_TRUE(limit.has_room(1));
  EXPECT_FALSE(limit.has_room(2));
}

// Whatever is wanted: shares are never more than there is, nobody who could have more is left with
// less than an equal part, and nothing is left over that somebody wants.
TEST(SharedLimit, SharesAreFairAndNeverTooMuch) {
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    const auto all = static_cast<int32_t>(random.between(8, 500));
    const SharedLimit limit(all);
    std::vector<int32_t> wanted(static_cast<size_t>(random.between(1, 8)));
    for (int32_t& want : wanted)
      want = static_cast<int32_t>(random.between(1, 400));
    std::vector<int32_t> shares;
    for (size_t i = 0; i < wanted.size(); ++i)
      shares.push_back(std::min(wanted[i], limit.most_for(i, wanted)));
    const int64_t given = std::accumulate(shares.begin(), shares.end(), int64_t{0});
    ASSERT_LE(given, all);
    const int32_t equal = all / static_cast<int32_t>(wanted.size());
    bool is_short = false;
    for (size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_GE(shares[i], std::min(wanted[i], equal));
      is_short = is_short || shares[i] < wanted[i];
    }
    if (is_short) {
      ASSERT_GT(given, all - std::ssize(wanted));
    }
  }
}

TEST(SharedLimit, ACallThatFallsShortLowersItAndAnswersRaiseItAgain) {
  SharedLimit limit(100);
  limit.fell_short(40);
  EXPECT_EQ(limit.calls_max(), 40);
  limit.fell_short(60);  // one of the same burst, told late
  EXPECT_EQ(limit.calls_max(), 40);
  for (int i = 0; i < 41; ++i)
    limit.answered();
  EXPECT_EQ(limit.calls_max(), 41) << "one more with each round";
  for (int i = 0; i < 100'000; ++i)
    limit.answered();
  EXPECT_EQ(limit.calls_max(), 100);
  limit.fell_short(0);
  EXPECT_EQ(limit.calls_max(), 1);
}

TEST(SharedLimit, WithoutANumberItBeginsWithTheFirstShortage) {
  SharedLimit limit(0);
  EXPECT_FALSE(limit.is_limited());
  EXPECT_TRUE(limit.has_room(1'000'000));
  limit.answered();
  EXPECT_FALSE(limit.is_limited());
  limit.fell_short(20);
  EXPECT_TRUE(limit.is_limited());
  EXPECT_FALSE(limit.has_room(20));
}

}  // namespace
}  // namespace windrow::dispatch
