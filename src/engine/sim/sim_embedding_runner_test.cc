#include "engine/sim/sim_runner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>

#include "base/testing/manual_clock.h"
#include "engine/sim/testing/clock_pause.h"

namespace windrow::engine::sim {
namespace {

class SimEmbedding : public ::testing::Test {
 protected:
  std::vector<std::vector<float>> vectors_of(SimEmbeddingRunner& runner,
                                             const std::vector<std::string>& texts) const {
    std::vector<std::vector<Token>> tokens;
    tokens.reserve(texts.size());
    for (const std::string& text : texts)
      tokens.push_back(vocabulary_.tokenize_input(text, ControlTokens::kAsText));
    const std::vector<std::span<const Token>> inputs(tokens.begin(), tokens.end());
    EXPECT_TRUE(runner.run(inputs).has_value());
    std::vector<std::vector<float>> vectors;
    vectors.reserve(texts.size());
    for (size_t i = 0; i < texts.size(); ++i)
      vectors.emplace_back(runner.embedding(i).begin(), runner.embedding(i).end());
    return vectors;
  }

  static double cosine(const std::vector<float>& a, const std::vector<float>& b) {
    const auto dot = [](const auto& x, const auto& y) {
      return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
    };
    return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
  }

  std::unique_ptr<Pause> pause() { return std::make_unique<testing::ClockPause>(clock_); }

  windrow::testing::ManualClock clock_;
  SimVocabulary vocabulary_{kVocabularyMin};
};

TEST_F(SimEmbedding, TextsThatShareWordsAreNearer) {
  SimEmbeddingRunner runner(vocabulary_, {}, Pooling::kMean, clock_, pause());
  const auto vectors = vectors_of(
      runner, {" the small house", " the small house", " the large house", " people ask why"});
  EXPECT_EQ(vectors[0], vectors[1]);
  EXPECT_EQ(vectors[0].size(), 384U);
  EXPECT_GT(cosine(vectors[0], vectors[2]), 0.5);
  EXPECT_LT(std::abs(cosine(vectors[0], vectors[3])), 0.3);
}

TEST_F(SimEmbedding, APassTakesItsTime) {
  SimEmbeddingRunner runner(vocabulary_, {}, Pooling::kMean, clock_, pause());
  const TimePoint before = clock_.now();
  vectors_of(runner, {" the small house", " the"});
  EXPECT_EQ(clock_.now() - before, std::chrono::microseconds(3000 + 4 * 10));
}

TEST_F(SimEmbedding, ARerankerScoresWhatIsNearHigher) {
  SimEmbeddingRunner runner(vocabulary_, {}, Pooling::kRank, clock_, pause());
  EXPECT_EQ(width(runner.limits()), 1);
  const auto pair = [&](std::string_view query, std::string_view document) {
    std::vector<Token> tokens = vocabulary_.tokenize_input(query, ControlTokens::kAsText);
    tokens.push_back(SimVocabulary::kSeparator);
    for (const Token token : vocabulary_.tokenize_input(document, ControlTokens::kAsText))
      tokens.push_back(token);
    const std::span<const Token> input = tokens;
    EXPECT_TRUE(runner.run(std::span(&input, 1)).has_value());
    return runner.embedding(0).front();
  };
  EXPECT_GT(pair(" the small house", " a small house"), pair(" the small house", " ask people"));
  EXPECT_TRUE(std::isfinite(pair("", "")));
}

}  // namespace
}  // namespace windrow::engine::sim
