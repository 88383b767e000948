#include "sim_upstream/faults.h"

#include <gtest/gtest.h>

namespace windrow::sim_upstream {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Faults, ARuleIsReadAsItIsWritten) {
  EXPECT_EQ(
      *parse_fault("429=0.01:2s"),
      (FaultRule{.kind = FaultKind::kRateLimit, .probability = 0.01, .duration = seconds(2)}));
  EXPECT_EQ(*parse_fault("stall=1"),
            (FaultRule{.kind = FaultKind::kStall, .probability = 1, .duration = std::nullopt}));
  EXPECT_EQ(
      *parse_fault("slow-body=0.5:250ms"),
      (FaultRule{.kind = FaultKind::kSlowBody, .probability = 0.5, .duration = milliseconds(250)}));
}

TEST(Faults, WhatIsNoRuleIsRefused) {
  for (const char* text :
       {"", "429", "429=", "429=2", "429=-0.1", "429=nan", "429=0.1s", "429=0.1:", "429=0.1:2",
        "429=0.1:2h", "429=0.1:-1s", "429=0.1:9999min", "fire=0.1", "swapped=0.1:2s"}) {
    EXPECT_FALSE(parse_fault(text).has_value()) << text;
  }
  EXPECT_NE(parse_fault("fire=0.1").error().message.find("429, 5xx, 500, 502, 503, stall"),
            std::string::npos);
}

TEST(Faults, AStormStrikesEveryRequestUntilItIsOver) {
  const std::vector<FaultRule> rules = {*parse_fault("429=1:2s")};
  FaultDice dice(rules, 1);
  const TimePoint start{};
  EXPECT_EQ(dice.roll(start)->duration, Duration(seconds(2)));
  EXPECT_EQ(dice.roll(start + milliseconds(500))->duration, Duration(milliseconds(1500)));
  // It is over to the nanosecond; the next request begins another.
  EXPECT_EQ(dice.roll(start + seconds(2))->duration, Duration(seconds(2)));
}

TEST(Faults, StrikesAreAsFrequentAsTheRuleSays) {
  for (const uint64_t seed : {1U, 2U, 3U}) {
    const std::vector<FaultRule> rules = {*parse_fault("5xx=0.1"), *parse_fault("reset=0.5")};
    FaultDice dice(rules, seed);
    int errors = 0;
    int resets = 0;
    for (int i = 0; i < 10'000; ++i) {
      const std::optional<Strike> strike = dice.roll(TimePoint{});
      if (!strike) continue;
      (strike->kind == FaultKind::kServerError ? errors : resets) += 1;
    }
    // Six standard deviations; a request that got an error cannot get a reset.
    EXPECT_NEAR(errors, 1000, 180) << "seed " << seed;
    EXPECT_NEAR(resets, 4500, 300) << "seed " << seed;
  }
}

TEST(Faults, TheSameSeedGivesTheSameFaults) {
  const std::vector<FaultRule> rules = {*parse_fault("stall=0.3")};
  FaultDice one(rules, 7);
  FaultDice two(rules, 7);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(one.roll(TimePoint{}).has_value(), two.roll(TimePoint{}).has_value());
  }
}

}  // namespace
}  // namespace windrow::sim_upstream
