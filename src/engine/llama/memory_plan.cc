#include "engine/llama/memory_plan.h"

#include <ggml.h>

#include <algorithm>

#include "engine/embed/batch_budget.h"
#include "engine/llama/llama_context_setup.h"

namespace windrow::engine {
namespace {

// Without --ctx: room for so many tokens a row, in at most this share of the memory that is free.
constexpr int32_t kRowTokensExpected = 1024;

// The same of a split cache, where it is also the most that a row can have.
constexpr int32_t kSplitRowTokensExpected = 2048;
constexpr double kFreeMemoryShare = 0.4;

// Memory for the logits of scored prompts, besides those of the rows that answer.
constexpr int64_t kScoringBytesMax = int64_t{128} << 20;

// The most cells of a context whose size was not asked for.
constexpr int32_t kCellsDefaultMax = 131072;

// A pass to embed that is longer costs gigabytes of memory (llama_embedding_runner.h has figures)
// and rarely gains anything.
constexpr int32_t kBatchTokensMax = 8192;
constexpr int32_t kBatchTokensMin = 512;

// Beyond one pass, of last pooling: what the cache of the longest input may hold by default.
constexpr int32_t kChunkedTokensMax = 32768;

// Of the memory that is free: what a context to embed may take without being asked for.
constexpr double kEmbeddingMemoryShare = 0.25;

// libllama dies while it makes a context whose passes its sequences do not divide.
constexpr int32_t kEmbeddingInputsMax = 256;

// Tokens of one graph run, and numbers that a layer has in hand for each of them, in widths of the
// model.
constexpr int32_t kRunTokens = 512;
constexpr double kWidthsInHand = 16;

int32_t round_up(int64_t value, int32_t granularity) {
  return static_cast<int32_t>((value + granularity - 1) / granularity * granularity);
}

}  // namespace

double cell_bytes(const ModelFacts& facts, KvType type) {
  const ggml_type format = ggml_type_of(type);
  const double of_number =
      static_cast<double>(ggml_type_size(format)) / static_cast<double>(ggml_blck_size(format));
  return std::max(1.0, static_cast<double>(facts.cell_bytes_f16) / 2 * of_number);
}

int32_t cells_of(const ModelFacts& facts, const LlamaRunnerOptions& options, uint64_t free_bytes) {
  if (options.cells_max != 0) return options.cells_max;
  const double cells_by_memory =
      static_cast<double>(free_bytes) * kFreeMemoryShare / cell_bytes(facts, options.kv_type);
  const int64_t rows = options.rows_max;
  const int64_t cells_wanted =
      options.kv_cache == KvCache::kSplit
          ? rows * std::min(facts.context_trained, kSplitRowTokensExpected)
          : std::max<int64_t>(facts.context_trained, rows * kRowTokensExpected);
  const int64_t cells = std::min({cells_wanted, int64_t{kCellsDefaultMax},
                                  static_cast<int64_t>(std::min(cells_by_memory, 1e9))});
  return round_up(std::max<int64_t>(cells, kCellsGranularity), kCellsGranularity);
}

int32_t step_outputs_max(const ModelFacts& facts, const LlamaRunnerOptions& options) {
  const int64_t output_bytes =
      int64_t{std::max(facts.vocabulary_size, 1)} * static_cast<int64_t>(sizeof(float));
  return static_cast<int32_t>(std::min(options.rows_max + kScoringBytesMax / output_bytes,
                                       int64_t{options.step_tokens_max}));
}

uint64_t context_bytes(const ModelFacts& facts, const LlamaRunnerOptions& options, int32_t cells) {
  const double kv = cell_bytes(facts, options.kv_type) * cells;
  const auto outputs = static_cast<double>(step_outputs_max(facts, options));
  const double logits = outputs * facts.vocabulary_size * sizeof(float);
  const double run_tokens = std::min(options.step_tokens_max, kRunTokens);
  const double in_hand = run_tokens * sizeof(float) *
                         (kWidthsInHand * facts.embedding_length + static_cast<double>(cells));
  return static_cast<uint64_t>(kv + logits + in_hand);
}

double pass_bytes(const ModelFacts& facts, int64_t tokens) {
  const auto count = static_cast<double>(tokens);
  const double cell_bytes = facts.encoder_only ? 0 : static_cast<double>(facts.cell_bytes_f16);
  return count * count * (4.0 * std::max(facts.heads, 1) + 4) +
         count * (64.0 * facts.embedding_length + cell_bytes);
}

uint64_t embedding_context_bytes(const ModelFacts& facts, const LlamaEmbeddingOptions& options,
                                 int32_t batch_tokens, int32_t cells) {
  const int32_t more = facts.encoder_only ? 0 : std::max(cells - batch_tokens, 0);
  return static_cast<uint64_t>(pass_bytes(facts, batch_tokens) +
                               cell_bytes(facts, options.kv_type) * more);
}

EmbeddingSizes embedding_sizes(const ModelFacts& facts, Pooling pooling,
                               const LlamaEmbeddingOptions& options, uint64_t free_bytes) {
  const double memory_bytes = kEmbeddingMemoryShare * static_cast<double>(free_bytes);
  const int32_t trained = std::max(facts.context_trained, 1);
  const bool can_chunk = pooling == Pooling::kLast && !facts.encoder_only;

  int32_t wanted = options.input_tokens_max != 0 ? options.input_tokens_max : trained;
  wanted = std::min(wanted, trained);
  EmbeddingSizes sizes{.batch_tokens = BudgetSearch::kTokensMax};
  if (!can_chunk) {
    const int32_t most = options.input_tokens_max != 0 ? wanted : kBatchTokensMax;
    sizes.batch_tokens = std::max(sizes.batch_tokens, std::min(wanted, most));
  }
  const int32_t least =
      std::max(kBatchTokensMin, options.input_tokens_max != 0 && !can_chunk ? wanted : 0);
  while (sizes.batch_tokens / 2 >= least && pass_bytes(facts, sizes.batch_tokens) > memory_bytes)
    sizes.batch_tokens /= 2;
  sizes.batch_tokens = round_up(sizes.batch_tokens, kEmbeddingInputsMax);
  if (!can_chunk) {
    sizes.input_tokens = std::min(wanted, sizes.batch_tokens);
    return sizes;
  }
  const double cell_bytes = std::max<double>(static_cast<double>(facts.cell_bytes_f16), 1);
  const auto cells = static_cast<int64_t>(std::min(memory_bytes / cell_bytes, 1e9));
  const int64_t most =
      options.input_tokens_max != 0
          ? wanted
          : std::max<int64_t>(std::min<int64_t>(cells, kChunkedTokensMax), sizes.batch_tokens);
  sizes.input_tokens = static_cast<int32_t>(std::min<int64_t>(wanted, most));
  return sizes;
}

}  // namespace windrow::engine
