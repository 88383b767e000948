// Samplers of libllama as an oracle for ours, and grammars as an oracle for token masks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "facts/plain_llama.h"

namespace windrow::facts {
namespace {

using ::testing::ElementsAre;

// Candidates with the logits of log(p) for p = 0.5, 0.25, 0.15, 0.06, 0.04, out of order.
class Samplers : public ::testing::Test {
 protected:
  Samplers() {
    const std::vector<float> p = {0.15F, 0.5F, 0.04F, 0.25F, 0.06F};
    for (size_t i = 0; i < p.size(); ++i) {
      data_.push_back({static_cast<llama_token>(i), std::log(p[i]), 0.0F});
    }
  }

  // The tokens left, the likeliest first.
  std::vector<llama_token> apply(llama_sampler* sampler) {
    const Sampler owner(sampler);
    applied_ = data_;
    candidates_ = {applied_.data(), applied_.size(), -1, false};
    llama_sampler_apply(sampler, &candidates_);
    std::vector<llama_token_data> left(candidates_.data, candidates_.data + candidates_.size);
    std::sort(left.begin(), left.end(),
              [](const auto& a, const auto& b) { return a.logit > b.logit; });
    std::vector<llama_token> tokens;
    tokens.reserve(left.size());
    for (const llama_token_data& one : left)
      tokens.push_back(one.id);
    return tokens;
  }

  std::vector<llama_token_data> data_;
  std::vector<llama_token_data> applied_;
  llama_token_data_array candidates_{};
};

TEST_F(Samplers, TopKKeepsTheKBest) {
  EXPECT_THAT(apply(llama_sampler_init_top_k(2)), ElementsAre(1, 3));
}

TEST_F(Samplers, TopKOfZeroKeepsAll) {
  EXPECT_THAT(apply(llama_sampler_init_top_k(0)), ElementsAre(1, 3, 0, 4, 2));
}

TEST_F(Samplers, TopPKeepsTheFewestThatReachP) {
  EXPECT_THAT(apply(llama_sampler_init_top_p(0.7F, 1)), ElementsAre(1, 3));
  EXPECT_THAT(apply(llama_sampler_init_top_p(0.76F, 1)), ElementsAre(1, 3, 0));
}

TEST_F(Samplers, TopPOfOneKeepsAll) {
  EXPECT_THAT(apply(llama_sampler_init_top_p(1.0F, 1)), ElementsAre(1, 3, 0, 4, 2));
}

TEST_F(Samplers, TopPOfZeroKeepsTheBest) {
  EXPECT_THAT(apply(llama_sampler_init_top_p(0.0F, 1)), ElementsAre(1));
}

TEST_F(Samplers, MinPKeepsWhatIsNotMuchWorseThanTheBest) {
  EXPECT_THAT(apply(llama_sampler_init_min_p(0.2F, 1)), ElementsAre(1, 3, 0));
  EXPECT_THAT(apply(llama_sampler_init_min_p(0.0F, 1)), ElementsAre(1, 3, 0, 4, 2));
}

TEST_F(Samplers, TemperatureDividesTheLogits) {
  apply(llama_sampler_init_temp(2.0F));
  EXPECT_NEAR(candidates_.data[1].logit, std::log(0.5F) / 2, 1e-6);
  EXPECT_NEAR(candidates_.data[4].logit, std::log(0.06F) / 2, 1e-6);
}

TEST_F(Samplers, TemperatureZeroLeavesOnlyTheBestPossible) {
  apply(llama_sampler_init_temp(0.0F));
  for (size_t i = 0; i < candidates_.size; ++i) {
    EXPECT_EQ(std::isinf(candidates_.data[i].logit), candidates_.data[i].id != 1);
  }
}

TEST_F(Samplers, GreedySelectsTheBest) {
  apply(llama_sampler_init_greedy());
  EXPECT_EQ(candidates_.data[candidates_.selected].id, 1);
}

TEST_F(Samplers, AChainAppliesItsPartsInOrder) {
  // After a temperature of 0.1 the best alone has 0.99: top_p sees what temperature left.
  llama_sampler* temperature_first = llama_sampler_chain_init({.no_perf = true});
  llama_sampler_chain_add(temperature_first, llama_sampler_init_temp(0.1F));
  llama_sampler_chain_add(temperature_first, llama_sampler_init_top_p(0.9F, 1));
  EXPECT_THAT(apply(temperature_first), ElementsAre(1));

  llama_sampler* temperature_last = llama_sampler_chain_init({.no_perf = true});
  llama_sampler_chain_add(temperature_last, llama_sampler_init_top_p(0.9F, 1));
  llama_sampler_chain_add(temperature_last, llama_sampler_init_temp(0.1F));
  EXPECT_THAT(apply(temperature_last), ElementsAre(1, 3, 0));
}

TEST_F(Samplers, TheSameSeedDrawsTheSame) {
  std::vector<llama_token> drawn[2];
  for (auto& tokens : drawn) {
    const Sampler sampler(llama_sampler_init_dist(42));
    for (int i = 0; i < 50; ++i) {
      auto data = data_;
      llama_token_data_array candidates{data.data(), data.size(), -1, false};
      llama_sampler_apply(sampler.get(), &candidates);
      tokens.push_back(candidates.data[candidates.selected].id);
    }
  }
  EXPECT_EQ(drawn[0], drawn[1]);
}

TEST_F(Samplers, DrawsFollowTheProbabilities) {
  const Sampler sampler(llama_sampler_init_dist(42));
  std::vector<int> counts(5);
  for (int i = 0; i < 10000; ++i) {
    auto data = data_;
    llama_token_data_array candidates{data.data(), data.size(), -1, false};
    llama_sampler_apply(sampler.get(), &candidates);
    ++counts[static_cast<size_t>(candidates.data[candidates.selected].id)];
  }
  const std::vector<double> p = {0.15, 0.5, 0.04, 0.25, 0.06};
  for (size_t i = 0; i < p.size(); ++i)
    EXPECT_NEAR(counts[i] / 10000.0, p[i], 0.02);
}

TEST(Grammars, MaskTheTokensThatCannotFollow) {
  const Model model = load_model("llama");
  const llama_vocab* vocab = llama_model_get_vocab(model.get());
  const Sampler sampler(llama_sampler_init_grammar(vocab, "root ::= \"yes\" | \"no\"", "root"));
  ASSERT_NE(sampler, nullptr);
  std::vector<llama_token_data> data;
  data.reserve(kVocab);
  for (llama_token token = 0; token < kVocab; ++token)
    data.push_back({token, 0.0F, 0.0F});
  llama_token_data_array candidates{data.data(), data.size(), -1, false};
  llama_sampler_apply(sampler.get(), &candidates);
  std::vector<std::string> allowed;
  for (const llama_token_data& one : data) {
    if (!std::isinf(one.logit)) allowed.emplace_back(llama_vocab_get_text(vocab, one.id));
  }
  EXPECT_THAT(allowed, ElementsAre("n", "y"));
}

TEST(Grammars, ThatCannotBeParsedAreRefused) {
  const Model model = load_model("llama");
  EXPECT_EQ(llama_sampler_init_grammar(llama_model_get_vocab(model.get()), "root ::= (", "root"),
            nullptr);
}

}  // namespace
}  // namespace windrow::facts
