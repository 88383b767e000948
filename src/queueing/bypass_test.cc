#include "queueing/bypass.h"

#include <gtest/gtest.h>

namespace windrow::queueing {
namespace {

using llm::Priority;

TEST(Bypass, APriorityIsDueOnceItsLimitIsReached) {
  BypassCounter counter({.normal = 2, .batch = 3});
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(counter.is_due(Priority::kNormal));
    EXPECT_FALSE(counter.is_due(Priority::kBatch));
    counter.count(Priority::kNormal, true);
    counter.count(Priority::kBatch, true);
  }
  EXPECT_TRUE(counter.is_due(Priority::kNormal));
  EXPECT_FALSE(counter.is_due(Priority::kBatch));
  counter.count(Priority::kNormal, false);
  counter.count(Priority::kBatch, true);
  EXPECT_FALSE(counter.is_due(Priority::kNormal));
  EXPECT_TRUE(counter.is_due(Priority::kBatch));
}

TEST(Bypass, WhatIsNotReadyIsNotBypassed) {
  BypassCounter counter({.normal = 1, .batch = 2});
  counter.count(Priority::kBatch, true);
  counter.count(Priority::kBatch, false);
  counter.count(Priority::kBatch, true);
  EXPECT_FALSE(counter.is_due(Priority::kBatch));
}

TEST(Bypass, NothingBypassesTheHighestPriority) {
  constexpr BypassLimits kLimits;
  EXPECT_FALSE(kLimits.is_reached(Priority::kInteractive, 1'000'000));
  EXPECT_FALSE(kLimits.is_reached(Priority::kNormal, 7));
  EXPECT_TRUE(kLimits.is_reached(Priority::kNormal, 8));
  EXPECT_FALSE(kLimits.is_reached(Priority::kBatch, 31));
  EXPECT_TRUE(kLimits.is_reached(Priority::kBatch, 32));
}

}  // namespace
}  // namespace windrow::queueing
