// The ladder and its steps together, against a server that is none, on a fake clock.
#include "dispatch/probe_ladder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <map>
#include <memory>

#include "base/random.h"
#include "dispatch/testing/model_upstream.h"

namespace windrow::dispatch {
namespace {

using testing::ModelReply;
using testing::ModelUpstream;
using testing::ModelUpstreamOptions;

constexpr TimePoint kStart{std::chrono::hours(1)};

struct Lengths {
  double mean = 30;
  double spread = 0;
};

// What a probe does: keeps as many in flight as the step wants.
class Probe {
 public:
  Probe(const ModelUpstreamOptions& upstream, Lengths lengths, uint64_t seed,
        ProbeLadderOptions ladder = {})
      : upstream_(upstream, seed),
        random_(seed + 1),
        lengths_(lengths),
        ladder_(std::move(ladder)) {
    while (const auto in_flight = ladder_.next())
      step(*in_flight);
  }

  const ProbeLadder& ladder() const { return ladder_; }
  ProbeFinding finding() const { return ladder_.finding(); }
  std::vector<int32_t> numbers() const {
    std::vector<int32_t> numbers;
    for (const ProbeMeasure& one : ladder_.measures())
      numbers.push_back(one.in_flight);
    return numbers;
  }

 private:
  struct Sent {
    int32_t step = 0;
    int64_t number = 0;
    TimePoint at;
    double work = 0;
  };

  TimePoint now() const {
    return kStart + Duration(static_cast<int64_t>(std::llround(now_s_ * 1e9)));
  }

  void step(int32_t in_flight) {
    ++steps_;
    ProbeStep step({.in_flight = in_flight, .already = static_cast<int32_t>(sent_.size())}, now());
    while (!step.over(now())) {
      while (std::ssize(sent_) < in_flight)
        send(step);
      const std::optional<double> reply_s = upstream_.next_reply_s();
      ASSERT_TRUE(reply_s.has_value());
      for (const ModelReply& reply : upstream_.advance(*reply_s)) {
        const auto sent = sent_.extract(reply.id);
        step.ended({.number = sent.mapped().step == steps_ ? sent.mapped().number : 0,
                    .sent = sent.mapped().at,
                    .ended = now_after(*reply_s),
                    .tokens = static_cast<int64_t>(sent.mapped().work),
                    .end = reply.refused ? ProbeEnd::kOverloaded : ProbeEnd::kAnswered});
      }
      now_s_ += *reply_s;
    }
    ladder_.add(step.measure());
  }

  TimePoint now_after(double by_s) const {
    return kStart + Duration(static_cast<int64_t>(std::llround((now_s_ + by_s) * 1e9)));
  }

  void send(ProbeStep& step) {
    const double work =
        std::round(lengths_.mean * (1 + lengths_.spread * (2 * random_.unit() - 1)));
    sent_[++last_id_] = {.step = steps_, .number = step.sent(), .at = now(), .work = work};
    upstream_.send(last_id_, work);
  }

  ModelUpstream upstream_;
  Random random_;
  const Lengths lengths_;
  ProbeLadder ladder_;
  double now_s_ = 0;
  uint64_t last_id_ = 0;
  int32_t steps_ = 0;
  std::map<uint64_t, Sent> sent_;
};

TEST(ProbeLadder, FindsHowManySlotsThereAre) {
  for (const int32_t slots : {1, 2, 4, 8, 16, 64}) {
    const Probe probe({.slots = slots}, {}, 1);
    EXPECT_EQ(probe.finding().in_flight, slots);
    EXPECT_EQ(probe.finding().kind,
              slots == 1 ? ProbeFindingKind::kSerial : ProbeFindingKind::kSaturates)
        << slots;
    EXPECT_NEAR(probe.finding().gain, slots, 0.01 * slots);
    // Two doublings without gain, then no more.
    EXPECT_EQ(probe.numbers().back(), std::min(4 * slots, 128));
  }
}

TEST(ProbeLadder, FindsThemWhateverLengthsAnswersHave) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    for (const int32_t slots : {1, 4, 16}) {
      const Probe probe({.slots = slots}, {.mean = 30, .spread = 0.5}, seed);
      // By time a step sees few answers of a few slots: a neighbour on the ladder is near enough.
      EXPECT_GE(probe.finding().in_flight, slots) << "seed " << seed;
      EXPECT_LE(probe.finding().in_flight, 2 * slots) << "seed " << seed;
      EXPECT_EQ(probe.finding().kind == ProbeFindingKind::kSerial, slots == 1) << "seed " << seed;
    }
  }
}

TEST(ProbeLadder, TakesTheFewestThatBringAboutAsMuchWhereSlotsShareAMachine) {
  // Each further row makes all slower by a fiftieth: at 64 they are far from 64 times as fast.
  const Probe probe({.slots = 64, .batching_cost = 0.5}, {}, 1);
  const ProbeFinding finding = probe.finding();
  double best = 0;
  double chosen = 0;
  for (const ProbeMeasure& one : probe.ladder().measures()) {
    best = std::max(best, one.work_per_s());
    if (one.in_flight == finding.in_flight) chosen = one.work_per_s();
  }
  EXPECT_GE(chosen, 0.95 * best);
  EXPECT_LT(finding.in_flight, 64);
}

TEST(ProbeLadder, MeasuresWhatTheServerDoes) {
  const Probe probe({.slots = 4}, {.mean = 30}, 1);
  const ProbeMeasure& at_1 = probe.ladder().measures().at(0);
  EXPECT_NEAR(at_1.requests_per_s, 1 / 0.3, 0.01);
  EXPECT_NEAR(at_1.tokens_per_s, 100, 0.5);
  EXPECT_NEAR(seconds(at_1.latency_p50), 0.3, 0.001);
  const ProbeMeasure& at_8 = probe.ladder().measures().at(3);
  EXPECT_EQ(at_8.in_flight, 8);
  EXPECT_NEAR(at_8.requests_per_s, 4 / 0.3, 0.1);
  EXPECT_NEAR(seconds(at_8.latency_p95), 0.6, 0.01);
}

TEST(ProbeLadder, StopsWhereItIsRefusedAndStaysBelow) {
  const Probe probe({.slots = 4, .queue_max = 2}, {}, 1);
  EXPECT_EQ(probe.numbers(), (std::vector<int32_t>{1, 2, 4, 8}));
  const ProbeFinding finding = probe.finding();
  EXPECT_EQ(finding.kind, ProbeFindingKind::kRefuses);
  EXPECT_EQ(finding.in_flight, 4);
  EXPECT_EQ(finding.refused_at, 8);
  EXPECT_FALSE(finding.interrupted);
}

TEST(ProbeLadder, IsNotFooledByAServerThatStumbles) {
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

TEST(ProbeLadder, MeasuresExactlyWhatItIsTold) {
  const Probe probe({.slots = 4}, {}, 1, {.in_flight = {8, 2, 6}});
  EXPECT_EQ(probe.numbers(), (std::vector<int32_t>{8, 2, 6}));
  EXPECT_EQ(probe.finding().in_flight, 6);
  EXPECT_EQ(probe.finding().gain, 0);
  const Probe one({.slots = 4}, {}, 1, {.in_flight = {2}});
  EXPECT_EQ(one.finding().kind, ProbeFindingKind::kOne);
}

TEST(ProbeLadder, NeverGoesBeyondItsBound) {
  const Probe probe({.slots = 1000}, {}, 1, {.in_flight_max = 32});
  EXPECT_EQ(probe.numbers(), (std::vector<int32_t>{1, 2, 4, 8, 16, 32}));
  EXPECT_EQ(probe.finding().kind, ProbeFindingKind::kGrows);
  EXPECT_EQ(probe.finding().in_flight, 32);
}

TEST(ProbeLadder, SaysWhatIsKnownWhenItIsInterrupted) {
  ProbeLadder ladder({});
  EXPECT_EQ(ladder.finding().kind, ProbeFindingKind::kNothing);
  EXPECT_TRUE(ladder.finding().interrupted);
  ladder.add({.in_flight = 1, .answered = 5, .requests_per_s = 1});
  ladder.add({.in_flight = 2, .answered = 5, .requests_per_s = 2});
  EXPECT_EQ(ladder.finding().kind, ProbeFindingKind::kGrows);
  EXPECT_EQ(ladder.finding().in_flight, 2);
  EXPECT_TRUE(ladder.finding().interrupted);
}

TEST(ProbeLadder, NothingAnsweredIsTheEnd) {
  ProbeLadder ladder({});
  ladder.add({.in_flight = 1, .failed = 3});
  EXPECT_EQ(ladder.next(), std::nullopt);
  EXPECT_EQ(ladder.finding().kind, ProbeFindingKind::kNothing);
  EXPECT_EQ(ladder.finding().in_flight, 0);
}

// --- one step -----------------------------------------------------------------------------------

TimePoint at(double s) {
  return kStart + Duration(static_cast<int64_t>(s * 1e9));
}

TEST(ProbeStep, WarmsUpAndCountsWholeRounds) {
  ProbeStep step({.in_flight = 2, .already = 3, .requests = 4, .time = {}}, kStart);
  // What was in flight before: three slow ones.
  for (int i = 0; i < 3; ++i)
    step.ended({.sent = at(-50), .ended = at(10), .tokens = 5});
  for (int i = 1; i <= 4; ++i) {
    EXPECT_FALSE(step.over(at(10 + i)));
    step.ended({.sent = at(9 + i), .ended = at(10 + i), .tokens = 5});
  }
  EXPECT_TRUE(step.over(at(14)));
  const ProbeMeasure measure = step.measure();
  EXPECT_EQ(measure.answered, 4);
  EXPECT_DOUBLE_EQ(measure.requests_per_s, 1);
  EXPECT_DOUBLE_EQ(measure.tokens_per_s, 5);
  EXPECT_EQ(measure.latency_p95, Duration(std::chrono::seconds(1)));
}

TEST(ProbeStep, ASlowServerGetsNoMoreThanItsTime) {
  ProbeStep step({.in_flight = 4, .time_max = std::chrono::seconds(60)}, kStart);
  step.ended({.sent = kStart, .ended = at(25), .tokens = 10});
  step.ended({.sent = kStart, .ended = at(50), .tokens = 10});
  EXPECT_FALSE(step.over(at(59)));
  EXPECT_TRUE(step.over(at(60)));
  // The warm-up is all there is.
  EXPECT_EQ(step.measure().answered, 2);
  EXPECT_DOUBLE_EQ(step.measure().requests_per_s, 2.0 / 50);
  EXPECT_EQ(ProbeStep({}, kStart).measure().requests_per_s, 0);
}

TEST(ProbeStep, RefusalsOrFailuresInARowEndIt) {
  ProbeStep refuses({.in_flight = 8}, kStart);
  ProbeStep fails({.in_flight = 8}, kStart);
  for (int i = 0; i < 8; ++i) {
    EXPECT_FALSE(refuses.over(kStart));
    EXPECT_FALSE(fails.over(kStart));
    refuses.ended(
        {.number = refuses.sent(), .sent = kStart, .ended = kStart, .end = ProbeEnd::kOverloaded});
    fails.ended(
        {.number = fails.sent(), .sent = kStart, .ended = kStart, .end = ProbeEnd::kFailed});
  }
  EXPECT_TRUE(refuses.over(kStart));
  EXPECT_TRUE(fails.over(kStart));
  EXPECT_EQ(refuses.measure().overloaded, 8);
  EXPECT_TRUE(refuses.measure().refuses);
  EXPECT_EQ(fails.measure().failed, 8);
  EXPECT_FALSE(fails.measure().refuses);
}

// A server that stumbles is measured like any other.
TEST(ProbeStep, OneInFiveRefusedOrFailedIsNoEnd) {
  for (const ProbeEnd end : {ProbeEnd::kOverloaded, ProbeEnd::kFailed}) {
    ProbeStep step({.in_flight = 1, .requests = 60, .time = {}}, kStart);
    for (int i = 0; i <= 60; ++i) {
      ASSERT_FALSE(step.over(at(i))) << "after " << i;
      step.ended({.number = step.sent(),
                  .sent = at(i),
                  .ended = at(i + 1),
                  .tokens = 1,
                  .end = i % 5 == 2 ? end : ProbeEnd::kAnswered});
    }
    EXPECT_TRUE(step.over(at(61)));
    EXPECT_FALSE(step.measure().refuses);
    EXPECT_EQ(step.measure().answered, 48);
  }
}

TEST(ProbeStep, WithoutTokensRequestsAreTheMeasure) {
  ProbeStep step({.in_flight = 1, .requests = 3}, kStart);
  for (int i = 1; i <= 4; ++i)
    step.ended({.sent = at(i - 1), .ended = at(i)});
  EXPECT_FALSE(step.measure().all_told_tokens);
  EXPECT_DOUBLE_EQ(step.measure().work_per_s(), 1);
}

}  // namespace
}  // namespace windrow::dispatch
