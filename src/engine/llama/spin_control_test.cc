#include "engine/llama/spin_control.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "base/testing/eventually.h"

namespace windrow::engine {
namespace {

int threads() {
  int count = 0;
  for ([[maybe_unused]] const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    ++count;
  return count;
}

TEST(SpinRuleTest, BrieflyAtOnceWhereCoresAreWantedAndBackWhenItHasBeenQuiet) {
  SpinRule rule;
  EXPECT_FALSE(rule.waited(0));
  EXPECT_FALSE(rule.waited(0.04));
  EXPECT_TRUE(rule.waited(0.3));
  for (int i = 0; i < SpinRule::kQuietWindows - 1; ++i)
    EXPECT_TRUE(rule.waited(0.001)) << i;
  EXPECT_TRUE(rule.waited(0.02)) << "a little";
  for (int i = 0; i < SpinRule::kQuietWindows - 1; ++i)
    EXPECT_TRUE(rule.waited(0)) << i;
  EXPECT_FALSE(rule.waited(0));
}

TEST(SpinControlTest, ReadsWhatTheKernelCounts) {
  EXPECT_EQ(waited_for_core("5120 307 9\n"), Duration(307));
  EXPECT_EQ(waited_for_core("5120"), std::nullopt);
  EXPECT_EQ(waited_for_core(""), std::nullopt);
  EXPECT_EQ(waited_for_core("5120 x 9"), std::nullopt);
}

TEST(SpinControlTest, LeavesWhatTheEnvironmentSays) {
  const auto says = [](const std::map<std::string, const char*>& environment) {
    return says_how_to_wait([&](const char* name) -> const char* {
      const auto found = environment.find(name);
      return found == environment.end() ? nullptr : found->second;
    });
  };
  EXPECT_FALSE(says({{"HOME", "/root"}}));
  EXPECT_TRUE(says({{"OMP_WAIT_POLICY", "active"}}));
  EXPECT_TRUE(says({{"GOMP_SPINCOUNT", "infinity"}}));
}

TEST(SpinControlTest, AddsThreadsAndTakesThemAway) {
  SpinControl control;
  const int before = threads();
  control.set_briefly(true);
  if (!control.briefly()) GTEST_SKIP() << "no libgomp, or the environment says how to wait";
  EXPECT_GE(threads(), before + 2) << "more than cores";
  control.set_briefly(true);
  control.set_briefly(false);
  EXPECT_FALSE(control.briefly());
  // The runtime's threads are told to end, and end.
  windrow::testing::eventually([&] { return threads(); }, ::testing::Le(before));
}

}  // namespace
}  // namespace windrow::engine
