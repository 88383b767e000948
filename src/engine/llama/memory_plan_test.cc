#include "engine/llama/memory_plan.h"

#include <gtest/gtest.h>

namespace windrow::engine {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Of the shape of a model of half a billion parameters: 28 layers, 8 heads for keys and values of
// 128 numbers.
ModelFacts facts() {
  ModelFacts facts;
  facts.layers = 28;
  facts.embedding_length = 1024;
  facts.heads = 16;
  facts.context_trained = 40960;
  facts.vocabulary_size = 151936;
  facts.cell_bytes_f16 = uint64_t{28} * 8 * 256 * 2;
  return facts;
}

TEST(ContextSize, ACellIsAsLargeAsItsNumbers) {
  EXPECT_DOUBLE_EQ(cell_bytes(facts(), KvType::kF16), 112 * 1024);
  EXPECT_DOUBLE_EQ(cell_bytes(facts(), KvType::kF32), 224 * 1024);
  EXPECT_DOUBLE_EQ(cell_bytes(facts(), KvType::kQ8_0), 112 * 1024 * 34.0 / 64);
}

TEST(ContextSize, CellsAreAsManyAsWereAskedForOrSuitModelRowsAndMemory) {
  EXPECT_EQ(cells_of(facts(), {.cells_max = 1000}, kMiB), 1000);
  EXPECT_EQ(cells_of(facts(), {.rows_max = 32}, 100'000 * kMiB), 40960) << "the model";
  EXPECT_EQ(cells_of(facts(), {.rows_max = 64}, 100'000 * kMiB), 65536) << "the rows";
  // 0.4 of 4 GiB at 112 KiB a cell.
  EXPECT_EQ(cells_of(facts(), {.rows_max = 32}, 4096 * kMiB), 15104);
  EXPECT_EQ(cells_of(facts(), {.rows_max = 32}, kMiB), 256) << "the least";
}

TEST(ContextSize, AContextTakesItsCellsAndALittleMore) {
  const LlamaRunnerOptions options{.rows_max = 32};
  const uint64_t small = context_bytes(facts(), options, 4096);
  const uint64_t large = context_bytes(facts(), options, 8192);
  const uint64_t cells = uint64_t{4096} * 112 * 1024;
  EXPECT_GE(large - small, cells);
  EXPECT_LE(large - small, cells + 16 * kMiB);
  EXPECT_GE(small, cells);
  EXPECT_LE(small, cells + 256 * kMiB);
}

TEST(ContextSize, PassesToEmbedFitTheMemory) {
  const LlamaEmbeddingOptions options;
  const EmbeddingSizes plenty = embedding_sizes(facts(), Pooling::kMean, options, 400'000 * kMiB);
  EXPECT_EQ(plenty.batch_tokens, 8192);
  EXPECT_EQ(plenty.input_tokens, 8192);
  const EmbeddingSizes little = embedding_sizes(facts(), Pooling::kMean, options, 1024 * kMiB);
  EXPECT_LT(little.batch_tokens, 8192);
  EXPECT_LE(embedding_context_bytes(facts(), options, little.batch_tokens, little.input_tokens),
            256 * kMiB);
}

TEST(ContextSize, NobodyGetsMoreThanIsFree) {
  EXPECT_EQ(usable_bytes(100, 0), 100U);
  EXPECT_EQ(usable_bytes(100, 40), 40U);
  EXPECT_EQ(usable_bytes(100, 400), 100U);
}

}  // namespace
}  // namespace windrow::engine
