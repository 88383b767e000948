#include "engine/sampling/filters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "base/testing/rounds.h"

namespace windrow::engine {
namespace {

std::vector<float> some_logits(Random& random) {
  std::vector<float> logits(static_cast<size_t>(random.between(1, 4000)));
  const double spread = random.chance(0.2) ? 0.001 : 1 + random.unit() * 30;
  const double offset = random.chance(0.2) ? 1000 * (random.unit() - 0.5) : 0;
  const bool coarse = random.chance(0.3);
  for (float& logit : logits) {
    const double value = (random.unit() + random.unit() - 1) * spread + offset;
    logit = static_cast<float>(coarse ? std::round(value) : value);
    if (random.chance(0.02)) logit = -std::numeric_limits<float>::infinity();
  }
  logits[random.below(logits.size())] = static_cast<float>(offset);
  return logits;
}

double weight_sum(std::vector<Candidate>& candidates) {
  double logit_max = -std::numeric_limits<double>::infinity();
  for (const Candidate& one : candidates)
    logit_max = std::max(logit_max, static_cast<double>(one.logit));
  double sum = 0;
  for (Candidate& one : candidates)
    sum += one.probability = std::exp(static_cast<double>(one.logit) - logit_max);
  return sum;
}

// By the definition. What is as far from the entropy to within rounding may come in either order.
void keep_typical(std::vector<Candidate>& candidates, double typical_p) {
  const double sum = weight_sum(candidates);
  double entropy = 0;
  for (Candidate& one : candidates) {
    one.probability /= sum;
    if (one.probability > 0) entropy -= one.probability * std::log(one.probability);
  }
  const auto distance = [&](const Candidate& one) {
    return one.probability > 0 ? std::abs(-std::log(one.probability) - entropy)
                               : std::numeric_limits<double>::infinity();
  };
  std::sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
    return distance(a) != distance(b) ? distance(a) < distance(b) : more_likely(a, b);
  });
  size_t kept = 0;
  for (double reached = 0; kept < candidates.size() && reached <= typical_p;)
    reached += candidates[kept++].probability;
  candidates.resize(kept);
}

void keep_top_p(std::vector<Candidate>& candidates, double top_p) {
  const double wanted = top_p * weight_sum(candidates);
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return more_likely(a, b); });
  size_t kept = 0;
  for (double reached = 0; kept < candidates.size() && reached < wanted;)
    reached += candidates[kept++].probability;
  candidates.resize(std::max<size_t>(kept, 1));
}

std::vector<Token> kept_of(const std::vector<float>& logits, const LogitRange& kept) {
  std::vector<Token> tokens;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isfinite(logits[i]) && kept.has(logits[i], static_cast<Token>(i)))
      tokens.push_back(static_cast<Token>(i));
  }
  return tokens;
}

TEST(Filters, TypicalKeepsOfAVocabularyWhatAFullSortKeeps) {
  int same = 0;
  const int cases = windrow::testing::rounds(300, 1500);
  for (int seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(static_cast<uint64_t>(seed));
    const std::vector<float> logits = some_logits(random);
    llm::Sampling sampling{.typical_p = static_cast<float>(0.01 + random.unit() * 0.98)};
    if (random.chance(0.3)) sampling.top_p = static_cast<float>(random.unit());
    std::vector<Candidate> expected;
    for (size_t i = 0; i < logits.size(); ++i) {
      if (std::isfinite(logits[i])) expected.push_back({static_cast<Token>(i), logits[i]});
    }
    keep_typical(expected, static_cast<double>(sampling.typical_p));
    if (sampling.top_p < 1) keep_top_p(expected, static_cast<double>(sampling.top_p));
    std::vector<Token> tokens;
    float largest = -std::numeric_limits<float>::infinity();
    for (const Candidate& one : expected) {
      tokens.push_back(one.token);
      largest = std::max(largest, one.logit);
    }
    std::sort(tokens.begin(), tokens.end());
    LogitBlocks blocks;
    ASSERT_TRUE(blocks.scan(logits));
    const LogitRange kept = Filters().keep(blocks, sampling);
    const std::vector<Token> ours = kept_of(logits, kept);
    // Sums in two precisions may reach the share one token apart, which moves top_p by one too.
    ASSERT_NEAR(static_cast<double>(ours.size()), static_cast<double>(tokens.size()), 2);
    float largest_of_ours = -std::numeric_limits<float>::infinity();
    for (const Token token : ours)
      largest_of_ours = std::max(largest_of_ours, logits[static_cast<size_t>(token)]);
    ASSERT_EQ(kept.max, largest_of_ours);
    if (ours == tokens) ++same;
  }
  EXPECT_GT(same, cases * 95 / 100);
}

TEST(Filters, TypicalOfEqualLogitsKeepsTheFirstTokens) {
  const std::vector<float> logits(1000, 2.5F);
  LogitBlocks blocks;
  ASSERT_TRUE(blocks.scan(logits));
  const std::vector<Token> ours = kept_of(logits, Filters().keep(blocks, {.typical_p = 0.3F}));
  ASSERT_NEAR(static_cast<double>(ours.size()), 301, 1);
  EXPECT_EQ(ours.back(), static_cast<Token>(ours.size()) - 1);
}

// The most likely token surprises too little to be typical; min_p compares with what is left.
TEST(Filters, MinPComparesWithTheMostLikelyTokenThatIsKept) {
  std::vector<float> logits(2000, -7);
  logits[0] = 0;
  logits[1] = -9;
  LogitBlocks blocks;
  ASSERT_TRUE(blocks.scan(logits));
  const LogitRange typical = Filters().keep(blocks, {.typical_p = 0.2F});
  EXPECT_EQ(typical.max, -7);
  const std::vector<Token> ours = kept_of(logits, typical);
  ASSERT_FALSE(ours.empty());
  EXPECT_EQ(kept_of(logits, Filters().keep(blocks, {.min_p = 0.5F, .typical_p = 0.2F})), ours);
}

}  // namespace
}  // namespace windrow::engine
