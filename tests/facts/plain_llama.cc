#include "facts/plain_llama.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.h"

namespace windrow::facts {

namespace {

void load_backends() {
  static const bool loaded = [] {
    if (*WINDROW_GGML_BACKENDS_DIR != '\0') {
      ggml_backend_load_all_from_path(WINDROW_GGML_BACKENDS_DIR);
    } else {
      ggml_backend_load_all();
    }
    llama_backend_init();
    return true;
  }();
  (void)loaded;
}

}  // namespace

std::string model_path(std::string_view family, std::string_view type) {
  return std::string(WINDROW_TEST_MODELS_DIR) + "/" + std::string(family) + "-" +
         std::string(type) + ".gguf";
}

Model load_model(std::string_view family, std::string_view type) {
  Model model = load_file(model_path(family, type));
  EXPECT_NE(model, nullptr) << model_path(family, type);
  return model;
}

Model load_file(const std::string& path) {
  load_backends();
  llama_model_params params = llama_model_default_params();
  Model model(llama_model_load_from_file(path.c_str(), params));
#if WINDROW_HAVE_USE_EXTRA_BUFTS
  // With AMX kernels such a model is no statement about anything else (README.md).
  if (model != nullptr && llama_model_is_hybrid(model.get())) {
    params.use_extra_bufts = false;
    model.reset(llama_model_load_from_file(path.c_str(), params));
  }
#endif
  return model;
}

llama_context_params exact_params(uint32_t context_tokens, uint32_t sequences) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = context_tokens;
  params.n_seq_max = sequences;
  params.kv_unified = true;
  params.n_threads = params.n_threads_batch = 1;
  params.type_k = params.type_v = GGML_TYPE_F32;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  return params;
}

Context make_context(const Model& model, const llama_context_params& params) {
  return Context(llama_init_from_model(model.get(), params));
}

Batch& Batch::add(llama_token token, llama_pos position, llama_seq_id sequence, bool wants_logits) {
  return add(token, position, std::vector{sequence}, wants_logits);
}

Batch& Batch::add(llama_token token, llama_pos position, std::vector<llama_seq_id> sequences,
                  bool wants_logits) {
  tokens_.push_back(token);
  positions_.push_back(position);
  sequences_.push_back(std::move(sequences));
  wants_logits_.push_back(wants_logits ? 1 : 0);
  return *this;
}

Batch& Batch::add_run(const std::vector<llama_token>& tokens, llama_pos first,
                      llama_seq_id sequence) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    add(tokens[i], first + static_cast<llama_pos>(i), sequence, i + 1 == tokens.size());
  }
  return *this;
}

Batch& Batch::clear() {
  *this = Batch();
  return *this;
}

llama_batch Batch::view() {
  sequence_counts_.clear();
  sequence_pointers_.clear();
  for (std::vector<llama_seq_id>& sequences : sequences_) {
    sequence_counts_.push_back(static_cast<int32_t>(sequences.size()));
    sequence_pointers_.push_back(sequences.data());
  }
  return {.n_tokens = size(),
          .token = tokens_.data(),
          .embd = nullptr,
          .pos = positions_.data(),
          .n_seq_id = sequence_counts_.data(),
          .seq_id = sequence_pointers_.data(),
          .logits = wants_logits_.data()};
}

std::vector<llama_token> some_tokens(int count, uint64_t seed) {
  constexpr uint64_t kOrdinary = kVocab - 5;  // the last five are special
  Random random(seed);
  std::vector<llama_token> tokens(static_cast<size_t>(count));
  for (llama_token& token : tokens)
    token = static_cast<llama_token>(random.below(kOrdinary));
  return tokens;
}

int32_t decode(const Context& context, Batch& batch) {
  return llama_decode(context.get(), batch.view());
}

std::vector<float> logits_of(const Context& context, int32_t index) {
  const float* logits = llama_get_logits_ith(context.get(), index);
  EXPECT_NE(logits, nullptr);
  if (logits == nullptr) return std::vector<float>(kVocab);
  return {logits, logits + kVocab};
}

llama_token greedy(const std::vector<float>& logits) {
  return static_cast<llama_token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

std::vector<double> log_probabilities(const std::vector<float>& logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits)
    sum += std::exp(logit - top);
  const double all = top + std::log(sum);
  std::vector<double> result(logits.begin(), logits.end());
  for (double& value : result)
    value -= all;
  return result;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  const double visible = std::log(0.001);
  double largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] >= visible) largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

std::vector<double> alone(const Model& model, const std::vector<llama_token>& tokens,
                          uint32_t context_tokens) {
  const Context context = make_context(model, exact_params(context_tokens));
  Batch batch;
  EXPECT_EQ(decode(context, batch.add_run(tokens, 0, 0)), 0);
  return log_probabilities(logits_of(context));
}

llama_memory_t memory_of(const Context& context) {
  return llama_get_memory(context.get());
}

void GraphRuns::watch(llama_context_params& params) {
  params.cb_eval = &on_tensor;
  params.cb_eval_user_data = this;
}

bool GraphRuns::on_tensor(ggml_tensor* tensor, bool ask, void* self) {
  if (!ask) return true;
  auto* runs = static_cast<GraphRuns*>(self);
  if (std::strcmp(tensor->name, "result_norm") == 0) ++runs->runs_;
  if (std::strcmp(tensor->name, "kq-0") == 0) runs->cells_read_ = tensor->ne[0];
  return false;
}

}  // namespace windrow::facts
