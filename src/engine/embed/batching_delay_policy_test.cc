#include "engine/embed/batching_delay_policy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"

namespace windrow::engine {
namespace {

using llm::StepReason;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr TimePoint kNow{milliseconds(100)};

WaitingBatch batch_of(Duration age) {
  return {.oldest = kNow - age, .pass_fixed = milliseconds(4)};
}

DelayDecision go(StepReason reason) {
  return {.until = {}, .reason = reason};
}

// One came so long ago, and those before it so far apart.
ArrivalTimes stream(Duration interval, Duration ago) {
  ArrivalTimes times;
  for (int i = 50; i >= 0; --i)
    times.arrived(kNow - ago - i * interval);
  return times;
}

TEST(BatchingDelayTest, OneThatIsAloneNeverWaits) {
  EXPECT_EQ(decide(kNow, batch_of({}), {}, {}), go(StepReason::kIdle));
  EXPECT_EQ(decide(kNow, batch_of({}), stream(milliseconds(2), {}), {}), go(StepReason::kIdle))
      << "they come too seldom";
}

TEST(BatchingDelayTest, WaitsForThoseOnTheirWayAndNoLongerThanHalfAPass) {
  WaitingBatch batch = batch_of(microseconds(100));
  batch.arriving = 1;
  EXPECT_EQ(decide(kNow, batch, {}, {}).until, kNow + microseconds(400));
  EXPECT_EQ(decide(kNow, batch, {}, {.max_linger = milliseconds(9)}).until,
            kNow + microseconds(1900))
      << "no longer than 2 ms, whatever is asked for";
  batch.pass_fixed = microseconds(300);
  EXPECT_EQ(decide(kNow, batch, {}, {}).until, kNow + microseconds(50));
  batch.has_waited = true;
  batch.oldest = kNow - microseconds(150);
  EXPECT_EQ(decide(kNow, batch, {}, {}), go(StepReason::kLinger));
  batch.oldest = kNow;
  batch.has_waited = false;
  EXPECT_EQ(decide(kNow, batch, {}, {.max_linger = Duration::zero()}), go(StepReason::kIdle));
}

TEST(BatchingDelayTest, WaitsWhereTheyComeDenselyUntilTheyStop) {
  WaitingBatch batch = batch_of({});
  EXPECT_EQ(decide(kNow, batch, stream(microseconds(900), {}), {}).until, kNow + microseconds(500));
  EXPECT_EQ(decide(kNow, batch, stream(microseconds(50), microseconds(100)), {}).until,
            kNow + microseconds(100))
      << "four of their intervals after the last";
  batch.has_waited = true;
  EXPECT_EQ(decide(kNow, batch, stream(microseconds(50), microseconds(200)), {}),
            go(StepReason::kLinger));
}

TEST(BatchingDelayTest, NeitherABusyEngineNorAFullPassWaits) {
  WaitingBatch batch = batch_of({});
  batch.arriving = 5;
  batch.busy = true;
  EXPECT_EQ(decide(kNow, batch, {}, {}), go(StepReason::kBehind));
  batch.busy = false;
  batch.full = true;
  EXPECT_EQ(decide(kNow, batch, {}, {}), go(StepReason::kFull));
  EXPECT_EQ(decide(kNow, batch, {}, {.window = milliseconds(5)}), go(StepReason::kFull));
}

TEST(BatchingDelayTest, AFixedWindowIsWaitedForWhateverRuns) {
  WaitingBatch batch = batch_of(milliseconds(3));
  batch.busy = true;
  EXPECT_EQ(decide(kNow, batch, {}, {.window = milliseconds(10)}).until, kNow + milliseconds(7));
  EXPECT_EQ(decide(kNow, batch, {}, {.window = milliseconds(3)}), go(StepReason::kWindow));
}

TEST(ArrivalTimesTest, FollowsTheStreamAndSeesThatItStopped) {
  constexpr Duration kSoon = milliseconds(5);
  ArrivalTimes times;
  TimePoint now = kNow;
  EXPECT_EQ(times.expected_until(kSoon), std::nullopt);
  times.arrived(now);
  EXPECT_EQ(times.expected_until(kSoon), std::nullopt);
  now += std::chrono::hours(1);
  times.arrived(now);
  EXPECT_EQ(times.expected_until(kSoon), std::nullopt);
  for (int i = 0; i < 40; ++i)
    times.arrived(now += milliseconds(1));
  ASSERT_TRUE(times.expected_until(kSoon)) << "an hour is not remembered";
  EXPECT_NEAR(seconds(*times.expected_until(kSoon) - now), 0.004, 1e-4);
  EXPECT_EQ(times.expected_until(milliseconds(2)), now + milliseconds(2));
  EXPECT_EQ(times.expected_until(microseconds(900)), std::nullopt) << "not so soon";
}

// A server whose pass of b requests takes 4 + 0.3 b milliseconds, at most 32 at a time.
constexpr Duration kFixed = milliseconds(4);
constexpr Duration kEach = microseconds(300);
constexpr size_t kMost = 32;

// When requests come, and how long before a server knows of one that is on its way.
struct Arrivals {
  std::vector<TimePoint> at;
  Duration known_before{};
};

struct Latency {
  double mean_ms = 0;
  double mean_batch = 0;
};

Latency simulate(const Arrivals& arrivals, const BatchingDelay& batching_delay) {
  const std::vector<TimePoint>& at = arrivals.at;
  ArrivalTimes times;
  size_t first = 0;  // that waits
  size_t seen = 0;
  TimePoint now = at.front();
  bool busy = false;
  bool has_waited = false;
  double sum_ms = 0;
  int passes = 0;
  while (first < at.size()) {
    while (seen < at.size() && at[seen] <= now)
      times.arrived(at[seen++]);
    if (first == seen) {
      now = at[seen];
      busy = has_waited = false;
      continue;
    }
    const auto known = std::upper_bound(at.begin(), at.end(), now + arrivals.known_before);
    const DelayDecision decision =
        decide(now,
               {.oldest = at[first],
                .full = seen - first >= kMost,
                .busy = busy,
                .has_waited = has_waited,
                .arriving = (known - at.begin()) - static_cast<int64_t>(seen),
                .pass_fixed = kFixed},
               times, batching_delay);
    if (decision.until) {
      now = seen < at.size() ? std::min(at[seen], *decision.until) : *decision.until;
      busy = false;
      has_waited = true;
      continue;
    }
    const size_t batch = std::min(seen - first, kMost);
    now += kFixed + static_cast<int64_t>(batch) * kEach;
    for (size_t i = first; i < first + batch; ++i)
      sum_ms += 1000 * seconds(now - at[i]);
    first += batch;
    ++passes;
    busy = true;
    has_waited = false;
  }
  const auto count = static_cast<double>(at.size());
  return {.mean_ms = sum_ms / count, .mean_batch = count / passes};
}

double exponential(Random& random) {
  return -std::log(1 - random.unit());
}

// Of the most that passes of 32 can serve.
Arrivals poisson(double load, uint64_t seed) {
  Random random(seed);
  const double most_per_s = kMost / seconds(kFixed + kMost * kEach);
  Arrivals arrivals{.at = {}, .known_before = microseconds(200)};
  double at_s = 0;
  for (int i = 0; i < 60'000; ++i) {
    at_s += exponential(random) / (load * most_per_s);
    arrivals.at.emplace_back(
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(at_s)));
  }
  return arrivals;
}

Arrivals bursts(Duration spread, uint64_t seed) {
  Random random(seed);
  Arrivals arrivals{.at = {}, .known_before = microseconds(300)};
  for (int burst = 0; burst < 400; ++burst) {
    const TimePoint start = TimePoint() + burst * milliseconds(300);
    std::vector<TimePoint> at(20);
    for (TimePoint& one : at)
      one = start +
            Duration(static_cast<int64_t>(random.unit() * static_cast<double>(spread.count())));
    std::sort(at.begin(), at.end());
    arrivals.at.insert(arrivals.at.end(), at.begin(), at.end());
  }
  return arrivals;
}

// The mean latency, at most, where all that waits goes as soon as nothing runs (Inoue,
// arXiv:1912.06322).
double inoue_bound_ms(double load) {
  const double fixed = 1000 * seconds(kFixed);
  const double each = 1000 * seconds(kEach);
  const double per_ms = load * kMost / (fixed + kMost * each);
  const double x = per_ms * each;
  return 1.5 * fixed / (1 - x) + each / 2 * (x + 2) / (1 - x * x);
}

constexpr BatchingDelay kTakeAll{.max_linger = Duration::zero()};

TEST(LingerSimulationTest, WithoutWaitingTheLatencyIsWhatTheoryBounds) {
  for (const double load : {0.1, 0.3, 0.5, 0.7, 0.9}) {
    const double bound = inoue_bound_ms(load);
    const double mean = simulate(poisson(load, 1), kTakeAll).mean_ms;
    EXPECT_LE(mean, bound * 1.02) << load;
    if (load >= 0.5) {
      EXPECT_GE(mean, bound * 0.93) << load << ": the bound is tight there";
    }
  }
}

TEST(LingerSimulationTest, AFixedWindowCostsWhatItIsKnownToCost) {
  const Arrivals seldom = poisson(0.05, 2);
  EXPECT_NEAR(simulate(seldom, kTakeAll).mean_ms, 5.4, 0.2);
  EXPECT_NEAR(simulate(seldom, {.window = milliseconds(10)}).mean_ms, 12.1, 2.5);
  const Arrivals half = poisson(0.5, 2);
  EXPECT_NEAR(simulate(half, kTakeAll).mean_ms, 9.7, 0.3);
  EXPECT_NEAR(simulate(half, kTakeAll).mean_batch, 7.2, 0.5);
}

// Whatever comes, batching_delay is within a few per cent of the best of the others; none of those
// is.
TEST(LingerSimulationTest, LingeringIsNearTheBestEverywhere) {
  const std::vector<std::pair<std::string, BatchingDelay>> ways = {
      {"take all", kTakeAll},
      {"window 2", {.window = milliseconds(2)}},
      {"window 10", {.window = milliseconds(10)}},
      {"window 20", {.window = milliseconds(20)}},
      {"linger 0.5", {}},
      {"linger 2", {.max_linger = milliseconds(2)}},
  };
  const std::vector<std::pair<std::string, Arrivals>> loads = {
      {"5 %", poisson(0.05, 3)},
      {"50 %", poisson(0.5, 3)},
      {"95 %", poisson(0.95, 3)},
      {"20 in 0.5 ms", bursts(microseconds(500), 3)},
      {"20 in 2 ms", bursts(milliseconds(2), 3)},
      {"20 in 15 ms", bursts(milliseconds(15), 3)},
  };
  std::vector<double> worst(ways.size(), 0);
  std::string table;
  for (const auto& [load, arrivals] : loads) {
    std::vector<double> means;
    table += fmt::format("{:<14}", load);
    for (const auto& [way, batching_delay] : ways) {
      const Latency latency = simulate(arrivals, batching_delay);
      means.push_back(latency.mean_ms);
      table += fmt::format("  {}: {:.1f} / {:.1f}", way, latency.mean_ms, latency.mean_batch);
    }
    table += '\n';
    const double best = *std::min_element(means.begin(), means.begin() + 4);
    for (size_t i = 0; i < ways.size(); ++i)
      worst[i] = std::max(worst[i], means[i] / best);
  }
  SCOPED_TRACE(table);
  for (size_t i = 0; i < ways.size(); ++i) {
    if (i < 4) {
      EXPECT_GE(worst[i], 1.1) << ways[i].first;
    } else {
      EXPECT_LE(worst[i], 1.03) << ways[i].first;
    }
  }
}

// 4 ms and 20 us a token.
Duration pass_of(int32_t tokens) {
  return milliseconds(4) + tokens * microseconds(20);
}

TEST(PassTimeTest, FindsWhatIsFixedAndWhatATokenCosts) {
  PassTime time;
  for (const int32_t tokens : {64, 128, 256})
    time.took(tokens, pass_of(tokens));
  EXPECT_NEAR(seconds(time.fixed()), 0.004, 1e-6);
  EXPECT_NEAR(time.tokens_within(milliseconds(14), 4096, 64), 500, 1);
  EXPECT_EQ(time.tokens_within(milliseconds(14), 300, 64), 300) << "no more than there may be";
  EXPECT_EQ(time.tokens_within(milliseconds(1), 300, 64), 1) << "at least one";
}

TEST(PassTimeTest, KnowsNothingAtFirstAndOfOneSizeOnlyTheRate) {
  PassTime time;
  EXPECT_EQ(time.fixed(), Duration::zero());
  EXPECT_EQ(time.tokens_within(milliseconds(1), 300, 64), 64);
  EXPECT_EQ(time.tokens_within(milliseconds(1), 10, 64), 10);
  time.took(100, milliseconds(10));
  time.took(101, milliseconds(10));
  EXPECT_EQ(time.fixed(), Duration::zero());
  EXPECT_NEAR(time.tokens_within(milliseconds(20), 300, 64), 200, 2);
}

TEST(PassTimeTest, ForgetsWhatTheMachineWasLike) {
  PassTime time;
  Random random(1);
  const auto run = [&](int passes, int slower) {
    for (int i = 0; i < passes; ++i) {
      const auto tokens = static_cast<int32_t>(random.between(10, 400));
      time.took(tokens, slower * pass_of(tokens));
    }
  };
  run(100, 3);
  EXPECT_NEAR(seconds(time.fixed()), 0.012, 1e-4);
  run(300, 1);
  EXPECT_NEAR(seconds(time.fixed()), 0.004, 4e-4);
}

TEST(PassTimeTest, NoiseMakesNoNegativeCosts) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    PassTime time;
    for (int i = 0; i < 30; ++i) {
      time.took(static_cast<int32_t>(random.between(1, 500)),
                microseconds(random.between(0, 20'000)));
      EXPECT_GE(time.fixed(), Duration::zero());
      const int32_t tokens = time.tokens_within(milliseconds(5), 1000, 64);
      EXPECT_TRUE(tokens >= 1 && tokens <= 1000) << tokens;
    }
  }
}

}  // namespace
}  // namespace windrow::engine
