#include "dispatch/router.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace windrow::dispatch {
namespace {

using std::chrono::seconds;

constexpr TimePoint kStart{seconds(1000)};
constexpr UpstreamId kA{0};
constexpr UpstreamId kB{1};
constexpr UpstreamId kC{2};

TEST(Router, TheLeastLoadedOneGetsTheNext) {
  Router router(3, {}, 1);
  const std::vector<UpstreamId> open{kA, kB, kC};
  router.sent(kStart, kA, 0, 100);
  router.sent(kStart, kB, 0, 50);
  EXPECT_EQ(router.choose(0, open, false), kC);
  router.sent(kStart, kC, 0, 60);
  EXPECT_EQ(router.choose(0, open, false), kB);
  router.set_capacity(kA, 10);  // takes ten at a time; 100 tokens are little for it
  EXPECT_EQ(router.choose(0, open, false), kA);
}

TEST(Router, AGroupStaysUntilItsHomeHasAQuarterMoreThanTheMean) {
  Router router(2, {}, 1);
  const std::vector<UpstreamId> open{kA, kB};
  router.sent(kStart, kA, 7, 100);
  router.sent(kStart, kB, 0, 70);
  EXPECT_EQ(router.choose(7, open, false), kA);  // 100 of a mean of 85
  router.sent(kStart, kA, 7, 20);
  EXPECT_EQ(router.choose(7, open, false), kB);  // 120 of a mean of 95
}

TEST(Router, AGroupWaitsForItsHomeUnlessItMayGoAnywhere) {
  Router router(2, {}, 1);
  router.sent(kStart, kA, 7, 100);
  router.sent(kStart, kB, 0, 90);
  const std::vector<UpstreamId> only_b{kB};
  EXPECT_EQ(router.choose(7, only_b, false), std::nullopt);
  EXPECT_EQ(router.choose(7, only_b, true), kB);
  router.sent(kStart, kB, 7, 5);  // now it has two homes
  EXPECT_EQ(router.choose(7, only_b, false), kB);
}

TEST(Router, FailuresInARowEjectAndAnAnswerBringsBack) {
  Router router(2, {}, 1);
  TimePoint now = kStart;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(router.usable(kA, now));
    router.sent(now, kA, 0, 1);
    router.ended(now, kA, 1, Router::End::kFailed);
  }
  EXPECT_EQ(router.health(kA), Health::kEjected);
  EXPECT_FALSE(router.usable(kA, now));
  const TimePoint back = *router.wake_at(now);
  EXPECT_GT(back, now + seconds(4));
  EXPECT_LT(back, now + seconds(6));

  now = back;
  EXPECT_TRUE(router.usable(kA, now));
  router.sent(now, kA, 0, 1);
  EXPECT_EQ(router.health(kA), Health::kProbing);
  EXPECT_FALSE(router.usable(kA, now));  // one to see
  router.ended(now, kA, 1, Router::End::kFailed);
  EXPECT_GT(*router.wake_at(now), now + seconds(8));  // longer

  now = *router.wake_at(now);
  router.sent(now, kA, 0, 1);
  router.ended(now, kA, 1, Router::End::kAnswered);
  EXPECT_EQ(router.health(kA), Health::kGood);
}

TEST(Router, TheLastOneIsNotLeftForFailuresOfRows) {
  Router router(1, {}, 1);
  router.set_capacity(kA, 8);
  for (int i = 0; i < 49; ++i) {
    ASSERT_TRUE(router.usable(kA, kStart)) << i;
    router.sent(kStart, kA, 0, 1);
    router.ended(kStart, kA, 1, Router::End::kReplied);
  }
  EXPECT_EQ(router.health(kA), Health::kGood);
  router.sent(kStart, kA, 0, 1);
  router.ended(kStart, kA, 1, Router::End::kAnswered);
  for (int i = 0; i < 50; ++i) {
    router.sent(kStart, kA, 0, 1);
    router.ended(kStart, kA, 1, Router::End::kReplied);
  }
  EXPECT_EQ(router.health(kA), Health::kEjected) << "fifty in a row are a server's";
}

TEST(Router, WithOthersAFailingOneIsLeftSoon) {
  Router router(2, {}, 1);
  for (int i = 0; i < 5; ++i) {
    router.sent(kStart, kA, 0, 1);
    router.ended(kStart, kA, 1, Router::End::kReplied);
  }
  EXPECT_EQ(router.health(kA), Health::kEjected);
}

TEST(Router, HalfFailingIsEnough) {
  Router router(1, {}, 1);
  int32_t ends = 0;
  for (; ends < 200 && router.health(kA) == Health::kGood; ++ends) {
    router.sent(kStart, kA, 0, 1);
    router.ended(kStart, kA, 1, ends % 2 == 0 ? Router::End::kFailed : Router::End::kAnswered);
  }
  EXPECT_GE(ends, 20);
  EXPECT_LT(ends, 60);
}

TEST(Router, BadRowsAndAFewFailuresEjectNoUpstream) {
  Router router(1, {}, 1);
  Random random(5);
  for (int i = 0; i < 5000; ++i) {
    router.sent(kStart, kA, 0, 1);
    const double draw = random.unit();
    router.ended(kStart, kA, 1,
                 draw < 0.5    ? Router::End::kNeither
                 : draw < 0.52 ? Router::End::kFailed
                               : Router::End::kAnswered);
    ASSERT_EQ(router.health(kA), Health::kGood) << i;
  }
}

TEST(Router, AnEjectedHomeIsLeft) {
  Router router(2, {}, 1);
  const std::vector<UpstreamId> only_b{kB};
  router.sent(kStart, kA, 7, 1);
  router.ended(kStart, kA, 1, Router::End::kAnswered);
  for (int i = 0; i < 5; ++i) {
    router.sent(kStart, kA, 0, 1);
    router.ended(kStart, kA, 1, Router::End::kFailed);
  }
  EXPECT_EQ(router.choose(7, only_b, false), kB);
}

// Many groups on servers of different size: few groups move, and no server is left behind.
TEST(Router, KeepsGroupsTogetherAndLoadsEven) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Router router(3, {}, seed);
    const std::vector<int32_t> capacity{4, 8, 16};
    for (uint32_t i = 0; i < 3; ++i)
      router.set_capacity(UpstreamId(i), capacity[i]);
    std::vector<std::deque<int64_t>> out(3);
    int64_t sent = 0;
    for (int step = 0; step < 20'000; ++step) {
      std::vector<UpstreamId> open;
      for (uint32_t i = 0; i < 3; ++i) {
        if (std::ssize(out[i]) < capacity[i]) open.emplace_back(i);
      }
      if (!open.empty()) {
        const uint64_t group = 1 + random.below(60);
        const auto chosen = router.choose(group, open, true);
        ASSERT_TRUE(chosen);
        const int64_t tokens = random.between(50, 150);
        router.sent(kStart, *chosen, group, tokens);
        out[chosen->value()].push_back(tokens);
        ++sent;
      }
      // Each slot of each ends about as often.
      const auto slot = static_cast<int32_t>(random.below(24));
      const uint32_t at = slot < 4 ? 0U : slot < 12 ? 1U : 2U;
      if (out[at].empty()) continue;
      router.ended(kStart, UpstreamId(at), out[at].front(), Router::End::kAnswered);
      out[at].pop_front();
    }
    EXPECT_GT(sent, 18'000);
    int64_t outstanding = 0;
    for (const auto& calls : out)
      for (const int64_t tokens : calls)
        outstanding += tokens;
    EXPECT_EQ(outstanding,
              router.outstanding(kA) + router.outstanding(kB) + router.outstanding(kC));
  }
}

// No failure, and no sign of life either.
TEST(Router, WhatWasNotSentChangesNothing) {
  Router router(2, {}, 1);
  const auto end = [&](Router::End how) {
    router.sent(kStart, kA, 0, 1);
    router.ended(kStart, kA, 1, how);
  };
  for (int i = 0; i < 1000; ++i)
    end(Router::End::kUnsent);
  EXPECT_EQ(router.health(kA), Health::kGood);
  for (int i = 0; i < 5; ++i)
    end(Router::End::kFailed);
  ASSERT_EQ(router.health(kA), Health::kEjected);
  const TimePoint later = kStart + std::chrono::minutes(1);
  ASSERT_TRUE(router.usable(kA, later));
  router.sent(later, kA, 0, 1);
  EXPECT_EQ(router.health(kA), Health::kProbing);
  router.ended(later, kA, 1, Router::End::kUnsent);
  EXPECT_EQ(router.health(kA), Health::kEjected);
  EXPECT_TRUE(router.usable(kA, later)) << "the next row may look at once";
  router.sent(later, kA, 0, 1);
  router.ended(later, kA, 1, Router::End::kAnswered);
  EXPECT_EQ(router.health(kA), Health::kGood);
}

}  // namespace
}  // namespace windrow::dispatch
