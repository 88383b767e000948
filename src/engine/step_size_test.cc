#include "engine/step_size.h"

#include <gtest/gtest.h>

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
