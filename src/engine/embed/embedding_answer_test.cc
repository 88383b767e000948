#include "engine/embed/embedding_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace windrow::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

TEST(Normalise, ScalesToLengthOne) {
  std::vector<float> vector = {3, -4};
  normalise(vector, 2);
  EXPECT_THAT(vector, ElementsAre(FloatEq(0.6F), FloatEq(-0.8F)));
}

TEST(Normalise, CutsFirstAndScalesThen) {
  std::vector<float> vector = {3, 4, 100};
  normalise(vector, 2);
  EXPECT_THAT(vector, ElementsAre(FloatEq(0.6F), FloatEq(0.8F)));
}

TEST(Normalise, ZerosStayZeros) {
  std::vector<float> vector = {0, 0, 7};
  normalise(vector, 2);
  EXPECT_THAT(vector, ElementsAre(0.0F, 0.0F));
}

TEST(Normalise, NumbersWhoseSquaresNoFloatHoldsAreScaledToo) {
  std::vector<float> large = {3e30F, 4e30F};
  normalise(large, 2);
  EXPECT_THAT(large, ElementsAre(FloatEq(0.6F), FloatEq(0.8F)));
  std::vector<float> small = {3e-30F, 4e-30F};
  normalise(small, 2);
  EXPECT_THAT(small, ElementsAre(FloatEq(0.6F), FloatEq(0.8F)));
}

llm::Request rerank(int documents) {
  llm::Request request{.endpoint = llm::Endpoint::kRerank, .query = "q"};
  for (int i = 0; i < documents; ++i)
    request.inputs.push_back({.text = std::string(1, static_cast<char>('a' + i))});
  return request;
}

std::vector<int32_t> indices(const std::vector<llm::RankedDocument>& ranking) {
  std::vector<int32_t> found;
  for (const llm::RankedDocument& document : ranking)
    found.push_back(document.index);
  return found;
}

TEST(Rank, BestFirstAndOfEqualsTheFirst) {
  const auto ranking = rank(rerank(4), {{0.5F, 9}, {2, 9}, {0.5F, 9}, {-1, 9}});
  EXPECT_THAT(indices(ranking), ElementsAre(1, 0, 2, 3));
  EXPECT_EQ(ranking[0].score, 2);
  EXPECT_FALSE(ranking[0].text.has_value()) << "nobody asked for documents";
}

TEST(Rank, KeepsAsManyAsWereAskedForWithTheirTexts) {
  llm::Request request = rerank(3);
  request.results_max = 2;
  request.return_documents = true;
  const auto ranking = rank(request, {{1}, {3}, {2}});
  EXPECT_THAT(indices(ranking), ElementsAre(1, 2));
  EXPECT_EQ(ranking[0].text, "b");
  EXPECT_EQ(ranking[1].text, "c");
  request.results_max = 10;
  EXPECT_EQ(rank(request, {{1}, {3}, {2}}).size(), 3U);
}

TEST(Rank, KnowsLogitsFromProbabilities) {
  const auto logits = rank(rerank(2), {{3}, {0.5F}});
  EXPECT_FALSE(logits[0].is_probability);
  EXPECT_NEAR(llm::relevance_of(logits[0]), 0.952574, 1e-5);
  EXPECT_NEAR(llm::relevance_of(logits[1]), 0.622459, 1e-5);
  const auto classes = rank(rerank(2), {{0.25F, 0.75F}, {0.9F, 0.1F}});
  EXPECT_TRUE(classes[0].is_probability);
  EXPECT_EQ(llm::relevance_of(classes[0]), 0.9F);
  EXPECT_EQ(llm::relevance_of(classes[1]), 0.25F);
  EXPECT_FALSE(rank(rerank(1), {{0.5F, 9}})[0].is_probability);
}

TEST(EmbeddingAnswer, HoldsVectorsUsageAndTheFormatAskedFor) {
  const llm::Request request{.endpoint = llm::Endpoint::kEmbeddings,
                             .inputs = {{.text = "a"}, {.text = "b"}},
                             .dimensions = 1,
                             .base64 = true};
  const llm::Answer answer =
      embedding_answer(request, {.vectors = {{-2, 3}, {5, 1}}, .timings = {.queue_ms = 4}}, 17);
  EXPECT_THAT(answer.embeddings, ElementsAre(ElementsAre(-1.0F), ElementsAre(1.0F)));
  EXPECT_TRUE(answer.base64);
  EXPECT_EQ(answer.usage.prompt_tokens, 17);
  EXPECT_EQ(answer.usage.completion_tokens, 0);
  EXPECT_EQ(answer.timings.queue_ms, 4);
}

}  // namespace
}  // namespace windrow::engine
