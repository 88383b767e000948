#include "engine/sampling/masked_logits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "engine/sampling/sampler.h"

namespace windrow::engine {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<uint64_t> mask_of(size_t size, std::span<const Token> tokens) {
  std::vector<uint64_t> mask((size + 63) / 64, 0);
  for (const Token token : tokens)
    mask[static_cast<size_t>(token) / 64] |= uint64_t{1} << (token % 64);
  return mask;
}

std::vector<uint64_t> whole_mask(size_t size) {
  std::vector<Token> all;
  for (size_t token = 0; token < size; ++token)
    all.push_back(static_cast<Token>(token));
  return mask_of(size, all);
}

TEST(MaskedLogits, SaysTheOnlyToken) {
  EXPECT_EQ(only_token(mask_of(200, std::vector<Token>{131})), 131);
  EXPECT_EQ(only_token(mask_of(200, std::vector<Token>{0, 131})), std::nullopt);
  EXPECT_EQ(only_token(mask_of(200, std::vector<Token>{131, 132})), std::nullopt);
  EXPECT_EQ(only_token(mask_of(200, {})), std::nullopt);
  EXPECT_EQ(only_token({}), std::nullopt);
}

// Of whatever is allowed, the sampler takes what it would take if the other tokens could never
// come; few tokens or many, whatever the filters and penalties.
TEST(MaskedLogits, OtherTokensAreAsGoodAsNotThere) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const auto size = static_cast<size_t>(random.between(2, 1500));
    std::vector<float> logits(size);
    for (float& logit : logits)
      logit = static_cast<float>(random.unit() * 12 - 6);
    const double share = random.chance(0.5) ? random.unit() : random.unit() * 0.1;
    std::vector<Token> allowed;
    for (size_t token = 0; token < size; ++token) {
      if (random.chance(share)) allowed.push_back(static_cast<Token>(token));
    }
    if (allowed.empty()) allowed.push_back(static_cast<Token>(random.below(size)));
    std::vector<Token> answer(static_cast<size_t>(random.below(20)));
    for (Token& token : answer)
      token = static_cast<Token>(random.below(size));
    const auto any = static_cast<Token>(random.below(size));
    llm::Sampling sampling{.temperature = random.chance(0.3) ? 0.0F : 0.8F,
                           .top_k = random.chance(0.5) ? 0 : 5,
                           .top_p = random.chance(0.5) ? 1.0F : 0.9F,
                           .min_p = random.chance(0.5) ? 0.0F : 0.05F,
                           .typical_p = random.chance(0.7) ? 1.0F : 0.9F,
                           .frequency_penalty = random.chance(0.5) ? 0.0F : 0.7F,
                           .seed = seed};
    // Not even a bias forces a token that is not allowed.
    if (random.chance(0.5)) sampling.logit_bias = {{.token = any, .bias = 100}};
    std::vector<float> impossible(size, -kInfinity);
    for (const Token token : allowed)
      impossible[static_cast<size_t>(token)] = logits[static_cast<size_t>(token)];
    const std::vector<uint64_t> mask = mask_of(size, allowed);
    // What is not allowed need not even be a number.
    std::vector<float> spoilt = logits;
    if (!std::ranges::binary_search(allowed, any)) spoilt[static_cast<size_t>(any)] = kNan;
    Sampler sampler;
    for (size_t length = 0; length <= answer.size(); ++length) {
      const History history{.prompt = {}, .answer = std::span(answer).first(length)};
      const std::optional<Token> token = sampler.sample(spoilt, sampling, history, mask);
      ASSERT_TRUE(token);
      EXPECT_EQ(token, sampler.sample(impossible, sampling, history));
      EXPECT_EQ(sampler.sample(logits, sampling, history, whole_mask(size)),
                sampler.sample(logits, sampling, history));
    }
  }
}

TEST(MaskedLogits, LogitsThatAreNoNumbersAreStillNotUsable) {
  std::vector<float> logits(300, 1.0F);
  logits[7] = kNan;
  logits[8] = logits[9] = -kInfinity;
  Sampler sampler;
  const llm::Sampling greedy{.temperature = 0};
  const auto sample = [&](std::vector<Token> tokens) {
    return sampler.sample(logits, greedy, {}, mask_of(logits.size(), tokens));
  };
  EXPECT_EQ(sample({7, 10}), std::nullopt);
  EXPECT_EQ(sample({7}), std::nullopt);
  EXPECT_EQ(sample({8, 9}), std::nullopt) << "none of them can come";
  EXPECT_EQ(sample({8}), std::nullopt);
  EXPECT_EQ(sample({}), std::nullopt) << "nothing is allowed";
  EXPECT_EQ(sample({8, 10}), 10);
  EXPECT_EQ(sample({10}), 10);
}

}  // namespace
}  // namespace windrow::engine
