#include "dispatch/concurrency_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "base/testing/rounds.h"
#include "dispatch/testing/closed_loop.h"

namespace windrow::dispatch {
namespace {

using testing::ClosedLoop;
using testing::Lengths;
using testing::ModelUpstreamOptions;

constexpr double kWork = 100;

// How many seeds each case is tried with.
uint64_t seeds() {
  return windrow::testing::rounds(1U, 3U);
}

ModelUpstreamOptions slots_of(int32_t slots, double latency_s) {
  return {.slots = slots, .second_per_work = latency_s / kWork, .noise = 0.1};
}

// The most that any fixed number brings, within the same time. Fewer than the slots bring less, so
// only --full tries them.
double best_fixed(const ModelUpstreamOptions& upstream, Lengths lengths, double from_s,
                  double to_s) {
  double best = 0;
  const std::vector<int32_t> numbers =
      windrow::testing::rounds(std::vector{upstream.slots, 2 * upstream.slots},
                               std::vector{1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128});
  for (const int32_t fixed : numbers) {
    ClosedLoop loop(upstream, {.fixed = fixed}, lengths, kWork, 7);
    loop.run_until(from_s);
    best = std::max(best, loop.work_per_s_until(to_s));
  }
  return best;
}

class FindsSlots : public ::testing::TestWithParam<std::tuple<int32_t, double, Lengths>> {};

TEST_P(FindsSlots, WithinHalfAMinute) {
  const auto [slots, latency_s, lengths] = GetParam();
  const ModelUpstreamOptions upstream = slots_of(slots, latency_s);
  const double to_s = 30 + std::max(60.0, 15 * latency_s);
  const double best = best_fixed(upstream, lengths, 30, to_s);
  for (uint64_t seed = 1; seed <= seeds(); ++seed) {
    ClosedLoop loop(upstream, {}, lengths, kWork, seed);
    loop.run_until(30);
    const double found = loop.work_per_s_until(to_s);
    EXPECT_GE(found, 0.95 * best) << "seed " << seed << ", limit " << loop.limit().limit();
  }
}

INSTANTIATE_TEST_SUITE_P(All, FindsSlots,
                         ::testing::Combine(::testing::Values(1, 4, 16, 64),
                                            ::testing::Values(0.05, 0.5, 2, 5, 20),
                                            ::testing::Values(Lengths::kEqual, Lengths::kUniform,
                                                              Lengths::kExponential)));

class FindsKnee : public ::testing::TestWithParam<std::tuple<int32_t, double, double>> {};

TEST_P(FindsKnee, OfAServerThatBatches) {
  const auto [slots, cost, latency_s] = GetParam();
  ModelUpstreamOptions upstream = slots_of(slots, latency_s);
  upstream.batching_cost = cost;
  const double to_s = 30 + std::max(60.0, 60 * latency_s);
  const double best = best_fixed(upstream, Lengths::kExponential, 30, to_s);
  for (uint64_t seed = 1; seed <= seeds(); ++seed) {
    ClosedLoop loop(upstream, {}, Lengths::kExponential, kWork, seed);
    loop.run_until(30);
    const double found = loop.work_per_s_until(to_s);
    EXPECT_GE(found, 0.95 * best) << "seed " << seed << ", limit " << loop.limit().limit();
  }
}

INSTANTIATE_TEST_SUITE_P(All, FindsKnee,
                         ::testing::Combine(::testing::Values(8, 32, 64),
                                            ::testing::Values(0.02, 0.1, 0.3),
                                            ::testing::Values(0.2, 1, 3)));

class SaysWhatItFound : public ::testing::TestWithParam<std::tuple<int32_t, double>> {};

// Neither too few nor many that only wait, and the kind in a word.
TEST_P(SaysWhatItFound, OfSlots) {
  const auto [slots, latency_s] = GetParam();
  for (uint64_t seed = 1; seed <= seeds(); ++seed) {
    ClosedLoop loop(slots_of(slots, latency_s), {}, Lengths::kExponential, kWork, seed);
    EXPECT_EQ(loop.limit().finding().kind, ConcurrencyKind::kMeasuring);
    loop.run_until(60 + 400 * latency_s);
    const ConcurrencyFinding finding = loop.limit().finding();
    const bool serial = slots == 1;
    EXPECT_EQ(finding.kind, serial ? ConcurrencyKind::kSerial : ConcurrencyKind::kSaturates)
        << "seed " << seed << ": " << to_string(finding);
    EXPECT_GE(finding.in_flight, slots) << "seed " << seed;
    EXPECT_LE(finding.in_flight, std::max(3 * slots, 4)) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SaysWhatItFound,
                         ::testing::Combine(::testing::Values(1, 4, 16, 64),
                                            ::testing::Values(0.05, 0.5, 1)));

// Long before it is sure it can be said that one request is worked on while the others wait: of a
// server that is serial, and of no other.
TEST(ConcurrencyLimit, NoticesASerialServerEarly) {
  const auto seems_serial = [](int32_t slots) {
    ClosedLoop loop(slots_of(slots, 1), {}, Lengths::kExponential, kWork, 5);
    bool noticed = false;
    for (int second = 1; second < 60 && !noticed; ++second) {
      loop.run_until(second);
      const ConcurrencyFinding finding = loop.limit().finding();
      noticed = finding.in_flight >= 2 && finding.busy > 0 && finding.busy < 1.5;
    }
    return noticed;
  };
  EXPECT_TRUE(seems_serial(1));
  for (const int32_t slots : {4, 16})
    EXPECT_FALSE(seems_serial(slots)) << slots << " slots";
}

// Prompts take as long as answers, whatever the length of those.
TEST(ConcurrencyLimit, AFixedPartOfEveryAnswerIsNotTakenForWaiting) {
  for (const int32_t slots : {4, 32}) {
    ModelUpstreamOptions upstream = slots_of(slots, 0.5);
    upstream.overhead_s = 1;
    upstream.batching_cost = 0.02;
    const double best = best_fixed(upstream, Lengths::kExponential, 30, 150);
    ClosedLoop loop(upstream, {}, Lengths::kExponential, kWork, 11);
    loop.run_until(30);
    EXPECT_GE(loop.work_per_s_until(150), 0.95 * best) << slots << " slots";
  }
}

TEST(ConcurrencyLimit, AnswersThatTakeTheSameHoweverLong) {
  ModelUpstreamOptions upstream{.slots = 16, .second_per_work = 1e-9, .overhead_s = 0.02};
  ClosedLoop loop(upstream, {}, Lengths::kExponential, kWork, 11);
  loop.run_until(30);
  const int64_t before = loop.answered();
  loop.run_until(60);
  EXPECT_GE(static_cast<double>(loop.answered() - before), 0.95 * 30 * 16 / 0.02);
}

TEST(ConcurrencyLimit, AServerThatAnswersAtOnce) {
  ClosedLoop loop(slots_of(64, 0.001), {}, Lengths::kUniform, kWork, 3);
  loop.run_until(5);
  EXPECT_GE(loop.work_per_s_until(6), 0.95 * 64 * kWork / 0.001);
}

TEST(ConcurrencyLimit, StaysWithinWhatIsAllowed) {
  ClosedLoop loop(slots_of(64, 0.1), {.limit_max = 20}, Lengths::kUniform, kWork, 3);
  int32_t most = 0;
  for (int i = 1; i < 600; ++i) {
    loop.run_until(i * 0.2);
    most = std::max(most, loop.limit().limit());
  }
  EXPECT_EQ(most, 20);
  EXPECT_EQ(loop.limit().finding().kind, ConcurrencyKind::kUnlimited);
}

TEST(ConcurrencyLimit, WhatItWasToldIsLeftAlone) {
  ClosedLoop loop(slots_of(4, 0.1), {.fixed = 13}, Lengths::kUniform, kWork, 3);
  loop.run_until(60);
  EXPECT_EQ(loop.limit().limit(), 13);
  EXPECT_EQ(loop.limit().finding().kind, ConcurrencyKind::kFixed);
  EXPECT_EQ(loop.limit().wake_at(), std::nullopt);
}

// Rows that come too slowly to fill the limit do not move it.
TEST(ConcurrencyLimit, FewRowsSayNothing) {
  ClosedLoop loop(slots_of(64, 0.1), {}, Lengths::kUniform, kWork, 3);
  loop.rows_max = 3;
  loop.run_until(60);
  EXPECT_EQ(loop.limit().limit(), 4);
}

class Overload : public ::testing::TestWithParam<std::tuple<int32_t, int32_t>> {};

// A server with a short queue, or none, says no to more. What a step of the ladder is short of its
// slots is lost.
TEST_P(Overload, IsBackedOffFrom) {
  const auto [slots, queue_max] = GetParam();
  for (uint64_t seed = 1; seed <= seeds(); ++seed) {
    ModelUpstreamOptions upstream = slots_of(slots, 0.5);
    upstream.queue_max = queue_max;
    ClosedLoop loop(upstream, {}, Lengths::kExponential, kWork, seed);
    loop.run_until(60);
    const int64_t refused = loop.refused();
    const int64_t answered = loop.answered();
    const double found = loop.work_per_s_until(360);
    EXPECT_GE(found, 0.72 * slots * kWork / (0.5 * 0.95)) << "seed " << seed;
    EXPECT_LE(loop.refused() - refused, (loop.answered() - answered) / 10) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Overload,
                         ::testing::Combine(::testing::Values(4, 16, 40), ::testing::Values(0, 8)));

class RefusalsByChance : public ::testing::TestWithParam<double> {};

// They do not depend on how many are in flight, so no number is too many.
TEST_P(RefusalsByChance, AreNotTakenForOverload) {
  for (uint64_t seed = 1; seed <= seeds(); ++seed) {
    ModelUpstreamOptions upstream = slots_of(16, 0.5);
    upstream.refused_by_chance = GetParam();
    ClosedLoop loop(upstream, {}, Lengths::kExponential, kWork, seed);
    loop.run_until(30);
    EXPECT_GE(loop.work_per_s_until(330), 0.94 * 16 * kWork / (0.5 * 0.96)) << "seed " << seed;
    EXPECT_EQ(loop.limit().finding().kind, ConcurrencyKind::kSaturates)
        << "seed " << seed << ": " << to_string(loop.limit().finding());
  }
}

INSTANTIATE_TEST_SUITE_P(All, RefusalsByChance, ::testing::Values(0.01, 0.05, 0.1, 0.2));

// All that were sent before a cut are cut for once.
TEST(ConcurrencyLimit, AStormOfRefusalsIsOneCut) {
  ConcurrencyLimit limit({.initial = 64});
  const TimePoint start{};
  for (int32_t i = 1; i <= 64; ++i)
    limit.sent(start, i);
  for (int32_t i = 64; i >= 1; --i)
    limit.ended({.sent = start,
                 .ended = start + std::chrono::milliseconds(100 - i),
                 .in_flight = i,
                 .end = FlightEnd::kOverloaded});
  EXPECT_EQ(limit.limit(), 32);
}

// One in flight after many cuts is no reason to call a server serial: no latency says so.
TEST(ConcurrencyLimit, ANumberThatOverloadsCutToOneIsNotSerial) {
  ConcurrencyLimit limit({.initial = 8});
  TimePoint now{};
  const auto end_one = [&](FlightEnd end) {
    const TimePoint sent = now;
    limit.sent(sent, limit.limit());
    now += std::chrono::milliseconds(100);
    limit.ended(
        {.sent = sent, .ended = now, .in_flight = limit.limit(), .work = kWork, .end = end});
  };
  while (limit.limit() > 1)
    end_one(FlightEnd::kOverloaded);
  for (int i = 0; i < 100; ++i)
    end_one(FlightEnd::kAnswered);
  EXPECT_NE(limit.finding().kind, ConcurrencyKind::kMeasuring);
  EXPECT_NE(limit.finding().kind, ConcurrencyKind::kSerial) << to_string(limit.finding());
}

// A pause in which nothing is sent does not look like a slower server.
TEST(ConcurrencyLimit, PausesAreNotMeasured) {
  ClosedLoop loop(slots_of(8, 0.1), {}, Lengths::kExponential, kWork, 3);
  loop.pause_every_s = 2;
  loop.pause_s = 1;
  loop.run_until(90);
  const ConcurrencyFinding finding = loop.limit().finding();
  EXPECT_EQ(finding.kind, ConcurrencyKind::kSaturates) << to_string(finding);
  EXPECT_GE(finding.in_flight, 8);
  EXPECT_NEAR(finding.work_per_s, 8 * kWork / (0.1 * 0.96), 0.15 * 8 * kWork / 0.1);
}

class Drift : public ::testing::TestWithParam<std::pair<int32_t, int32_t>> {};

// Another client of the server leaves, or a new one comes: its capacity for this one changes.
TEST_P(Drift, IsFollowed) {
  const auto [before, after] = GetParam();
  ClosedLoop loop(slots_of(before, 0.2), {}, Lengths::kExponential, kWork, 9);
  loop.run_until(120);
  loop.upstream().options().slots = after;
  loop.run_until(600);
  const double best = after * kWork / (0.2 * 0.96);
  EXPECT_GE(loop.work_per_s_until(720), 0.93 * best) << loop.limit().limit();
  loop.run_until(1200);
  EXPECT_LE(loop.limit().finding().in_flight, 2 * after);
}

INSTANTIATE_TEST_SUITE_P(All, Drift,
                         ::testing::Values(std::pair{4, 16}, std::pair{16, 4}, std::pair{1, 8},
                                           std::pair{32, 8}));

// Of a server with 64 slots while others leave 20, and then 256.
TEST(ConcurrencyLimit, KeepsToWhatItMayHaveAndGoesOnWhenThatGrows) {
  ClosedLoop loop(slots_of(64, 0.2), {}, Lengths::kExponential, kWork, 4);
  const auto at = [](double s) {
    return TimePoint(std::chrono::seconds(1000)) +
           std::chrono::milliseconds(std::llround(1000 * s));
  };
  loop.run_until(60);
  EXPECT_GE(loop.limit().limit(), 48);
  loop.limit().set_most(at(60), 20);
  EXPECT_EQ(loop.limit().limit(), 20);
  for (double until = 61; until < 300; ++until) {
    loop.run_until(until);
    ASSERT_LE(loop.limit().limit(), 20);
  }
  EXPECT_EQ(loop.limit().finding().in_flight, 20) << to_string(loop.limit().finding());
  loop.limit().set_most(at(300), 256);
  loop.run_until(1500);
  EXPECT_GE(loop.limit().limit(), 48) << to_string(loop.limit().finding());
}

TEST(ConcurrencyLimit, AFixedNumberIsCutAndComesBack) {
  ConcurrencyLimit limit({.fixed = 8192});
  EXPECT_EQ(limit.limit(), 8192);
  limit.set_most(TimePoint{}, 960);
  EXPECT_EQ(limit.limit(), 960);
  limit.set_most(TimePoint{}, 100'000);
  EXPECT_EQ(limit.limit(), 8192);
}

// --- all upstreams together ---------------------------------------------------------------------

TEST(SharedLimit, WhatOneDoesNotWantIsSharedByTheOthers) {
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

// For random demands: the shares never exceed the limit, an upstream that wants more than an equal
// share gets at least an equal share, and nothing is left over while an upstream wants more.
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
