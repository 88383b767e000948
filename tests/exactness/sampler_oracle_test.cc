// Our sampler against libllama's sampler chain: the same candidates with the same probabilities.
#include <gtest/gtest.h>
#include <llama.h>

#include <map>

#include "base/random.h"
#include "engine/sampler.h"

namespace windrow::exactness {
namespace {

std::map<engine::Token, double> by_libllama(const std::vector<float>& logits,
                                            const llm::Sampling& sampling) {
  llama_sampler* chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
  if (sampling.top_k > 0) llama_sampler_chain_add(chain, llama_sampler_init_top_k(sampling.top_k));
  llama_sampler_chain_add(chain, llama_sampler_init_top_p(sampling.top_p, 1));
  llama_sampler_chain_add(chain, llama_sampler_init_min_p(sampling.min_p, 1));
  llama_sampler_chain_add(chain, llama_sampler_init_temp(sampling.temperature));
  llama_sampler_chain_add(chain, llama_sampler_init_dist(1));
  std::vector<llama_token_data> data;
  for (size_t i = 0; i < logits.size(); ++i) {
    data.push_back({static_cast<llama_token>(i), logits[i], 0});
  }
  llama_token_data_array candidates{data.data(), data.size(), -1, false};
  llama_sampler_apply(chain, &candidates);
  llama_sampler_free(chain);
  std::map<engine::Token, double> result;
  for (size_t i = 0; i < candidates.size; ++i) {
    result[candidates.data[i].id] = static_cast<double>(candidates.data[i].p);
  }
  return result;
}

TEST(SamplerOracle, KeepsTheCandidatesAndProbabilitiesOfLibllama) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    std::vector<float> logits(static_cast<size_t>(random.between(2, 3000)));
    const double spread = 1 + random.unit() * 12;
    for (float& logit : logits)
      logit = static_cast<float>((random.unit() - 0.5) * spread);
    const llm::Sampling sampling{
        .temperature = static_cast<float>(0.1 + random.unit() * 1.9),
        .top_k = random.chance(0.5) ? static_cast<int32_t>(random.between(1, 100)) : 0,
        .top_p = random.chance(0.5) ? static_cast<float>(0.05 + random.unit() * 0.9) : 1.0F,
        .min_p = random.chance(0.5) ? static_cast<float>(random.unit() * 0.5) : 0.0F};
    const auto expected = by_libllama(logits, sampling);
    const auto ours = engine::distribution(logits, sampling);
    // Sums in float and in double may fall on two sides of top_p: one candidate more or less.
    ASSERT_NEAR(static_cast<double>(ours.size()), static_cast<double>(expected.size()), 1);
    if (ours.size() != expected.size()) continue;
    ++compared;
    for (const engine::Candidate& candidate : ours) {
      const auto found = expected.find(candidate.token);
      ASSERT_NE(found, expected.end()) << "token " << candidate.token;
      ASSERT_NEAR(candidate.probability, found->second, 2e-5);
    }
  }
  EXPECT_GT(compared, 380);
}

TEST(SamplerOracle, GreedyTakesTheTokenOfLibllama) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    std::vector<float> logits(500);
    for (float& logit : logits)
      logit = static_cast<float>(random.below(40));  // many equal
    std::vector<llama_token_data> data;
    for (size_t i = 0; i < logits.size(); ++i) {
      data.push_back({static_cast<llama_token>(i), logits[i], 0});
    }
    llama_token_data_array candidates{data.data(), data.size(), -1, false};
    llama_sampler* greedy = llama_sampler_init_greedy();
    llama_sampler_apply(greedy, &candidates);
    ASSERT_EQ(engine::most_likely(logits), candidates.data[candidates.selected].id);
    llama_sampler_free(greedy);
  }
}

}  // namespace
}  // namespace windrow::exactness
