#include "exactness/plain_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace windrow::exactness {

namespace {

// The AMX kernels compute models with recurrent state wrongly (facts/README.md).
llama_model* load(const std::string& path) {
  llama_model_params params = llama_model_default_params();
  llama_model* model = llama_model_load_from_file(path.c_str(), params);
#if WINDROW_HAVE_USE_EXTRA_BUFTS
  if (model == nullptr || !llama_model_is_hybrid(model)) return model;
  llama_model_free(model);
  params.use_extra_bufts = false;
  model = llama_model_load_from_file(path.c_str(), params);
#endif
  return model;
}

}  // namespace

PlainModel::PlainModel(const std::string& path) : model_(load(path)) {
  EXPECT_NE(model_, nullptr) << path;
}

PlainModel::~PlainModel() {
  llama_model_free(model_);
}

PlainRow PlainModel::run(const std::vector<llama_token>& prompt, int output_tokens,
                         const PlainOptions& options,
                         const std::vector<llama_token>* forced) const {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 1024;
  params.n_batch = 1024;
  params.n_seq_max = 1;
  params.n_threads = params.n_threads_batch = 1;
  if (options.exact) {
    params.type_k = params.type_v = GGML_TYPE_F32;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  }
  llama_context* context = llama_init_from_model(model_, params);
  EXPECT_NE(context, nullptr);
  const auto vocabulary_size = static_cast<size_t>(llama_vocab_n_tokens(vocabulary()));
  PlainRow row;
  std::vector<llama_token> next = prompt;
  for (int i = 0; i < output_tokens; ++i) {
    EXPECT_EQ(
        llama_decode(context, llama_batch_get_one(next.data(), static_cast<int32_t>(next.size()))),
        0);
    const float* raw = llama_get_logits_ith(context, -1);
    std::vector<float> logits(raw, raw + vocabulary_size);
    const auto token =
        static_cast<llama_token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    row.tokens.push_back(token);
    row.logprobs.push_back(logprob_of(logits, token));
    row.logits.push_back(std::move(logits));
    next = {forced != nullptr ? forced->at(static_cast<size_t>(i)) : token};
  }
  llama_free(context);
  return row;
}

double logprob_of(const std::vector<float>& logits, llama_token token) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits)
    sum += std::exp(static_cast<double>(logit) - most);
  return static_cast<double>(logits[static_cast<size_t>(token)]) - most - std::log(sum);
}

std::string test_model(const std::string& family, const std::string& type) {
  return std::string(WINDROW_TEST_MODELS_DIR) + "/" + family + "-" + type + ".gguf";
}

}  // namespace windrow::exactness
