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

// Each input of a unified cache is pooled over its own tokens, when all of them are one graph run.
TEST(Embeddings, AGeneratingModelPoolsEachTextOfABatchAlone) {
  for (const std::string_view family : kGenerating) {
    SCOPED_TRACE(family);
    const Model model = load_model(family);
    for (const auto pooling :
         {LLAMA_POOLING_TYPE_MEAN, LLAMA_POOLING_TYPE_CLS, LLAMA_POOLING_TYPE_LAST}) {
      llama_context_params params = embedding_params(512, 8);
      params.pooling_type = pooling;
      const Context context = make_context(model, params);
      Batch batch;
      for (int row = 0; row < 8; ++row)
        batch.add_run(some_tokens(5 + 7 * row, static_cast<uint64_t>(row)), 0, row);
      ASSERT_EQ(decode(context, batch), 0);
      for (int row = 0; row < 8; ++row) {
        const Context own = make_context(model, params);
        Batch alone;
        alone.add_run(some_tokens(5 + 7 * row, static_cast<uint64_t>(row)), 0, 0);
        ASSERT_EQ(decode(own, alone), 0);
        EXPECT_GT(cosine(embedding_of(context, row), embedding_of(own, 0)), 0.99999) << row;
      }
    }
  }
}

// So that pooling sees every token, whatever the batch asked for.
TEST(Embeddings, EveryTokenOfABatchIsAnOutput) {
  const Model model = load_model("llama");
  llama_context_params params = embedding_params(256, 1);
  params.pooling_type = LLAMA_POOLING_TYPE_MEAN;
  const Context all = make_context(model, params);
  const Context last = make_context(model, params);
  Batch marked;
  for (const llama_token token : some_tokens(30, 1))
    marked.add(token, marked.size(), 0, true);
  Batch unmarked;
  ASSERT_EQ(decode(all, marked), 0);
  ASSERT_EQ(decode(last, unmarked.add_run(some_tokens(30, 1), 0, 0)), 0);
  EXPECT_EQ(embedding_of(all, 0), embedding_of(last, 0));
}

TEST(Embeddings, AModelWhoseFileSaysNothingIsNotPooled) {
  const Model model = load_model("llama");
  const Context context = make_context(model, embedding_params(256, 1));
  EXPECT_EQ(llama_pooling_type(context.get()), LLAMA_POOLING_TYPE_NONE);
  const Model last = load_model("qwen3_last");
  EXPECT_EQ(llama_pooling_type(make_context(last, embedding_params(256, 1)).get()),
            LLAMA_POOLING_TYPE_LAST);
}

TEST(Embeddings, ATextGoesOnFromBatchToBatchAndOnlyItsLastTokenCounts) {
  const Model model = load_model("qwen3_last");
  const auto text = some_tokens(100, 1);
  const Context whole = make_context(model, embedding_params(256, 1));
  Batch batch;
  ASSERT_EQ(decode(whole, batch.add_run(text, 0, 0)), 0);
  const Context cut = make_context(model, embedding_params(256, 1));
  Batch first;
  ASSERT_EQ(decode(cut, first.add_run({text.begin(), text.begin() + 60}, 0, 0)), 0);
  Batch second;
  ASSERT_EQ(decode(cut, second.add_run({text.begin() + 60, text.end()}, 60, 0)), 0);
  EXPECT_GT(cosine(embedding_of(whole, 0), embedding_of(cut, 0)), 0.999999);
}

// The text before it, still in the cache, counts until it is removed.
TEST(Embeddings, AClearedCacheForgetsTheTextBefore) {
  const Model model = load_model("qwen3_last");
  const Context context = make_context(model, embedding_params(256, 1));
  Batch first;
  ASSERT_EQ(decode(context, first.add_run(some_tokens(50, 1), 0, 0)), 0);
  llama_memory_clear(memory_of(context), false);
  Batch second;
  ASSERT_EQ(decode(context, second.add_run(some_tokens(20, 2), 0, 0)), 0);
  const Context fresh = make_context(model, embedding_params(256, 1));
  Batch alone;
  ASSERT_EQ(decode(fresh, alone.add_run(some_tokens(20, 2), 0, 0)), 0);
  EXPECT_EQ(embedding_of(context, 0), embedding_of(fresh, 0));
}

float score_of(const Context& context, llama_seq_id sequence, size_t index = 0) {
  const float* scores = llama_get_embeddings_seq(context.get(), sequence);
  EXPECT_NE(scores, nullptr);
  return scores == nullptr ? 0 : scores[index];
}

TEST(Ranking, AHeadGivesOneScoreForEachClassAndText) {
  const Model bert = load_model("bert_rank");
  EXPECT_EQ(llama_model_n_cls_out(bert.get()), 1U);
  const Context context = make_context(bert, embedding_params(512, 4));
  EXPECT_EQ(llama_pooling_type(context.get()), LLAMA_POOLING_TYPE_RANK);
  Batch batch;
  for (int row = 0; row < 4; ++row)
    batch.add_run(some_tokens(10 + row, static_cast<uint64_t>(row)), 0, row);
  ASSERT_EQ(llama_encode(context.get(), batch.view()), 0);
  for (int row = 0; row < 4; ++row) {
    const Context own = make_context(bert, embedding_params(512, 1));
    Batch alone;
    alone.add_run(some_tokens(10 + row, static_cast<uint64_t>(row)), 0, 0);
    ASSERT_EQ(llama_encode(own.get(), alone.view()), 0);
    EXPECT_NEAR(score_of(context, row), score_of(own, 0), 1e-5) << row;
  }
}

TEST(Ranking, AGeneratingRerankerGivesTheSoftmaxOfItsClasses) {
  const Model model = load_model("qwen3_rank");
  ASSERT_EQ(llama_model_n_cls_out(model.get()), 2U);
  EXPECT_STREQ(llama_model_cls_label(model.get(), 0), "yes");
  const Context context = make_context(model, embedding_params(256, 1));
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(some_tokens(20, 1), 0, 0)), 0);
  EXPECT_NEAR(score_of(context, 0, 0) + score_of(context, 0, 1), 1, 1e-5);
  EXPECT_NE(llama_model_chat_template(model.get(), "rerank"), nullptr);
  EXPECT_EQ(llama_model_chat_template(load_model("qwen3").get(), "rerank"), nullptr);
}

// Not refused; and the number of classes is 1 without a head too, so only the file tells.
TEST(Ranking, WithoutAHeadTheFirstNumberOfTheVectorIsSilentlyTheScore) {
  const Model model = load_model("bert");
  EXPECT_EQ(llama_model_n_cls_out(model.get()), 1U);
  const auto first_number = [&](enum llama_pooling_type pooling) {
    llama_context_params params = embedding_params(512, 1);
    params.pooling_type = pooling;
    const Context context = make_context(model, params);
    EXPECT_NE(context, nullptr);
    Batch batch;
    EXPECT_EQ(llama_encode(context.get(), batch.add_run(some_tokens(20, 1), 0, 0).view()), 0);
    return score_of(context, 0);
  };
  EXPECT_EQ(first_number(LLAMA_POOLING_TYPE_RANK), first_number(LLAMA_POOLING_TYPE_CLS));
}

}  // namespace
}  // namespace windrow::facts
