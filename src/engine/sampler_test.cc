#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace windrow::engine {
namespace {

std::vector<Token> tokens_of(const std::vector<Candidate>& candidates) {
  std::vector<Token> tokens;
  for (const Candidate& candidate : candidates)
    tokens.push_back(candidate.token);
  return tokens;
}

// softmax: 0.5, 0.25, 0.125, 0.125 in the order of tokens 2, 0, 1, 3.
const std::vector<float> kLogits = {std::log(0.25F), std::log(0.125F), std::log(0.5F),
                                    std::log(0.1249F)};

TEST(Sampler, GreedyTakesTheFirstOfTheLargest) {
  EXPECT_EQ(most_likely(std::vector<float>{1, 3, 2, 3}), 1);
  EXPECT_EQ(sample(kLogits, {.temperature = 0}, 0), 2);
}

TEST(Sampler, FiltersKeepWhatTheirDefinitionsSay) {
  EXPECT_EQ(tokens_of(distribution(kLogits, {})), (std::vector<Token>{2, 0, 1, 3}));
  EXPECT_EQ(tokens_of(distribution(kLogits, {.top_k = 2})), (std::vector<Token>{2, 0}));
  EXPECT_EQ(tokens_of(distribution(kLogits, {.top_p = 0.4F})), (std::vector<Token>{2}));
  EXPECT_EQ(tokens_of(distribution(kLogits, {.top_p = 0.6F})), (std::vector<Token>{2, 0}));
  EXPECT_EQ(tokens_of(distribution(kLogits, {.min_p = 0.4F})), (std::vector<Token>{2, 0}));
  EXPECT_EQ(tokens_of(distribution(kLogits, {.top_k = 3, .top_p = 0.9F, .min_p = 0.3F})),
            (std::vector<Token>{2, 0}));
}

TEST(Sampler, TemperatureComesAfterTheFilters) {
  const auto cold = distribution(kLogits, {.temperature = 0.5F, .top_k = 2});
  ASSERT_EQ(cold.size(), 2U);
  EXPECT_NEAR(cold[0].probability, 0.8, 1e-6);  // 0.5^2 to 0.25^2
  EXPECT_NEAR(cold[1].probability, 0.2, 1e-6);
}

TEST(Sampler, DrawsFollowTheDistribution) {
  std::map<Token, int> seen;
  for (int32_t i = 0; i < 20000; ++i)
    ++seen[sample(kLogits, {.seed = 5}, i)];
  EXPECT_NEAR(seen[2], 10000, 300);
  EXPECT_NEAR(seen[0], 5000, 300);
  EXPECT_NEAR(seen[1], 2500, 250);
  EXPECT_NEAR(seen[3], 2500, 250);
}

TEST(Sampler, TheSameSeedAndIndexDrawTheSameToken) {
  int differ = 0;
  for (int32_t i = 0; i < 200; ++i) {
    EXPECT_EQ(sample(kLogits, {.seed = 9}, i), sample(kLogits, {.seed = 9}, i));
    if (sample(kLogits, {.seed = 9}, i) != sample(kLogits, {.seed = 10}, i)) ++differ;
  }
  EXPECT_GT(differ, 50);
}

TEST(Sampler, AVocabularyOfMoreThanOneSortedPieceIsCutRight) {
  std::vector<float> logits(5000);
  for (size_t i = 0; i < logits.size(); ++i) {
    logits[i] = -0.001F * static_cast<float>((i * 2657) % 5000);  // all ranks, shuffled
  }
  const auto kept = distribution(logits, {.top_p = 0.7F});
  double sum = 0;
  double total = 0;
  for (size_t rank = 0; rank < logits.size(); ++rank)
    total += std::exp(-0.001 * static_cast<double>(rank));
  size_t expected = 0;
  while (sum < 0.7 * total)
    sum += std::exp(-0.001 * static_cast<double>(expected++));
  EXPECT_NEAR(static_cast<double>(kept.size()), static_cast<double>(expected), 1);
  for (size_t rank = 0; rank < kept.size(); ++rank) {
    ASSERT_NEAR(kept[rank].logit, -0.001F * static_cast<float>(rank), 1e-6);
  }
}

TEST(Sampler, LogProbabilityIsTheLogOfTheSoftmax) {
  const double sum = 0.25 + 0.125 + 0.5 + 0.1249;
  EXPECT_NEAR(log_probability(kLogits, 2), std::log(0.5 / sum), 1e-6);
}

TEST(Sampler, InfiniteLogitsAreNeverSampled) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& broken :
       {std::vector<float>{1, kInfinity, 2}, std::vector<float>{-kInfinity, -kInfinity}}) {
    EXPECT_EQ(sample(broken, {}, 0), -1);
    EXPECT_EQ(sample(broken, {.temperature = 0}, 0), -1);
    EXPECT_TRUE(distribution(broken, {}).empty());
  }
  // One that can never come is no fault.
  EXPECT_EQ(sample(std::vector<float>{-kInfinity, 1}, {}, 0), 1);
}

TEST(Sampler, ATinyTemperatureIsGreedy) {
  for (const float temperature : {1e-6F, 1e-30F, std::numeric_limits<float>::denorm_min()}) {
    EXPECT_EQ(sample(kLogits, {.temperature = temperature, .seed = 3}, 0), 2) << temperature;
  }
}

TEST(Sampler, WhatIsNotANumberIsNeverSampled) {
  const std::vector<float> broken = {1, std::numeric_limits<float>::quiet_NaN(), 2};
  EXPECT_EQ(sample(broken, {}, 0), -1);
  EXPECT_EQ(sample(broken, {.temperature = 0}, 0), -1);
  EXPECT_TRUE(distribution(broken, {}).empty());
}

}  // namespace
}  // namespace windrow::engine
