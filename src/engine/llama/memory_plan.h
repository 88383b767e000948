// How large contexts become, and what memory they take, by what a model says of itself. Pure.
#pragma once

#include <cstdint>

#include "engine/llama/llama_model.h"

namespace windrow::engine {

// libllama makes the cells of a context a multiple of this.
constexpr int32_t kCellsGranularity = 256;

constexpr int32_t whole_cells(int32_t cells) {
  return (cells + kCellsGranularity - 1) / kCellsGranularity * kCellsGranularity;
}

// The memory that contexts may take: what is free, at most `memory_bytes`; 0: no other limit.
constexpr uint64_t usable_bytes(uint64_t free_bytes, uint64_t memory_bytes) {
  return memory_bytes == 0 || free_bytes < memory_bytes ? free_bytes : memory_bytes;
}

// Bytes of one cell of the KV cache in a number format; an upper bound for hybrids.
double cell_bytes(const ModelFacts& facts, KvType type);

// The cells of a context for generation: as many as the options ask for, otherwise what suits the
// model within a part of the free memory.
int32_t cells_of(const ModelFacts& facts, const LlamaRunnerOptions& options, uint64_t free_bytes);

// Rows of logits in one step: of the rows that answer, and some for prompts that are scored.
int32_t step_outputs_max(const ModelFacts& facts, const LlamaRunnerOptions& options);

// About what such a context takes: its cells, its logits, and the working memory of a pass.
uint64_t context_bytes(const ModelFacts& facts, const LlamaRunnerOptions& options, int32_t cells);

// The same for a context to embed whose passes have so many tokens. `cells`: of its longest input.
uint64_t embedding_context_bytes(const ModelFacts& facts, const LlamaEmbeddingOptions& options,
                                 int32_t batch_tokens, int32_t cells);

// What a pass to embed so many tokens needs besides the weights: attention scores of each pair of
// tokens without flash attention, the working memory of a layer, and the cells of a model that has
// some.
double pass_bytes(const ModelFacts& facts, int64_t tokens);

// Sizes of a context to embed.
struct EmbeddingSizes {
  int32_t batch_tokens = 0;
  int32_t input_tokens = 0;
};

EmbeddingSizes embedding_sizes(const ModelFacts& facts, Pooling pooling,
                               const LlamaEmbeddingOptions& options, uint64_t free_bytes);

}  // namespace windrow::engine
