#include "report/prefix_share.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace windrow::report {
namespace {

double share_of(const std::vector<std::vector<int32_t>>& prompts) {
  PrefixShare share;
  for (const std::vector<int32_t>& prompt : prompts)
    share.add(prompt);
  return share.share();
}

TEST(PrefixShare, CountsBeginningsThatCameBefore) {
  EXPECT_EQ(share_of({}), 0);
  EXPECT_EQ(share_of({{}}), 0);
  EXPECT_EQ(share_of({{1, 2, 3, 4}}), 0);
  EXPECT_DOUBLE_EQ(share_of({{1, 2, 3, 4}, {1, 2, 3, 4}}), 0.5);
  EXPECT_DOUBLE_EQ(share_of({{1, 2, 3, 4}, {1, 2, 5, 6}}), 0.25);
  EXPECT_DOUBLE_EQ(share_of({{1, 2, 3, 4}, {2, 3, 4, 1}}), 0);
  EXPECT_DOUBLE_EQ(share_of({{0, 0}, {0, 0, 0, 0}}), 2.0 / 6);
}

TEST(PrefixShare, TheSameTokensElsewhereAreNotAPrefix) {
  EXPECT_DOUBLE_EQ(share_of({{7, 1, 2, 3}, {8, 1, 2, 3}}), 0);
}

// The definition as the documents give it: what a row shares with its predecessor when all are
// sorted.
double share_by_sorting(std::vector<std::vector<int32_t>> prompts) {
  std::ranges::sort(prompts);
  size_t shared = 0;
  size_t tokens = 0;
  for (size_t i = 0; i < prompts.size(); ++i) {
    tokens += prompts[i].size();
    if (i == 0) continue;
    const auto [end, other] = std::ranges::mismatch(prompts[i], prompts[i - 1]);
    shared += static_cast<size_t>(end - prompts[i].begin());
  }
  return static_cast<double>(shared) / static_cast<double>(tokens);
}

TEST(PrefixShare, IsWhatSortedNeighboursShare) {
  Random random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::vector<int32_t>> prompts(random.below(40) + 1);
    for (std::vector<int32_t>& prompt : prompts) {
      prompt.resize(random.below(12) + 1);
      for (int32_t& token : prompt)
        token = static_cast<int32_t>(random.below(3));
    }
    EXPECT_NEAR(share_of(prompts), share_by_sorting(prompts), 1e-12);
  }
}

TEST(PrefixShare, StaysNearTheTruthWhenThereAreTooManyToCount) {
  // 20,000 prompts in 1,000 groups: 60 tokens of the group and 40 of their own.
  Random random(5);
  PrefixShare share;
  std::vector<int32_t> prompt(100);
  for (int32_t row = 0; row < 20'000; ++row) {
    for (int32_t i = 0; i < 60; ++i)
      prompt[static_cast<size_t>(i)] = row % 1000 * 64 + i;
    for (size_t i = 60; i < 100; ++i)
      prompt[i] = static_cast<int32_t>(random.below(150'000));
    share.add(prompt);
  }
  EXPECT_EQ(share.tokens(), 2'000'000);
  EXPECT_NEAR(share.share(), 0.6 * 19 / 20, 0.02);
}

}  // namespace
}  // namespace windrow::report
