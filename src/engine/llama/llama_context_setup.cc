#include "engine/llama/llama_context_setup.h"

#include <fmt/format.h>
#include <llama.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "engine/llama/abort_guard.h"
#include "engine/llama/gguf_header.h"

namespace windrow::engine {
namespace {

// Whether what the pass computed for the one token is NaN: logits, or an embedding.
bool is_nan(llama_context& context) {
  const bool embeds = llama_pooling_type(&context) != LLAMA_POOLING_TYPE_NONE;
  if (embeds) {
    const float* embedding = llama_get_embeddings_seq(&context, 0);
    return embedding != nullptr && std::isnan(*embedding);
  }
  const float* logits = llama_get_logits_ith(&context, 0);
  if (logits == nullptr) return false;
  const llama_vocab* vocabulary = llama_model_get_vocab(llama_get_model(&context));
  const std::span<const float> all(logits, static_cast<size_t>(llama_vocab_n_tokens(vocabulary)));
  return std::ranges::any_of(all, [](float logit) { return std::isnan(logit); });
}

}  // namespace

Result<void> trial_step(llama_context& context, int32_t threads, const std::string& path) {
  const llama_memory_t memory = llama_get_memory(&context);
  llama_batch batch = llama_batch_init(1, 0, 1);
  batch.n_tokens = 1;
  batch.token[0] = 0;
  batch.pos[0] = 0;
  batch.n_seq_id[0] = 1;
  batch.seq_id[0][0] = 0;
  batch.logits[0] = 1;
  int32_t code = 0;
  // Through several threads an exception does not pass.
  llama_set_n_threads(&context, 1, 1);
  const std::optional<std::string> aborted = guard_against_abort(path, [&] {
    code = memory == nullptr ? llama_encode(&context, batch) : llama_decode(&context, batch);
    llama_synchronize(&context);
  });
  llama_batch_free(batch);
  if (aborted) return abort_error("compute with this model", *aborted);
  if (code != 0) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("libllama cannot compute with this model (code {} for a first token); "
                             "{}",
                             code, kNewFileAdvice)};
  }
  if (is_nan(context)) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format("the model computes NaN, not numbers, for a first token; {}", kNewFileAdvice)};
  }
  llama_set_n_threads(&context, threads, threads);
  if (memory != nullptr) llama_memory_clear(memory, /*data=*/false);
  return {};
}

}  // namespace windrow::engine
