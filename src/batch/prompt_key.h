// PromptKey: hashes of the prefixes of a prompt, in an eighth of its bytes, so that the common
// prefix of two prompts can be measured without their texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "llm/request.h"

namespace windrow::batch {

// The granularity in which common prefixes are measured; a shorter one would save nothing.
inline constexpr size_t kPromptBlockBytes = 32;

// The first number stands for endpoint and model, each further one for the prompt up to the end of
// one more block. So two keys agree as far as the prompts do, in whole blocks. (Two different
// prompts agree by chance in one of 2^32 cases; then rows run side by side without a benefit.)
struct PromptKey {
  std::vector<uint32_t> blocks;  // empty where prefixes cannot be shared, as for embeddings
  size_t prompt_bytes = 0;       // approximate; four bytes are about a token

  size_t bytes() const { return blocks.size() * sizeof(uint32_t); }
};

// The length of the common beginning of two keys.
size_t shared_blocks(const PromptKey& one, const PromptKey& other);

// Pure. The prompt of a chat is assumed to begin with its tools and template arguments, as in most
// templates, followed by its messages.
PromptKey prompt_key(const llm::Request& request);

}  // namespace windrow::batch
