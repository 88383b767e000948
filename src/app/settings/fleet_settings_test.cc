#include "app/settings/fleet_settings.h"

#include <gtest/gtest.h>

namespace windrow::app {
namespace {

constexpr uint64_t kGibibyte = uint64_t{1} << 30;

TEST(ReplyMemory, FollowsTheMachineWithinBounds) {
  EXPECT_EQ(reply_memory_bytes(0, 4 * kGibibyte), kGibibyte / 4);
  EXPECT_EQ(reply_memory_bytes(0, 0), kReplyMemoryMin);
  EXPECT_EQ(reply_memory_bytes(0, 1000 * kGibibyte), kReplyMemoryMax);
  EXPECT_GT(machine_memory_bytes(), 0U);
}

TEST(ReplyMemory, IsWhatWasAskedFor) {
  EXPECT_EQ(reply_memory_bytes(3, 1000 * kGibibyte), size_t{3} << 20);
}

}  // namespace
}  // namespace windrow::app
