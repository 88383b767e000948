// Our sampler against libllama's sampler chain: the same candidates with the same probabilities.
#include <gtest/gtest.h>
#include <llama.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/random.h"
#include "engine/sampling/sampler.h"

namespace windrow::exactness {
namespace {

// How libllama's penalties are made, in versions without and with a parameter for the vocabulary.
using MakePenalties = llama_sampler* (*)(int32_t, int32_t, float, float, float);
using MakePenaltiesBefore = llama_sampler* (*)(int32_t, float, float, float);

[[maybe_unused]] llama_sampler* penalties(MakePenalties make, int32_t vocabulary, int32_t window,
                                          const llm::Sampling& sampling) {
  return make(vocabulary, window, sampling.repetition_penalty, sampling.frequency_penalty,
              sampling.presence_penalty);
}

[[maybe_unused]] llama_sampler* penalties(MakePenaltiesBefore make, int32_t, int32_t window,
                                          const llm::Sampling& sampling) {
  return make(window, sampling.repetition_penalty, sampling.frequency_penalty,
              sampling.presence_penalty);
}

// libllama penalises all that is in its window alike, so it is shown `seen` and a window as large.
std::map<engine::Token, double> by_libllama(const std::vector<float>& logits,
                                            const llm::Sampling& sampling,
                                            const std::vector<engine::Token>& seen) {
  const auto vocabulary = static_cast<int32_t>(logits.size());
  llama_sampler* chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
  std::vector<llama_logit_bias> biases;
  for (const llm::LogitBias& bias : sampling.logit_bias)
    biases.push_back({bias.token, bias.bias});
  llama_sampler_chain_add(
      chain, llama_sampler_init_logit_bias(vocabulary, static_cast<int32_t>(biases.size()),
                                           biases.data()));
  llama_sampler_chain_add(chain, penalties(llama_sampler_init_penalties, vocabulary,
                                           static_cast<int32_t>(seen.size()), sampling));
  if (sampling.top_k > 0) llama_sampler_chain_add(chain, llama_sampler_init_top_k(sampling.top_k));
  llama_sampler_chain_add(chain, llama_sampler_init_typical(sampling.typical_p, 1));
  llama_sampler_chain_add(chain, llama_sampler_init_top_p(sampling.top_p, 1));
  llama_sampler_chain_add(chain, llama_sampler_init_min_p(sampling.min_p, 1));
  llama_sampler_chain_add(chain, llama_sampler_init_temp(sampling.temperature));
  llama_sampler_chain_add(chain, llama_sampler_init_dist(1));
  for (const engine::Token token : seen)
    llama_sampler_accept(chain, token);
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

std::vector<float> some_logits(Random& random) {
  std::vector<float> logits(static_cast<size_t>(random.between(2, 3000)));
  const double spread = 1 + random.unit() * 12;
  for (float& logit : logits)
    logit = static_cast<float>((random.unit() - 0.5) * spread);
  return logits;
}

std::vector<engine::Token> some_tokens(Random& random, size_t vocabulary) {
  std::vector<engine::Token> tokens(random.below(80));
  for (engine::Token& token : tokens)
    token = static_cast<engine::Token>(random.below(std::min<size_t>(vocabulary, 40)));
  return tokens;
}

// Same candidates, same probabilities. False when there is one candidate more or less: sums in
// float and in double may fall on two sides of where top_p or typical_p is reached.
bool compare(const std::vector<float>& logits, const llm::Sampling& sampling,
             const engine::History& history, const std::vector<engine::Token>& seen) {
  const auto expected = by_libllama(logits, sampling, seen);
  const auto ours = engine::Sampler().distribution(logits, sampling, history);
  EXPECT_NEAR(static_cast<double>(ours.size()), static_cast<double>(expected.size()), 1);
  if (ours.size() != expected.size()) return false;
  for (const engine::Candidate& candidate : ours) {
    const auto found = expected.find(candidate.token);
    if (found == expected.end()) return false;
    EXPECT_NEAR(candidate.probability, found->second, 2e-5) << "token " << candidate.token;
  }
  return true;
}

struct Setting {
  const char* name;
  double compared_min;  // share of the cases that must be the same to the candidate
  void (*set)(Random& random, llm::Sampling& sampling);
};

void set_top_k(Random& random, llm::Sampling& sampling) {
  sampling.top_k = static_cast<int32_t>(random.between(1, 100));
}
void set_top_p(Random& random, llm::Sampling& sampling) {
  sampling.top_p = static_cast<float>(0.05 + random.unit() * 0.9);
}
void set_min_p(Random& random, llm::Sampling& sampling) {
  sampling.min_p = static_cast<float>(random.unit() * 0.5);
}
void set_typical_p(Random& random, llm::Sampling& sampling) {
  sampling.typical_p = static_cast<float>(0.05 + random.unit() * 0.9);
}
void set_biases(Random& random, llm::Sampling& sampling) {
  // Each token once: libllama adds the second of two only when it finds them by search.
  for (engine::Token token = 0; token < 20; ++token) {
    if (random.chance(0.3)) continue;
    const double bias = random.chance(0.3) ? (random.chance(0.5) ? 100 : -100) : random.unit() * 4;
    sampling.logit_bias.push_back({.token = token, .bias = static_cast<float>(bias)});
  }
}
void set_presence(Random& random, llm::Sampling& sampling) {
  sampling.presence_penalty = static_cast<float>(random.unit() * 4 - 2);
}
void set_frequency(Random& random, llm::Sampling& sampling) {
  sampling.frequency_penalty = static_cast<float>(random.unit() * 4 - 2);
}
void set_repetition(Random& random, llm::Sampling& sampling) {
  sampling.repetition_penalty = static_cast<float>(0.5 + random.unit() * 1.5);
}
void set_any(Random& random, llm::Sampling& sampling) {
  for (const auto set : {set_top_k, set_top_p, set_min_p, set_typical_p, set_biases, set_presence,
                         set_frequency, set_repetition}) {
    if (random.chance(0.4)) set(random, sampling);
  }
  // libllama's typical_p takes 0 log 0 for no number and then keeps everything, so no probability
  // may vanish.
  for (llm::LogitBias& bias : sampling.logit_bias) {
    if (sampling.typical_p < 1 && std::abs(bias.bias) > 50) bias.bias /= 50;
  }
}

class SamplerOracle : public ::testing::TestWithParam<Setting> {};

// With an answer and no prompt: there our penalties and libllama's look at the same tokens.
TEST_P(SamplerOracle, KeepsTheCandidatesAndProbabilitiesOfLibllama) {
  constexpr int kCases = 300;
  int compared = 0;
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const std::vector<float> logits = some_logits(random);
    const std::vector<engine::Token> answer = some_tokens(random, logits.size());
    llm::Sampling sampling{.temperature = static_cast<float>(0.1 + random.unit() * 1.9)};
    GetParam().set(random, sampling);
    std::erase_if(sampling.logit_bias, [&](const llm::LogitBias& bias) {
      return static_cast<size_t>(bias.token) >= logits.size();
    });
    if (compare(logits, sampling, {.answer = answer}, answer)) ++compared;
    if (HasFailure()) return;
  }
  EXPECT_GE(compared, GetParam().compared_min * kCases);
}

INSTANTIATE_TEST_SUITE_P(
    Settings, SamplerOracle,
    ::testing::Values(Setting{"temperature", 1, [](Random&, llm::Sampling&) {}},
                      Setting{"top_k", 1, set_top_k}, Setting{"top_p", 0.95, set_top_p},
                      Setting{"min_p", 1, set_min_p}, Setting{"typical_p", 0.9, set_typical_p},
                      Setting{"logit_bias", 1, set_biases}, Setting{"presence", 1, set_presence},
                      Setting{"frequency", 1, set_frequency},
                      Setting{"repetition", 1, set_repetition}, Setting{"any", 0.9, set_any}),
    [](const auto& setting) { return std::string(setting.param.name); });

// The repetition penalty alone looks at the prompt too, as libllama's window does.
TEST(SamplerOracleOnce, RepetitionCountsThePromptAsLibllamaDoes) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const std::vector<float> logits = some_logits(random);
    const std::vector<engine::Token> prompt = some_tokens(random, logits.size());
    const std::vector<engine::Token> answer = some_tokens(random, logits.size());
    std::vector<engine::Token> seen = prompt;
    seen.insert(seen.end(), answer.begin(), answer.end());
    llm::Sampling sampling;
    set_repetition(random, sampling);
    ASSERT_TRUE(compare(logits, sampling, {.prompt = prompt, .answer = answer}, seen));
  }
}

TEST(SamplerOracleOnce, GreedyTakesTheTokenOfLibllama) {
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
    ASSERT_EQ(engine::Sampler().sample(logits, {.temperature = 0}, {}),
              candidates.data[candidates.selected].id);
    llama_sampler_free(greedy);
  }
}

}  // namespace
}  // namespace windrow::exactness
