#include "fleet/model_estimate.h"

#include <gtest/gtest.h>

#include <vector>

namespace windrow::fleet {
namespace {

// Contexts are at most 0.4 of what they are chosen by.
TEST(ModelEstimate, ContextsLeaveRoomForAllModelsOrForOthersAtLeast) {
  const std::vector<uint64_t> small = {1000, 2000, 1000};
  uint64_t all = 0;
  for (size_t i = 0; i < small.size(); ++i)
    all += small[i] + context_memory(small, i, 20'000) * 2 / 5;
  EXPECT_LE(all, 20'000U);
  EXPECT_GT(all, 12'000U) << "what is there is used";
  const std::vector<uint64_t> large = {9000, 9000, 9000};
  EXPECT_EQ(context_memory(large, 1, 20'000), 5500U);
  EXPECT_EQ(context_memory(large, 1, 5000), 1U) << "the least there is";
  EXPECT_EQ(context_memory(large, 1, 0), 0U) << "nobody says how much there is";
}

}  // namespace
}  // namespace windrow::fleet
