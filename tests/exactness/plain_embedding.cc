#include "exactness/plain_embedding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace windrow::exactness {

std::vector<float> plain_embedding(const PlainModel& model, const std::vector<llama_token>& input,
                                   const PlainEmbeddingOptions& options) {
  llama_context_params params = llama_context_default_params();
  params.embeddings = true;
  params.pooling_type = options.pooling;
  params.n_ctx = params.n_batch = params.n_ubatch =
      static_cast<uint32_t>(std::max<size_t>(input.size(), 64));
  params.n_seq_max = 1;
  params.n_threads = params.n_threads_batch = 1;
  if (options.exact) {
    params.type_k = params.type_v = GGML_TYPE_F32;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  }
  llama_context* context = llama_init_from_model(model.get(), params);
  EXPECT_NE(context, nullptr);
  std::vector<llama_token> tokens = input;
  llama_batch batch = llama_batch_get_one(tokens.data(), static_cast<int32_t>(tokens.size()));
  std::vector<int8_t> outputs(tokens.size(), 1);
  batch.logits = outputs.data();
  const bool encodes = llama_get_memory(context) == nullptr;
  EXPECT_EQ(encodes ? llama_encode(context, batch) : llama_decode(context, batch), 0);
  const float* numbers = llama_get_embeddings_seq(context, 0);
  EXPECT_NE(numbers, nullptr);
  const bool rank = options.pooling == LLAMA_POOLING_TYPE_RANK;
  const auto width =
      static_cast<size_t>(rank ? static_cast<int32_t>(llama_model_n_cls_out(model.get()))
                               : llama_model_n_embd(model.get()));
  std::vector<float> vector(numbers, numbers + width);
  llama_free(context);
  return vector;
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double x = static_cast<double>(a[i]);
    const double y = static_cast<double>(b[i]);
    ab += x * y;
    aa += x * x;
    bb += y * y;
  }
  return ab / std::sqrt(aa * bb);
}

}  // namespace windrow::exactness
