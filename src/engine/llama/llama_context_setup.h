// Making a context of libllama: our settings in its types, and the first pass.
#pragma once

#include <llama.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "engine/llama/llama_model.h"

struct llama_context;

namespace windrow::engine {

inline ggml_type ggml_type_of(KvType type) {
  switch (type) {
    case KvType::kF32:
      return GGML_TYPE_F32;
    case KvType::kF16:
      return GGML_TYPE_F16;
    case KvType::kBf16:
      return GGML_TYPE_BF16;
    case KvType::kQ8_0:
      return GGML_TYPE_Q8_0;
    case KvType::kQ5_1:
      return GGML_TYPE_Q5_1;
    case KvType::kQ5_0:
      return GGML_TYPE_Q5_0;
    case KvType::kQ4_1:
      return GGML_TYPE_Q4_1;
    case KvType::kQ4_0:
      return GGML_TYPE_Q4_0;
  }
  return GGML_TYPE_F16;
}

inline llama_flash_attn_type flash_attention_of(FlashAttention flash) {
  switch (flash) {
    case FlashAttention::kAuto:
      return LLAMA_FLASH_ATTN_TYPE_AUTO;
    case FlashAttention::kOn:
      return LLAMA_FLASH_ATTN_TYPE_ENABLED;
    case FlashAttention::kOff:
      return LLAMA_FLASH_ATTN_TYPE_DISABLED;
  }
  return LLAMA_FLASH_ATTN_TYPE_AUTO;
}

// Runs one token through a new context, on this thread alone, and empties the context's memory
// again: some values of a model's header are checked only in a pass, by assertions that end the
// process, and others make every result NaN; here both are errors of this model alone. Takes as
// long as one thread needs to read the weights. `threads`: the context's setting, which is
// restored. kInvalid: libllama cannot compute the pass, or its result is NaN; then the context may
// only be freed, and some hundred bytes of libggml are never freed. On the thread that made the
// context.
Result<void> trial_step(llama_context& context, int32_t threads, const std::string& path);

}  // namespace windrow::engine
