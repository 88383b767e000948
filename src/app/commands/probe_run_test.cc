// A ProbeRun against a simulated upstream, on a fake clock.
#include "app/commands/probe_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <vector>

#include "base/random.h"
#include "dispatch/testing/model_upstream.h"

namespace windrow::app {
namespace {

using dispatch::testing::ModelReply;
using dispatch::testing::ModelUpstream;
using dispatch::testing::ModelUpstreamOptions;

constexpr TimePoint kProbeStart{std::chrono::hours(1)};

struct Lengths {
  double mean = 30;
  double spread = 0;
};

// What the command does: keeps as many in flight as the run wants, until it is over.
class Probe {
 public:
  Probe(const ModelUpstreamOptions& upstream, Lengths lengths, uint64_t seed,
        ProbeRunOptions options = {})
      : upstream_(upstream, seed),
        random_(seed + 1),
        lengths_(lengths),
        run_(std::move(options), kProbeStart) {
    while (!run_.is_over())
      step();
  }

  ProbeFinding finding() const { return run_.finding(); }
  std::vector<ProbeMeasure> measures() const { return run_.measures(); }
  std::vector<int32_t> numbers() const {
    std::vector<int32_t> numbers;
    for (const ProbeMeasure& one : run_.measures())
      numbers.push_back(one.in_flight);
    return numbers;
  }
  double seconds_taken() const { return now_s_; }

 private:
  struct Sent {
    int64_t request = 0;
    double work = 0;
  };

  TimePoint now() const {
    return kProbeStart + Duration(static_cast<int64_t>(std::llround(now_s_ * 1e9)));
  }

  void step() {
    fill();
    const std::optional<double> reply_s = upstream_.next_reply_s();
    ASSERT_TRUE(reply_s.has_value());
    const double wake_s = std::max(seconds(run_.wake_at() - now()), 0.0);
    const double until_s = std::min(*reply_s, wake_s);
    const std::vector<ModelReply> replies = upstream_.advance(until_s);
    // A refusal is answered in no time.
    now_s_ += until_s + (until_s == 0 ? 1e-6 : 0);
    for (const ModelReply& reply : replies) {
      const auto sent = sent_.extract(reply.id);
      run_.ended(now(), sent.mapped().request,
                 reply.refused ? ProbeEnd::kOverloaded : ProbeEnd::kAnswered,
                 reply.refused ? 0 : std::llround(sent.mapped().work));
      fill();
    }
    run_.wake(now());
  }

  void fill() {
    while (std::ssize(sent_) < run_.limit())
      send();
  }

  void send() {
    const double work =
        std::round(lengths_.mean * (1 + lengths_.spread * (2 * random_.unit() - 1)));
    sent_[++last_id_] = {.request = run_.sent(now()), .work = work};
    upstream_.send(last_id_, work);
  }

  ModelUpstream upstream_;
  Random random_;
  const Lengths lengths_;
  ProbeRun run_;
  double now_s_ = 0;
  uint64_t last_id_ = 0;
  std::map<uint64_t, Sent> sent_;
};

TEST(ProbeRun, FindsHowManySlotsThereAre) {
  for (const int32_t slots : {1, 2, 4, 8, 16, 64}) {
    const Probe probe({.slots = slots}, {}, 1);
    EXPECT_EQ(probe.finding().in_flight, slots);
    EXPECT_EQ(probe.finding().kind,
              slots == 1 ? ProbeFindingKind::kSerial : ProbeFindingKind::kSaturates)
        << slots;
    EXPECT_NEAR(probe.finding().gain, slots, 0.02 * slots);
    EXPECT_EQ(probe.numbers().front(), 1) << "what the gain is measured by";
    EXPECT_LT(probe.seconds_taken(), 60) << slots;
  }
}

TEST(ProbeRun, FindsThemWhateverLengthsAnswersHave) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    for (const int32_t slots : {1, 4, 16}) {
      const Probe probe({.slots = slots}, {.mean = 30, .spread = 0.5}, seed);
      // A neighbour on the ladder is near enough.
      EXPECT_GE(probe.finding().in_flight, slots) << "seed " << seed;
      EXPECT_LE(probe.finding().in_flight, 2 * slots) << "seed " << seed;
      EXPECT_EQ(probe.finding().kind == ProbeFindingKind::kSerial, slots == 1) << "seed " << seed;
    }
  }
}

TEST(ProbeRun, MeasuresWhatTheServerDoes) {
  const Probe probe({.slots = 4}, {.mean = 30}, 1, {.in_flight = {1, 8}});
  const ProbeMeasure at_1 = probe.measures().at(0);
  EXPECT_NEAR(at_1.requests_per_s, 1 / 0.3, 0.01);
  EXPECT_NEAR(at_1.tokens_per_s, 100, 0.5);
  EXPECT_NEAR(seconds(at_1.latency_p50), 0.3, 0.001);
  const ProbeMeasure at_8 = probe.measures().at(1);
  EXPECT_EQ(at_8.in_flight, 8);
  EXPECT_NEAR(at_8.requests_per_s, 4 / 0.3, 0.3);
  EXPECT_NEAR(seconds(at_8.latency_p95), 0.6, 0.01);
}

TEST(ProbeRun, StaysBelowWhatIsRefused) {
  const Probe probe({.slots = 4, .queue_max = 0}, {}, 1);
  const ProbeFinding finding = probe.finding();
  EXPECT_EQ(finding.kind, ProbeFindingKind::kRefuses);
  EXPECT_EQ(finding.in_flight, 4);
  EXPECT_GT(finding.refused_at, 4);
  EXPECT_FALSE(finding.interrupted);
}

TEST(ProbeRun, RefusedEvenAloneIsTheEnd) {
  const Probe probe({.slots = 4, .refused_by_chance = 1}, {}, 1);
  EXPECT_EQ(probe.finding().kind, ProbeFindingKind::kRefuses);
  EXPECT_EQ(probe.finding().in_flight, 0);
  EXPECT_EQ(probe.finding().refused_at, 1);
}

TEST(ProbeRun, IsNotFooledByAServerThatStumbles) {
  for (const double share : {0.02, 0.05, 0.1}) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      for (const int32_t slots : {1, 8}) {
        const Probe probe({.slots = slots, .refused_by_chance = share}, {.mean = 3}, seed);
        const ProbeFinding finding = probe.finding();
        EXPECT_EQ(finding.kind,
                  slots == 1 ? ProbeFindingKind::kSerial : ProbeFindingKind::kSaturates)
            << to_string(finding.kind) << ", share " << share << ", seed " << seed;
        EXPECT_GE(finding.in_flight, slots) << "share " << share << ", seed " << seed;
        EXPECT_LE(finding.in_flight, 2 * slots) << "share " << share << ", seed " << seed;
      }
    }
  }
}

TEST(ProbeRun, MeasuresExactlyTheNumbersItIsGiven) {
  const Probe probe({.slots = 4}, {}, 1, {.in_flight = {8, 2, 6}});
  EXPECT_EQ(probe.numbers(), (std::vector<int32_t>{8, 2, 6}));
  EXPECT_EQ(probe.finding().in_flight, 6);
  EXPECT_EQ(probe.finding().gain, 0);
  const Probe one({.slots = 4}, {}, 1, {.in_flight = {2}});
  EXPECT_EQ(one.finding().kind, ProbeFindingKind::kOne);
}

TEST(ProbeRun, AGivenNumberThatIsRefusedIsTheLast) {
  const Probe probe({.slots = 4, .queue_max = 2}, {}, 1, {.in_flight = {1, 4, 8, 16}});
  EXPECT_EQ(probe.numbers(), (std::vector<int32_t>{1, 4, 8}));
  EXPECT_EQ(probe.finding().kind, ProbeFindingKind::kRefuses);
  EXPECT_EQ(probe.finding().in_flight, 4);
  EXPECT_EQ(probe.finding().refused_at, 8);
}

TEST(ProbeRun, NeverGoesBeyondItsBound) {
  const Probe probe({.slots = 1000}, {}, 1, {.in_flight_max = 32});
  EXPECT_EQ(probe.numbers().back(), 32);
  EXPECT_EQ(probe.finding().kind, ProbeFindingKind::kGrows);
  EXPECT_EQ(probe.finding().in_flight, 32);
}

TEST(ProbeRun, TakesTheFewestThatBringAboutAsMuchWhereSlotsShareAMachine) {
  // Each further row makes all slower by a fiftieth: at 64 they are far from 64 times as fast.
  const Probe probe({.slots = 64, .batching_cost = 0.5}, {}, 1,
                    {.in_flight = {1, 2, 4, 8, 16, 32, 64}});
  const ProbeFinding finding = probe.finding();
  double best = 0;
  double chosen = 0;
  for (const ProbeMeasure& one : probe.measures()) {
    best = std::max(best, one.work_per_s());
    if (one.in_flight == finding.in_flight) chosen = one.work_per_s();
  }
  EXPECT_GE(chosen, 0.95 * best);
  EXPECT_LT(finding.in_flight, 64);
}

// --- one number, by hand ------------------------------------------------------------------------

TimePoint at(double s) {
  return kProbeStart + Duration(static_cast<int64_t>(s * 1e9));
}

TEST(ProbeRun, SaysWhatIsKnownWhenItIsInterrupted) {
  ProbeRun run({.in_flight = {1, 2}, .requests_each = 3, .time_each = {}}, kProbeStart);
  for (int i = 0; i < 3; ++i)
    run.ended(at(i + 1), run.sent(at(i)), ProbeEnd::kAnswered, 5);
  EXPECT_EQ(run.limit(), 2);
  ASSERT_EQ(run.take_left().size(), 1U);
  const int64_t request = run.sent(at(3));
  run.sent(at(3));
  run.ended(at(4), request, ProbeEnd::kAnswered, 5);
  run.stop(at(4));
  EXPECT_TRUE(run.is_over());
  EXPECT_TRUE(run.take_left().empty()) << "one answer of two in flight says too little";
  EXPECT_EQ(run.finding().kind, ProbeFindingKind::kOne);
  EXPECT_EQ(run.finding().in_flight, 1);
}

TEST(ProbeRun, NothingAnsweredIsTheEnd) {
  ProbeRun run({}, kProbeStart);
  for (int i = 0; i < 100 && !run.is_over(); ++i)
    run.ended(at(i + 1), run.sent(at(i)), ProbeEnd::kFailed);
  EXPECT_TRUE(run.is_over());
  EXPECT_EQ(run.finding().kind, ProbeFindingKind::kNothing);
  EXPECT_EQ(run.finding().in_flight, 0);
  EXPECT_GE(run.measures().at(0).failed, 4);
}

TEST(ProbeRun, ASlowServerGetsNoMoreThanItsTime) {
  ProbeRun run({.in_flight = {4}, .time_max = std::chrono::seconds(60)}, kProbeStart);
  std::vector<int64_t> requests;
  for (int i = 0; i < 4; ++i)
    requests.push_back(run.sent(kProbeStart));
  run.ended(at(25), requests[0], ProbeEnd::kAnswered, 10);
  run.ended(at(50), requests[1], ProbeEnd::kAnswered, 10);
  run.wake(at(59));
  EXPECT_FALSE(run.is_over());
  EXPECT_EQ(run.wake_at(), at(60));
  run.wake(at(60));
  EXPECT_TRUE(run.is_over());
  EXPECT_EQ(run.measures().at(0).answered, 2);
  EXPECT_DOUBLE_EQ(run.measures().at(0).requests_per_s, 2.0 / 60);
}

TEST(ProbeRun, RefusalsOrFailuresInARowEndANumber) {
  for (const ProbeEnd end : {ProbeEnd::kOverloaded, ProbeEnd::kFailed}) {
    ProbeRun run({.in_flight = {8, 16}}, kProbeStart);
    for (int i = 0; i < 8; ++i) {
      EXPECT_FALSE(run.is_over());
      run.ended(kProbeStart, run.sent(kProbeStart), end);
    }
    EXPECT_TRUE(run.is_over());
    const ProbeMeasure measure = run.measures().at(0);
    EXPECT_EQ(end == ProbeEnd::kOverloaded ? measure.overloaded : measure.failed, 8);
    EXPECT_EQ(measure.refuses, end == ProbeEnd::kOverloaded);
  }
}

// A server that stumbles is measured like any other.
TEST(ProbeRun, OneInFiveRefusedOrFailedIsNoEnd) {
  for (const ProbeEnd end : {ProbeEnd::kOverloaded, ProbeEnd::kFailed}) {
    ProbeRun run({.in_flight = {1}, .requests_each = 60, .time_each = {}}, kProbeStart);
    for (int i = 0; i < 60; ++i) {
      ASSERT_FALSE(run.is_over()) << "after " << i;
      run.ended(at(i + 1), run.sent(at(i)), i % 5 == 2 ? end : ProbeEnd::kAnswered, 1);
    }
    EXPECT_TRUE(run.is_over());
    EXPECT_FALSE(run.measures().at(0).refuses);
    EXPECT_EQ(run.measures().at(0).answered, 48);
  }
}

TEST(ProbeRun, WithoutTokensRequestsAreTheMeasure) {
  ProbeRun run({.in_flight = {1}, .requests_each = 4, .time_each = {}}, kProbeStart);
  for (int i = 1; i <= 4; ++i)
    run.ended(at(i), run.sent(at(i - 1)), ProbeEnd::kAnswered);
  EXPECT_FALSE(run.measures().at(0).all_told_tokens);
  EXPECT_DOUBLE_EQ(run.measures().at(0).work_per_s(), 1);
}

}  // namespace
}  // namespace windrow::app
