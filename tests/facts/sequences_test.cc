// How many sequences there are, and how they share one cache.
#include <gtest/gtest.h>

#include "facts/plain_llama.h"

namespace windrow::facts {
namespace {

TEST(SequenceIds, AreAtMost256) {
  EXPECT_EQ(llama_max_parallel_sequences(), 256U);
  const Model model = load_model("llama");
  EXPECT_EQ(make_context(model, exact_params(512, 257)), nullptr);
  EXPECT_NE(make_context(model, exact_params(512, 256)), nullptr);
}

TEST(SequenceIds, All256CanRunInOneStep) {
  const Model model = load_model("llama");
  llama_context_params params = exact_params(1024, 256);
  const Context context = make_context(model, params);
  Batch batch;
  for (int sequence = 0; sequence < 256; ++sequence)
    batch.add(300, 0, sequence, true);
  ASSERT_EQ(decode(context, batch), 0);
  EXPECT_EQ(greedy(logits_of(context, 0)), greedy(logits_of(context, 255)));
}

class SequenceIdsOf : public ::testing::TestWithParam<std::string_view> {};

TEST_P(SequenceIdsOf, AtOrAboveTheMaximumAreRefused) {
  const Model model = load_model(GetParam());
  const Context context = make_context(model, exact_params(512, 4));
  for (const llama_seq_id sequence : {4, 200, 255, 256, 100000, -1}) {
    Batch batch;
    EXPECT_EQ(decode(context, batch.add(300, 0, 3, true).add(300, 0, sequence, true)), -1)
        << sequence;
    EXPECT_EQ(llama_memory_seq_pos_max(memory_of(context), 3), -1) << sequence;
  }
  Batch batch;
  EXPECT_EQ(decode(context, batch.add(300, 0, 3, true)), 0);
}

INSTANTIATE_TEST_SUITE_P(Facts, SequenceIdsOf, ::testing::ValuesIn(kGenerating),
                         [](const auto& test) { return std::string(test.param); });

// Calls on the memory are not checked like batches: an attention cache takes any id below 256.
TEST(SequenceIds, AtOrAboveTheMaximumAreTakenByMemoryCallsOfAttentionModels) {
  const Model model = load_model("llama");
  const Context context = make_context(model, exact_params(256, 2));
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(some_tokens(5, 1), 0, 0)), 0);
  llama_memory_seq_cp(memory_of(context), 0, 200, -1, -1);
  EXPECT_EQ(llama_memory_seq_pos_max(memory_of(context), 200), 4);
  EXPECT_TRUE(llama_memory_seq_rm(memory_of(context), 200, -1, -1));
  EXPECT_EQ(llama_memory_seq_pos_max(memory_of(context), 200), -1);
}

TEST(SequenceIds, AtOrAboveTheMaximumAreRefusedByMemoryCallsOfHybridModels) {
  const Model model = load_model("hybrid");
  const Context context = make_context(model, exact_params(256, 2));
  EXPECT_TRUE(llama_memory_seq_rm(memory_of(context), 1, -1, -1));
  EXPECT_FALSE(llama_memory_seq_rm(memory_of(context), 2, -1, -1));
}

TEST(HybridCache, AChunkBesideDecodeRowsTakesAGraphRunOfItsOwn) {
  const Model model = load_model("hybrid");
  GraphRuns runs;
  llama_context_params params = exact_params(2048, 9);
  runs.watch(params);
  const Context context = make_context(model, params);
  runs.take();
  Batch prompts;
  for (int row = 0; row < 8; ++row)
    prompts.add_run(some_tokens(20, 1), 0, row);
  ASSERT_EQ(decode(context, prompts), 0);
  EXPECT_EQ(runs.take(), 1);
  Batch mixed;
  for (int row = 0; row < 8; ++row)
    mixed.add(301, 20, row, true);
  mixed.add_run(some_tokens(100, 2), 0, 8);
  ASSERT_EQ(decode(context, mixed), 0);
  EXPECT_EQ(runs.take(), 2);
}

TEST(UnifiedCache, ChunksAndDecodeRowsGoInOneGraphRun) {
  const Model model = load_model("llama");
  GraphRuns runs;
  llama_context_params params = exact_params(2048, 9);
  runs.watch(params);
  const Context context = make_context(model, params);
  runs.take();

  Batch prompts;
  for (int row = 0; row < 8; ++row)
    prompts.add_run(some_tokens(20, 1), 0, row);
  ASSERT_EQ(decode(context, prompts), 0);
  EXPECT_EQ(runs.take(), 1);

  Batch mixed;
  for (int row = 0; row < 8; ++row)
    mixed.add(301, 20, row, true);
  mixed.add_run(some_tokens(100, 2), 0, 8);
  ASSERT_EQ(decode(context, mixed), 0);
  EXPECT_EQ(runs.take(), 1);
}

TEST(UnifiedCache, PromptsOfDifferentLengthGoInOneGraphRun) {
  const Model model = load_model("llama");
  GraphRuns runs;
  llama_context_params params = exact_params(2048, 3);
  runs.watch(params);
  const Context context = make_context(model, params);
  runs.take();
  Batch prompts;
  prompts.add_run(some_tokens(37, 1), 0, 0);
  prompts.add_run(some_tokens(80, 2), 0, 1);
  prompts.add_run(some_tokens(120, 3), 0, 2);
  ASSERT_EQ(decode(context, prompts), 0);
  EXPECT_EQ(runs.take(), 1);
}

TEST(UnifiedCache, ABatchLargerThanAMicroBatchTakesOneGraphRunForEach) {
  const Model model = load_model("llama");
  GraphRuns runs;
  llama_context_params params = exact_params(1024);
  params.n_ubatch = 64;
  runs.watch(params);
  const Context context = make_context(model, params);
  runs.take();
  Batch prompt;
  ASSERT_EQ(decode(context, prompt.add_run(some_tokens(130, 1), 0, 0)), 0);
  EXPECT_EQ(runs.take(), 3);
}

TEST(HybridCache, PromptsOfDifferentLengthTakeSeveralGraphRuns) {
  const Model model = load_model("hybrid");
  GraphRuns runs;
  llama_context_params params = exact_params(2048, 3);
  runs.watch(params);
  const Context context = make_context(model, params);
  runs.take();
  Batch prompts;
  prompts.add_run(some_tokens(37, 1), 0, 0);
  prompts.add_run(some_tokens(80, 2), 0, 1);
  prompts.add_run(some_tokens(120, 3), 0, 2);
  ASSERT_EQ(decode(context, prompts), 0);
  EXPECT_EQ(runs.take(), 3);

  Batch rows;
  for (int row = 0; row < 3; ++row)
    rows.add(301, row == 0 ? 37 : row == 1 ? 80 : 120, row, true);
  ASSERT_EQ(decode(context, rows), 0);
  EXPECT_EQ(runs.take(), 1);
}

TEST(UnifiedCache, ASharedPrefixTakesNoCells) {
  const Model model = load_model("llama");
  const Context context = make_context(model, exact_params(256, 10));
  const auto prefix = some_tokens(200, 1);
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(prefix, 0, 0)), 0);
  for (int row = 1; row < 10; ++row) {
    llama_memory_seq_cp(memory_of(context), 0, row, -1, -1);
    EXPECT_EQ(llama_memory_seq_pos_max(memory_of(context), row), 199);
  }
  // 56 cells are left: 9 rows of 6 tokens and 2 more fit, another does not.
  Batch rows;
  for (int row = 1; row < 10; ++row)
    rows.add_run(some_tokens(6, 2), 200, row);
  rows.add_run(some_tokens(2, 3), 200, 0);
  ASSERT_EQ(decode(context, rows), 0);
  Batch more;
  EXPECT_EQ(decode(context, more.add(300, 202, 0, true)), 1);
}

TEST(UnifiedCache, APartOfASequenceCanBeShared) {
  const Model model = load_model("llama");
  const Context context = make_context(model, exact_params(512, 2));
  auto text = some_tokens(60, 1);
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(text, 0, 0)), 0);
  llama_memory_seq_cp(memory_of(context), 0, 1, 0, 25);
  EXPECT_EQ(llama_memory_seq_pos_min(memory_of(context), 1), 0);
  EXPECT_EQ(llama_memory_seq_pos_max(memory_of(context), 1), 24);

  const auto rest = some_tokens(10, 2);
  Batch more;
  ASSERT_EQ(decode(context, more.add_run(rest, 25, 1)), 0);
  const auto shared = log_probabilities(logits_of(context));
  text.resize(25);
  text.insert(text.end(), rest.begin(), rest.end());
  EXPECT_LT(largest_difference(shared, alone(model, text)), 1e-5);
}

TEST(UnifiedCache, RemovingTheOwnerOfASharedPrefixLeavesItToTheOthers) {
  const Model model = load_model("llama");
  const Context context = make_context(model, exact_params(256, 2));
  auto text = some_tokens(200, 1);
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(text, 0, 0)), 0);
  llama_memory_seq_cp(memory_of(context), 0, 1, -1, -1);
  ASSERT_TRUE(llama_memory_seq_rm(memory_of(context), 0, -1, -1));
  Batch more;
  ASSERT_EQ(decode(context, more.add(300, 200, 1, true)), 0);
  const auto shared = log_probabilities(logits_of(context));
  text.push_back(300);
  EXPECT_LT(largest_difference(shared, alone(model, text)), 1e-5);
}

// Its cells are then no neighbours: nothing has to be moved together.
TEST(UnifiedCache, FreedCellsAreUsedAgainWhereverTheyLie) {
  const Model model = load_model("llama");
  const Context context = make_context(model, exact_params(256, 17));
  Batch fill;
  for (int row = 0; row < 16; ++row) {
    fill.add_run(some_tokens(16, static_cast<uint64_t>(row)), 0, row);
  }
  ASSERT_EQ(decode(context, fill), 0);
  Batch one;
  ASSERT_EQ(decode(context, one.add(300, 0, 16, true)), 1);
  for (int row = 0; row < 16; row += 2) {
    ASSERT_TRUE(llama_memory_seq_rm(memory_of(context), row, -1, -1));
  }
  const auto text = some_tokens(128, 99);
  Batch long_row;
  ASSERT_EQ(decode(context, long_row.add_run(text, 0, 16)), 0);
  EXPECT_LT(largest_difference(log_probabilities(logits_of(context)), alone(model, text)), 1e-5);
}

// A row in a high cell makes every step read all cells below it, empty or not. Nothing moves them;
// but a saved state is read into the lowest cells, with every sequence a cell belongs to.
TEST(UnifiedCache, ASavedStateIsReadIntoTheLowestCells) {
  const Model model = load_model("llama");
  GraphRuns runs;
  llama_context_params params = exact_params(4096, 4);
  runs.watch(params);
  const Context context = make_context(model, params);
  Batch low;
  ASSERT_EQ(decode(context, low.add_run(some_tokens(1000, 1), 0, 0)), 0);
  auto text = some_tokens(40, 2);
  Batch high;
  ASSERT_EQ(decode(context, high.add_run(text, 0, 1)), 0);
  llama_memory_seq_cp(memory_of(context), 1, 2, -1, 30);
  ASSERT_TRUE(llama_memory_seq_rm(memory_of(context), 0, -1, -1));
  Batch before;
  ASSERT_EQ(decode(context, before.add(300, 40, 1, true)), 0);
  EXPECT_EQ(runs.cells_read(), 1280) << "the lowest were free, but others are above";

  std::vector<uint8_t> state(llama_state_get_size(context.get()));
  const size_t written = llama_state_get_data(context.get(), state.data(), state.size());
  ASSERT_GT(written, 0U);
  ASSERT_EQ(llama_state_set_data(context.get(), state.data(), written), written);
  Batch after;
  ASSERT_EQ(decode(context, after.add(301, 41, 1, true)), 0);
  EXPECT_EQ(runs.cells_read(), 256);
  const auto moved = log_probabilities(logits_of(context));
  Batch shared;
  ASSERT_EQ(decode(context, shared.add(302, 30, 2, true)), 0);
  const auto moved_and_shared = log_probabilities(logits_of(context));
  std::vector<llama_token> fork(text.begin(), text.begin() + 30);
  fork.push_back(302);
  EXPECT_LT(largest_difference(moved_and_shared, alone(model, fork)), 1e-5);
  text.push_back(300);
  text.push_back(301);
  EXPECT_LT(largest_difference(moved, alone(model, text)), 1e-5);
}

TEST(UnifiedCache, TheLowestFreeCellsAreTakenFirst) {
  const Model model = load_model("llama");
  GraphRuns runs;
  llama_context_params params = exact_params(4096, 9);
  runs.watch(params);
  const Context context = make_context(model, params);
  for (int row = 0; row < 8; ++row) {
    Batch batch;
    ASSERT_EQ(decode(context, batch.add_run(some_tokens(256, 1), 0, row)), 0);
  }
  ASSERT_EQ(runs.cells_read(), 2048);
  // 1,024 free cells in four places below; then 1,024 are filled and none above is touched.
  for (const int row : {1, 3, 4, 6})
    ASSERT_TRUE(llama_memory_seq_rm(memory_of(context), row, -1, -1));
  Batch fill;
  ASSERT_EQ(decode(context, fill.add_run(some_tokens(1024, 2), 0, 8)), 0);
  EXPECT_EQ(runs.cells_read(), 2048);
  Batch more;
  ASSERT_EQ(decode(context, more.add(300, 1024, 8, true)), 0);
  EXPECT_EQ(runs.cells_read(), 2304);
}

TEST(SplitCache, AChunkBesideDecodeRowsTakesAGraphRunOfItsOwn) {
  const Model model = load_model("llama");
  GraphRuns runs;
  llama_context_params params = exact_params(4608, 9);
  params.kv_unified = false;
  runs.watch(params);
  const Context context = make_context(model, params);
  runs.take();
  Batch prompts;
  for (int row = 0; row < 8; ++row)
    prompts.add_run(some_tokens(20, 1), 0, row);
  ASSERT_EQ(decode(context, prompts), 0);
  EXPECT_EQ(runs.take(), 1);
  Batch mixed;
  for (int row = 0; row < 8; ++row)
    mixed.add(301, 20, row, true);
  mixed.add_run(some_tokens(100, 2), 0, 8);
  ASSERT_EQ(decode(context, mixed), 0);
  EXPECT_EQ(runs.take(), 2);
}

TEST(SplitCache, AWholeSequenceCanBeCopied) {
  const Model model = load_model("llama");
  llama_context_params params = exact_params(1024, 2);
  params.kv_unified = false;
  const Context context = make_context(model, params);
  auto text = some_tokens(40, 1);
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(text, 0, 0)), 0);
  llama_memory_seq_cp(memory_of(context), 0, 1, -1, -1);
  Batch more;
  ASSERT_EQ(decode(context, more.add(300, 40, 1, true)), 0);
  const auto copied = log_probabilities(logits_of(context));
  text.push_back(300);
  EXPECT_LT(largest_difference(copied, alone(model, text)), 1e-5);
}

TEST(SplitCache, ATokenOfSeveralSequencesIsRefused) {
  const Model model = load_model("llama");
  llama_context_params params = exact_params(1024, 2);
  params.kv_unified = false;
  const Context context = make_context(model, params);
  Batch batch;
  EXPECT_EQ(decode(context, batch.add(300, 0, {0, 1}, true)), 1);
  EXPECT_EQ(llama_memory_seq_pos_max(memory_of(context), 0), -1);
}

TEST(UnifiedCache, ATokenOfSeveralSequencesIsTaken) {
  const Model model = load_model("llama");
  const Context context = make_context(model, exact_params(256, 2));
  Batch batch;
  EXPECT_EQ(decode(context, batch.add(300, 0, {0, 1}, true)), 0);
  EXPECT_EQ(llama_memory_seq_pos_max(memory_of(context), 1), 0);
}

}  // namespace
}  // namespace windrow::facts
