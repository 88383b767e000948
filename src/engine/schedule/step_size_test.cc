#include "engine/schedule/step_size.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace windrow::engine {
namespace {

using std::chrono::milliseconds;

TEST(StepSize, SettlesOnWhatTheTargetAllows) {
  StepSize size(milliseconds(2000), milliseconds(2000), 2048);
  EXPECT_EQ(size.prefill_tokens_max(), 512);
  for (int i = 0; i < 20; ++i) {
    size.step_took(size.prefill_tokens_max(), 0, milliseconds(size.prefill_tokens_max() * 4));
  }
  EXPECT_EQ(size.prefill_tokens_max(), 500);  // 4 ms a token
}

TEST(StepSize, AFastModelTakesWholeSteps) {
  StepSize size(milliseconds(250), milliseconds(250), 2048);
  size.step_took(512, 0, milliseconds(1));
  EXPECT_EQ(size.prefill_tokens_max(), 2048);
  size.step_took(512, 0, milliseconds(0));
  EXPECT_EQ(size.prefill_tokens_max(), 2048);
}

TEST(StepSize, ASlowModelStillGetsAWorthwhileChunk) {
  StepSize size(milliseconds(250), milliseconds(250), 2048);
  size.step_took(512, 0, milliseconds(60'000));
  EXPECT_EQ(size.prefill_tokens_max(), 32);
}

TEST(StepSize, DecodingStepsTeachNothing) {
  StepSize size(milliseconds(250), milliseconds(250), 2048);
  size.step_took(0, 128, milliseconds(5000));
  EXPECT_EQ(size.prefill_tokens_max(), 125);
}

// The first step reads the weights from a disk, or a neighbour was busy for a while.
TEST(StepSize, RecoversFromOneSlowStep) {
  StepSize size(milliseconds(2000), milliseconds(2000), 2048);
  size.step_took(512, 0, milliseconds(60'000));
  EXPECT_EQ(size.prefill_tokens_max(), 32);
  for (int i = 0; i < 40; ++i) {
    size.step_took(size.prefill_tokens_max(), 8, milliseconds((size.prefill_tokens_max() + 8) * 4));
  }
  EXPECT_NEAR(size.prefill_tokens_max(), 500, 5);  // 4 ms a token
}

// Sixteen chats beside each other on two cores had steps of 180 ms and half a millisecond a token:
// by their mean a step of 200 ms shrinks until it has a few tokens, at several times their price.
TEST(StepSize, WhatIsFixedIsNoReasonForSmallerSteps) {
  StepSize size(milliseconds(200), milliseconds(200), 2048);
  const auto duration = [](int32_t tokens) {
    return std::chrono::microseconds(180'000 + 500 * tokens);
  };
  int64_t tokens_all = 0;
  double seconds_all = 0;
  for (int i = 0; i < 300; ++i) {
    const int32_t tokens = size.prefill_tokens_max();
    size.step_took(tokens, 0, duration(tokens));
    if (i < 100) continue;
    tokens_all += tokens;
    seconds_all += seconds(duration(tokens));
    EXPECT_LE(duration(tokens), milliseconds(800)) << "four times the target at most";
  }
  EXPECT_LT(seconds_all / static_cast<double>(tokens_all), 3 * 0.0005);
}

TEST(StepSize, ComesBackFromSmallStepsWhenTheyAreFixedCostMostly) {
  StepSize size(milliseconds(200), milliseconds(200), 2048);
  size.step_took(512, 0, milliseconds(60'000));
  ASSERT_EQ(size.prefill_tokens_max(), 32);
  int32_t most = 0;
  for (int i = 0; i < 200; ++i) {
    const int32_t tokens = size.prefill_tokens_max();
    // Prompts end where they end, so chunks differ.
    const int32_t taken = i % 3 == 0 ? std::max(32, tokens / 2) : tokens;
    size.step_took(taken, 8, milliseconds(150) + std::chrono::microseconds(500 * (taken + 8)));
    if (i >= 100) most = std::max(most, tokens);
  }
  EXPECT_GE(most, 200);
}

TEST(StepSize, ASlowModelHasNoLongerStepsThanWanted) {
  StepSize size(milliseconds(200), milliseconds(200), 2048);
  for (int i = 0; i < 200; ++i) {
    const int32_t tokens = size.prefill_tokens_max();
    size.step_took(tokens, 16, milliseconds(4) * (tokens + 16));
    if (i < 50) continue;
    EXPECT_LE(tokens, 50) << i;
  }
}

TEST(StepSize, NeverExceedsTheStep) {
  StepSize size(milliseconds(250), milliseconds(250), 16);
  EXPECT_EQ(size.prefill_tokens_max(), 16);
  EXPECT_EQ(size.lone_tokens_max(), 16);
  size.step_took(16, 0, milliseconds(60'000));
  EXPECT_EQ(size.prefill_tokens_max(), 16);
}

TEST(StepSize, ARowThatIsAloneHasLongerSteps) {
  StepSize size(milliseconds(100), milliseconds(1000), 2048);
  EXPECT_EQ(size.prefill_tokens_max(), 50) << "nothing is known yet";
  EXPECT_EQ(size.lone_tokens_max(), 500);
  for (int i = 0; i < 20; ++i)
    size.step_took(512, 0, milliseconds(512));
  EXPECT_EQ(size.prefill_tokens_max(), 100);
  EXPECT_EQ(size.lone_tokens_max(), 1000);

  StepSize shorter(milliseconds(1000), milliseconds(100), 2048);
  shorter.step_took(512, 0, milliseconds(512 * 2));
  EXPECT_EQ(shorter.lone_tokens_max(), shorter.prefill_tokens_max())
      << "never less than beside others";
}

}  // namespace
}  // namespace windrow::engine
