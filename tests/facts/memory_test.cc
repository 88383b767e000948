// Taking sequences away.
#include <gtest/gtest.h>

#include "facts/plain_llama.h"

namespace windrow::facts {
namespace {

class Memory : public ::testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    model_ = load_model(GetParam());
    context_ = make_context(model_, exact_params(512, 4));
    Batch batch;
    for (int row = 0; row < 3; ++row) {
      batch.add_run(some_tokens(30 + row, static_cast<uint64_t>(row)), 0, row);
    }
    ASSERT_EQ(decode(context_, batch), 0);
  }

  llama_pos end_of(llama_seq_id sequence) {
    return llama_memory_seq_pos_max(memory_of(context_), sequence) + 1;
  }

  void expect_usable(llama_seq_id sequence) {
    const auto text = some_tokens(40, 9);
    Batch batch;
    ASSERT_EQ(decode(context_, batch.add_run(text, 0, sequence)), 0);
    EXPECT_LT(largest_difference(log_probabilities(logits_of(context_)), alone(model_, text)),
              1e-5);
  }

  Model model_;
  Context context_;
};

TEST_P(Memory, AWholeSequenceCanAlwaysBeRemoved) {
  EXPECT_TRUE(llama_memory_seq_rm(memory_of(context_), 1, -1, -1));
  EXPECT_EQ(end_of(0), 30);
  EXPECT_EQ(end_of(1), 0);
  EXPECT_EQ(end_of(2), 32);
  EXPECT_EQ(llama_memory_seq_pos_min(memory_of(context_), 1), -1);
  expect_usable(1);
}

TEST_P(Memory, RemovingFromPositionZeroRemovesTheWholeSequence) {
  EXPECT_TRUE(llama_memory_seq_rm(memory_of(context_), 1, 0, -1));
  EXPECT_EQ(end_of(1), 0);
  expect_usable(1);
}

TEST_P(Memory, AnEmptySequenceCanBeRemoved) {
  EXPECT_TRUE(llama_memory_seq_rm(memory_of(context_), 3, -1, -1));
  expect_usable(3);
}

// By id -1: an attention cache removes all sequences, a hybrid one returns false and removes none.
TEST_P(Memory, AllSequencesCanBeRemovedAtOnceUnlessThereIsRecurrentState) {
  const bool is_hybrid = llama_model_is_hybrid(model_.get());
  EXPECT_EQ(llama_memory_seq_rm(memory_of(context_), -1, -1, -1), !is_hybrid);
  for (const llama_seq_id sequence : {0, 1, 2}) {
    EXPECT_EQ(end_of(sequence), is_hybrid ? 30 + sequence : 0);
  }
}

TEST_P(Memory, KeepingOneRemovesTheOthers) {
  llama_memory_seq_keep(memory_of(context_), 1);
  EXPECT_EQ(end_of(0), 0);
  EXPECT_EQ(end_of(1), 31);
  EXPECT_EQ(end_of(2), 0);
  expect_usable(2);
}

// With `data` the buffers are zeroed too, which costs time and changes no result.
TEST_P(Memory, ClearingForgetsEverySequenceWithOrWithoutItsData) {
  for (const bool data : {false, true}) {
    llama_memory_clear(memory_of(context_), data);
    for (const llama_seq_id sequence : {0, 1, 2})
      EXPECT_EQ(end_of(sequence), 0);
    expect_usable(0);
  }
}

TEST_P(Memory, ACopyToAnEmptySequenceContinuesLikeTheOriginal) {
  llama_memory_seq_cp(memory_of(context_), 0, 3, -1, -1);
  EXPECT_EQ(end_of(3), 30);
  Batch batch;
  ASSERT_EQ(decode(context_, batch.add(300, 30, 3, true)), 0);
  const auto copied = log_probabilities(logits_of(context_));
  auto text = some_tokens(30, 0);
  text.push_back(300);
  EXPECT_LT(largest_difference(copied, alone(model_, text)), 1e-5);
  // The original did not move.
  Batch original;
  ASSERT_EQ(decode(context_, original.add(301, 30, 0, true)), 0);
  text.back() = 301;
  EXPECT_LT(largest_difference(log_probabilities(logits_of(context_)), alone(model_, text)), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Facts, Memory, ::testing::ValuesIn(kGenerating),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace windrow::facts
