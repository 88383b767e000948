#include "engine/embed/pass_time.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace windrow::engine {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// 4 ms and 20 us a token.
Duration pass(int32_t tokens) {
  return milliseconds(4) + tokens * microseconds(20);
}

TEST(PassTimeTest, FindsWhatIsFixedAndWhatATokenCosts) {
  PassTime time;
  for (const int32_t tokens : {64, 128, 256})
    time.took(tokens, pass(tokens));
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
      time.took(tokens, slower * pass(tokens));
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
