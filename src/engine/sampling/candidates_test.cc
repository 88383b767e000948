#include "engine/sampling/candidates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace windrow::engine {
namespace {

// Many equal logits, of which only some are kept: what is taken out of a block leaves no weight,
// whatever their sum was rounded to. Draws as near to 1 as can be would fall there.
TEST(Draw, ABlockWithNothingKeptIsNeverDrawnFrom) {
  constexpr double kLast = 1 - 0x1p-53;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const auto logit = static_cast<float>(-3 * random.unit());
    std::vector<float> logits(static_cast<size_t>(random.between(600, 2000)), logit);
    logits[0] = 0;
    LogitBlocks blocks;
    ASSERT_TRUE(blocks.scan(logits));
    LogitRange kept = all_of(blocks);
    kept.lowest = {.logit = logit, .token = static_cast<Token>(random.below(600))};
    std::vector<double> sums;
    EXPECT_EQ(draw_from(blocks, kept, 0.7F, kLast, sums), kept.lowest.token);
    // The other edge, which leaves the most likely token out.
    kept = {.max = logit,
            .highest = {.logit = logit, .token = kept.lowest.token},
            .lowest = {.logit = -std::numeric_limits<float>::infinity()}};
    if (kept.highest.token == 0) continue;
    EXPECT_EQ(draw_from(blocks, kept, 0.7F, kLast, sums), kept.highest.token);
    EXPECT_EQ(draw_from(blocks, kept, 0.7F, 0, sums), 1);
  }
}

TEST(Draw, WhatIsKeptIsWeighedAgainstTheLargestKeptLogit) {
  // At this temperature the two tokens that are kept have no weight beside the one that is not.
  const std::vector<float> logits = {0, -20, -20};
  LogitBlocks blocks;
  ASSERT_TRUE(blocks.scan(logits));
  const LogitRange kept{.max = -20, .highest = {.logit = -20}, .lowest = {.logit = -20}};
  std::vector<double> sums;
  EXPECT_EQ(draw_from(blocks, kept, 0.1F, 0.49, sums), 1);
  EXPECT_EQ(draw_from(blocks, kept, 0.1F, 0.51, sums), 2);
}

}  // namespace
}  // namespace windrow::engine
