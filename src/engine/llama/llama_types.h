// Our settings of a context in libllama's types.
#pragma once

#include <llama.h>

#include "engine/llama/llama_model.h"

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

}  // namespace windrow::engine
