#include "engine/step_size.h"

#include <gtest/gtest.h>

namespace windrow::engine {
namespace {

using std::chrono::milliseconds;

TEST(StepSize, SettlesOnWhatTheTargetAllows) {
  StepSize size(milliseconds(2000), 2048);
  EXPECT_EQ(size.prefill_tokens_max(), 512);
  for (int i = 0; i < 20; ++i) {
    size.step_took(size.prefill_tokens_max(), milliseconds(size.prefill_tokens_max() * 4));
  }
  EXPECT_EQ(size.prefill_tokens_max(), 500);  // 4 ms a token
}

TEST(StepSize, AFastModelTakesWholeSteps) {
  StepSize size(milliseconds(250), 2048);
  size.step_took(512, milliseconds(1));
  EXPECT_EQ(size.prefill_tokens_max(), 2048);
  size.step_took(512, milliseconds(0));
  EXPECT_EQ(size.prefill_tokens_max(), 2048);
}

TEST(StepSize, ASlowModelStillGetsAWorthwhileChunk) {
  StepSize size(milliseconds(250), 2048);
  size.step_took(512, milliseconds(60'000));
  EXPECT_EQ(size.prefill_tokens_max(), 32);
}

TEST(StepSize, DecodingStepsTeachNothing) {
  StepSize size(milliseconds(250), 2048);
  size.step_took(8, milliseconds(5000));
  EXPECT_EQ(size.prefill_tokens_max(), 512);
}

TEST(StepSize, NeverExceedsTheStep) {
  StepSize size(milliseconds(250), 16);
  EXPECT_EQ(size.prefill_tokens_max(), 16);
  size.step_took(16, milliseconds(60'000));
  EXPECT_EQ(size.prefill_tokens_max(), 16);
}

}  // namespace
}  // namespace windrow::engine
