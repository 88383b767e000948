// Embeddings.
#include <gtest/gtest.h>

#include <cmath>

#include "facts/plain_llama.h"

namespace windrow::facts {
namespace {

constexpr int kWidth = 64;

llama_context_params embedding_params(uint32_t tokens, uint32_t sequences) {
  llama_context_params params = exact_params(tokens, sequences);
  params.embeddings = true;
  params.n_batch = params.n_ubatch = tokens;
  return params;
}

std::vector<float> embedding_of(const Context& context, llama_seq_id sequence) {
  const float* values = llama_get_embeddings_seq(context.get(), sequence);
  EXPECT_NE(values, nullptr);
  if (values == nullptr) return std::vector<float>(kWidth);
  return {values, values + kWidth};
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    aa += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    bb += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return ab / std::sqrt(aa * bb);
}

class Encoder : public ::testing::Test {
 protected:
  std::vector<float> embed_alone(const std::vector<llama_token>& text) {
    const Context context = make_context(model_, embedding_params(512, 1));
    Batch batch;
    EXPECT_EQ(llama_encode(context.get(), batch.add_run(text, 0, 0).view()), 0);
    return embedding_of(context, 0);
  }
  Model model_ = load_model("bert");
};

TEST_F(Encoder, PoolsAsItsFileSays) {
  const Context context = make_context(model_, embedding_params(512, 1));
  EXPECT_EQ(llama_pooling_type(context.get()), LLAMA_POOLING_TYPE_MEAN);
}

TEST_F(Encoder, GivesATextOfABatchTheEmbeddingItHasAlone) {
  const Context context = make_context(model_, embedding_params(512, 8));
  Batch batch;
  for (int row = 0; row < 8; ++row) {
    batch.add_run(some_tokens(5 + 7 * row, static_cast<uint64_t>(row)), 0, row);
  }
  ASSERT_EQ(llama_encode(context.get(), batch.view()), 0);
  for (int row = 0; row < 8; ++row) {
    const auto text = some_tokens(5 + 7 * row, static_cast<uint64_t>(row));
    EXPECT_GT(cosine(embedding_of(context, row), embed_alone(text)), 0.999999) << row;
  }
}

TEST_F(Encoder, IsRunByDecodeToo) {
  const Context context = make_context(model_, embedding_params(512, 1));
  const auto text = some_tokens(20, 1);
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(text, 0, 0)), 0);
  EXPECT_EQ(embedding_of(context, 0), embed_alone(text));
}

TEST_F(Encoder, RefusesATokenOutsideTheVocabularyAndASequenceThatDoesNotExist) {
  const Context context = make_context(model_, embedding_params(512, 2));
  Batch token;
  EXPECT_EQ(llama_encode(context.get(), token.add(kVocab, 0, 0, true).view()), -1);
  Batch sequence;
  EXPECT_EQ(llama_encode(context.get(), sequence.add(7, 0, 2, true).view()), -1);
  Batch empty;
  EXPECT_EQ(llama_encode(context.get(), empty.view()), -1);
}

TEST(Embeddings, APoolingContextOfAGeneratingModelYieldsNoLogits) {
  const Model model = load_model("llama");
  llama_context_params params = embedding_params(256, 1);
  params.pooling_type = LLAMA_POOLING_TYPE_MEAN;
  const Context context = make_context(model, params);
  Batch batch;
  for (int position = 0; position < 5; ++position)
    batch.add(300, position, 0, true);
  ASSERT_EQ(decode(context, batch), 0);
  EXPECT_NE(llama_get_embeddings_seq(context.get(), 0), nullptr);
  EXPECT_EQ(llama_get_logits_ith(context.get(), 4), nullptr);
}

TEST(Embeddings, AContextWithoutPoolingYieldsBoth) {
  const Model model = load_model("llama");
  llama_context_params params = embedding_params(256, 1);
  params.pooling_type = LLAMA_POOLING_TYPE_NONE;
  const Context context = make_context(model, params);
  Batch batch;
  for (int position = 0; position < 5; ++position)
    batch.add(300, position, 0, true);
  ASSERT_EQ(decode(context, batch), 0);
  EXPECT_NE(llama_get_embeddings_ith(context.get(), 4), nullptr);
  EXPECT_NE(llama_get_logits_ith(context.get(), 4), nullptr);
  EXPECT_EQ(llama_get_embeddings_seq(context.get(), 0), nullptr);
}

// Only LAST pooling may be cut into micro-batches.
TEST(Embeddings, AMeanOverSeveralMicroBatchesIsSilentlyWrong) {
  const Model model = load_model("llama");
  const auto embed = [&](enum llama_pooling_type pooling, uint32_t micro_batch) {
    llama_context_params params = embedding_params(1024, 1);
    params.pooling_type = pooling;
    params.n_ubatch = micro_batch;
    const Context context = make_context(model, params);
    Batch batch;
    for (const llama_token token : some_tokens(600, 1))
      batch.add(token, batch.size(), 0, true);
    EXPECT_EQ(decode(context, batch), 0);
    return embedding_of(context, 0);
  };
  EXPECT_LT(cosine(embed(LLAMA_POOLING_TYPE_MEAN, 1024), embed(LLAMA_POOLING_TYPE_MEAN, 256)),
            0.99);
  EXPECT_GT(cosine(embed(LLAMA_POOLING_TYPE_LAST, 1024), embed(LLAMA_POOLING_TYPE_LAST, 256)),
            0.999999);
}

}  // namespace
}  // namespace windrow::facts
