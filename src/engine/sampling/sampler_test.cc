#include "engine/sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/random.h"

namespace windrow::engine {
namespace {

// Draws need only how long the answer is.
Token sample(std::span<const float> logits, const llm::Sampling& sampling, int32_t index) {
  static const std::vector<Token> kAnswer(20000, 0);
  Sampler sampler;
  return sampler
      .sample(logits, sampling, {{}, std::span(kAnswer).first(static_cast<size_t>(index))})
      .value_or(-1);
}

std::vector<Candidate> distribution(std::span<const float> logits, const llm::Sampling& sampling) {
  return Sampler().distribution(logits, sampling, {});
}

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
  EXPECT_EQ(sample(std::vector<float>{1, 3, 2, 3}, {.temperature = 0}, 0), 1);
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
  EXPECT_NEAR(Sampler().score(kLogits, 2, 0).logprob, std::log(0.5 / sum), 1e-6);
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

// Vocabularies of several blocks and a piece, with many equal logits and some that never come.
std::vector<float> some_logits(Random& random) {
  std::vector<float> logits(static_cast<size_t>(random.between(1, 2000)));
  const double spread = random.chance(0.2) ? 0.01 : 1 + random.unit() * 20;
  const bool coarse = random.chance(0.3);
  for (float& logit : logits) {
    const double value = (random.unit() - 0.5) * spread;
    logit = static_cast<float>(coarse ? std::round(value) : value);
    if (random.chance(0.02)) logit = -std::numeric_limits<float>::infinity();
  }
  logits[random.below(logits.size())] = 1;
  return logits;
}

llm::Sampling some_sampling(Random& random) {
  llm::Sampling sampling{.temperature = static_cast<float>(0.2 + random.unit() * 2),
                         .seed = random.next()};
  if (random.chance(0.3)) sampling.top_k = static_cast<int32_t>(random.between(1, 300));
  if (random.chance(0.4)) sampling.top_p = static_cast<float>(random.unit());
  if (random.chance(0.3)) sampling.min_p = static_cast<float>(random.unit());
  if (random.chance(0.2)) sampling.typical_p = static_cast<float>(0.01 + random.unit() * 0.98);
  return sampling;
}

// The definition: walk the distribution in the order of tokens until the draw is used up.
TEST(Sampler, ADrawIsTheTokenWhereTheDistributionReachesIt) {
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const std::vector<float> logits = some_logits(random);
    const llm::Sampling sampling = some_sampling(random);
    std::vector<Candidate> candidates = distribution(logits, sampling);
    ASSERT_FALSE(candidates.empty());
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
    const double unit = unit_draw(sampling.seed, 3);
    const Token drawn = sample(logits, sampling, 3);
    double before = 0;
    bool found = false;
    for (const Candidate& candidate : candidates) {
      if (candidate.token == drawn) {
        found = true;
        EXPECT_GT(unit, before - 1e-6);
        EXPECT_LT(unit, before + candidate.probability + 1e-6);
      }
      before += candidate.probability;
    }
    EXPECT_TRUE(found) << "token " << drawn << " was filtered out";
    EXPECT_NEAR(before, 1, 1e-9);
  }
}

// Filters by their definitions, over a full sort.
TEST(Sampler, WhatIsKeptIsWhatAFullSortKeeps) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const std::vector<float> logits = some_logits(random);
    llm::Sampling sampling = some_sampling(random);
    sampling.typical_p = 1;
    std::vector<Candidate> sorted;
    for (size_t i = 0; i < logits.size(); ++i) {
      if (std::isfinite(logits[i])) sorted.push_back({static_cast<Token>(i), logits[i]});
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const Candidate& a, const Candidate& b) { return more_likely(a, b); });
    if (sampling.top_k > 0 && static_cast<size_t>(sampling.top_k) < sorted.size())
      sorted.resize(static_cast<size_t>(sampling.top_k));
    double sum = 0;
    for (Candidate& one : sorted)
      sum += one.probability = std::exp(static_cast<double>(one.logit) - sorted[0].logit);
    if (sampling.top_p < 1) {
      size_t kept = 0;
      for (double reached = 0; kept < sorted.size() && reached < sampling.top_p * sum;)
        reached += sorted[kept++].probability;
      sorted.resize(std::max<size_t>(kept, 1));
    }
    std::erase_if(sorted, [&](const Candidate& one) {
      return one.probability < static_cast<double>(sampling.min_p) * (1 - 1e-6);
    });
    std::vector<Candidate> ours = distribution(logits, sampling);
    std::erase_if(ours, [](const Candidate& one) { return !std::isfinite(one.logit); });
    // One more or less: where sums in two precisions reach top_p, or min_p falls on a logit.
    ASSERT_NEAR(static_cast<double>(ours.size()), static_cast<double>(sorted.size()), 1);
    if (ours.size() == sorted.size()) ++compared;
    for (size_t i = 0; i < std::min(ours.size(), sorted.size()); ++i)
      ASSERT_EQ(ours[i].token, sorted[i].token);
  }
  EXPECT_GT(compared, 1400);
}

// Rounding swaps them; the draw must not care.
TEST(Sampler, NearlyEqualLogitsThatSwapPlacesLeaveDrawsAlone) {
  std::vector<float> logits(600);
  Random random(8);
  for (float& logit : logits)
    logit = static_cast<float>(random.unit());
  logits[100] = 5.0F;
  logits[500] = 5.0F + 1e-6F;
  std::vector<float> swapped = logits;
  std::swap(swapped[100], swapped[500]);
  const llm::Sampling with_list{.top_k = 30, .seed = 1};
  const llm::Sampling without{.top_p = 0.9F, .seed = 1};
  for (int32_t i = 0; i < 500; ++i) {
    EXPECT_EQ(sample(logits, with_list, i), sample(swapped, with_list, i));
    EXPECT_EQ(sample(logits, without, i), sample(swapped, without, i));
  }
}

TEST(Sampler, TypicalKeepsWhatSurprisesAsMuchAsIsToBeExpected) {
  // softmax 0.5, 0.25, 0.125, 0.125: entropy 1.75 bits, so 0.25 (2 bits) is nearest, then 0.5.
  EXPECT_EQ(tokens_of(distribution(kLogits, {.typical_p = 0.2F})), (std::vector<Token>{0}));
  EXPECT_EQ(tokens_of(distribution(kLogits, {.typical_p = 0.7F})), (std::vector<Token>{2, 0}));
}

// OpenAI: the answer's tokens; the repetition penalty: all. Against arithmetic written out.
TEST(Sampler, PenaltiesCountWhatTheyAreSaidToCount) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    std::vector<float> logits(300);
    for (float& logit : logits)
      logit = static_cast<float>(random.unit() * 8 - 4);
    std::vector<Token> prompt(random.below(50));
    std::vector<Token> answer(random.below(50));
    for (std::vector<Token>* tokens : {&prompt, &answer}) {
      for (Token& token : *tokens)
        token = static_cast<Token>(random.below(40));
    }
    llm::Sampling sampling{.presence_penalty = static_cast<float>(random.unit() * 4 - 2),
                           .frequency_penalty = static_cast<float>(random.unit() * 4 - 2),
                           .repetition_penalty = static_cast<float>(0.5 + random.unit())};
    sampling.logit_bias = {{.token = 5, .bias = 1.5F}, {.token = 300, .bias = 9}, {.token = -1}};
    std::vector<float> expected = logits;
    expected[5] += 1.5F;
    for (Token token = 0; token < 300; ++token) {
      const auto times = std::count(answer.begin(), answer.end(), token);
      const bool there = times > 0 || std::count(prompt.begin(), prompt.end(), token) > 0;
      float& logit = expected[static_cast<size_t>(token)];
      if (there) logit *= logit > 0 ? 1 / sampling.repetition_penalty : sampling.repetition_penalty;
      logit -= static_cast<float>(times) * sampling.frequency_penalty;
      if (times > 0) logit -= sampling.presence_penalty;
    }
    Sampler sampler;
    const History history{.prompt = prompt, .answer = answer};
    // Twice with the same sampler: it must not remember.
    for (int i = 0; i < 2; ++i) {
      const std::vector<Candidate> ours = sampler.distribution(logits, sampling, history);
      ASSERT_EQ(ours.size(), logits.size());
      for (const Candidate& one : ours)
        ASSERT_NEAR(one.logit, expected[static_cast<size_t>(one.token)], 1e-5);
    }
    sampling.temperature = 0;
    const Token greedy = sampler.sample(logits, sampling, history).value();
    EXPECT_NEAR(expected[static_cast<size_t>(greedy)],
                *std::max_element(expected.begin(), expected.end()), 1e-5);
  }
}

TEST(Sampler, ABiasOf100ForcesAndOfMinus100Bans) {
  for (int32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(sample(kLogits, {.logit_bias = {{.token = 3, .bias = 100}}, .seed = 4}, i), 3);
    EXPECT_NE(sample(kLogits, {.logit_bias = {{.token = 2, .bias = -100}}, .seed = 4}, i), 2);
  }
}

TEST(Sampler, ScoresAreThoseOfAFullSortAndKnowNothingOfTheSampling) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const std::vector<float> logits = some_logits(random);
    const auto token = static_cast<Token>(random.below(logits.size()));
    const auto top_count = static_cast<int32_t>(random.between(0, 20));
    std::vector<Candidate> sorted;
    double sum = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      sorted.push_back({static_cast<Token>(i), logits[i]});
      sum += std::exp(static_cast<double>(logits[i]));
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const Candidate& a, const Candidate& b) { return more_likely(a, b); });
    const TokenScores scores = Sampler().score(logits, token, top_count);
    const double logit = logits[static_cast<size_t>(token)];
    EXPECT_EQ(scores.rank, 1 + std::ranges::count_if(logits, [&](float one) {
                             return static_cast<double>(one) > logit;
                           }));
    if (std::isfinite(logit)) {
      EXPECT_NEAR(scores.logprob, logit - std::log(sum), 1e-6);
    }
    ASSERT_EQ(scores.top.size(), std::min(static_cast<size_t>(top_count), logits.size()));
    for (size_t i = 0; i < scores.top.size(); ++i) {
      ASSERT_EQ(scores.top[i].token, sorted[i].token);
      if (!std::isfinite(sorted[i].logit)) continue;
      ASSERT_NEAR(scores.top[i].logprob, static_cast<double>(sorted[i].logit) - std::log(sum),
                  1e-6);
    }
  }
}

TEST(LogitBlocks, WeightsAreTheExponentialFunction) {
  LogitBlocks blocks;
  std::vector<float> logits;
  for (int i = 0; i < 5000; ++i)
    logits.push_back(-0.02F * static_cast<float>(i));
  ASSERT_TRUE(blocks.scan(logits));
  BlockWeights weights;
  for (size_t block = 0; block < blocks.count(); ++block) {
    const double sum = blocks.weigh(block, {.max = blocks.max()}, weights);
    double added = 0;
    for (size_t i = 0; i < blocks.block(block).size(); ++i) {
      const double expected = std::exp(static_cast<double>(blocks.block(block)[i]));
      added += static_cast<double>(weights[i]);
      if (expected > 2e-38) {
        ASSERT_NEAR(weights[i] / expected, 1, 3e-7);
      }
    }
    EXPECT_NEAR(sum, added, 1e-6 * added);
  }
}

}  // namespace
}  // namespace windrow::engine
