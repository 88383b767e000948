// PromptKey: how the prompt of a request begins, in an eighth of its bytes, so that what two
// prompts share is seen without looking at either of them again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "llm/request.h"

namespace windrow::batch {

// The finest step in which a shared beginning is seen; a shorter one saves nothing.
inline constexpr size_t kPromptBlockBytes = 32;

// The first number stands for endpoint and model, each further one for the prompt up to the end of
// one more block. So two keys go together as far as the prompts do, in whole blocks. (Two different
// prompts go together by chance in one of 2^32 cases. Then rows stand side by side for nothing.)
struct PromptKey {
  std::vector<uint32_t> blocks;  // empty: there is nothing to share, as for embeddings
  size_t prompt_bytes = 0;       // about; four of them are about a token

  size_t bytes() const { return blocks.size() * sizeof(uint32_t); }
};

// With how many numbers both begin.
size_t shared_blocks(const PromptKey& one, const PromptKey& other);

// Pure. The prompt of a chat is taken to begin with its tools and the arguments of its template, as
// most templates have it, and goes on with its messages.
PromptKey prompt_key(const llm::Request& request);

}  // namespace windrow::batch
