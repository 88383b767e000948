// Where logits are, how long, and how many there may be.
#include <gtest/gtest.h>

#include "facts/plain_llama.h"

namespace windrow::facts {
namespace {

class Outputs : public ::testing::TestWithParam<std::string_view> {
 protected:
  Model model_ = load_model(GetParam());
};

TEST_P(Outputs, AreFoundByTheIndexOfTheTokenInTheBatch) {
  const Context context = make_context(model_, exact_params(512, 3));
  const auto first = some_tokens(5, 1);
  const auto second = some_tokens(9, 2);
  const auto third = some_tokens(7, 3);
  Batch batch;
  batch.add_run(first, 0, 0).add_run(second, 0, 1).add_run(third, 0, 2);
  ASSERT_EQ(decode(context, batch), 0);
  EXPECT_LT(largest_difference(log_probabilities(logits_of(context, 4)), alone(model_, first)),
            1e-5);
  EXPECT_LT(largest_difference(log_probabilities(logits_of(context, 13)), alone(model_, second)),
            1e-5);
  EXPECT_LT(largest_difference(log_probabilities(logits_of(context, 20)), alone(model_, third)),
            1e-5);
  EXPECT_EQ(logits_of(context, -1), logits_of(context, 20));
  EXPECT_EQ(logits_of(context, -2), logits_of(context, 13));
  EXPECT_EQ(logits_of(context, -3), logits_of(context, 4));
}

TEST_P(Outputs, ThatWereNotAskedForAreNull) {
  const Context context = make_context(model_, exact_params(256));
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(some_tokens(5, 1), 0, 0)), 0);
  EXPECT_NE(llama_get_logits_ith(context.get(), 4), nullptr);
  EXPECT_EQ(llama_get_logits_ith(context.get(), 3), nullptr);
  EXPECT_EQ(llama_get_logits_ith(context.get(), 5), nullptr);
  EXPECT_EQ(llama_get_logits_ith(context.get(), -2), nullptr);
  EXPECT_EQ(llama_get_logits_ith(context.get(), 100000), nullptr);
}

TEST_P(Outputs, StayUntilTheNextDecodeWhateverHappensToTheMemory) {
  const Context context = make_context(model_, exact_params(256, 2));
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(some_tokens(5, 1), 0, 0)), 0);
  const float* logits = llama_get_logits_ith(context.get(), 4);
  const auto before = logits_of(context, 4);
  llama_memory_seq_cp(memory_of(context), 0, 1, -1, -1);
  llama_memory_seq_rm(memory_of(context), 0, -1, -1);
  llama_memory_clear(memory_of(context), true);
  EXPECT_EQ(std::vector<float>(logits, logits + kVocab), before);
}

TEST_P(Outputs, AreKeptWhenADecodeIsRefused) {
  const Context context = make_context(model_, exact_params(256));
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(some_tokens(5, 1), 0, 0)), 0);
  const auto before = logits_of(context, 4);
  Batch wrong;
  ASSERT_EQ(decode(context, wrong.add(300, 77, 0, true)), -1);
  EXPECT_EQ(logits_of(context, 4), before);
}

TEST_P(Outputs, MayBeAsManyAsReserved) {
  llama_context_params params = exact_params(256, 4);
  params.n_outputs_max = 4;
  const Context context = make_context(model_, params);
  Batch batch;
  for (int row = 0; row < 4; ++row)
    batch.add_run(some_tokens(20, 1), 0, row);
  ASSERT_EQ(decode(context, batch), 0);
  EXPECT_EQ(greedy(logits_of(context, 19)), greedy(logits_of(context, 79)));
}

TEST_P(Outputs, AreTheSameForTheSameCall) {
  std::vector<float> first;
  for (int round = 0; round < 3; ++round) {
    const Context context = make_context(model_, exact_params(256));
    Batch batch;
    ASSERT_EQ(decode(context, batch.add_run(some_tokens(50, 1), 0, 0)), 0);
    if (round == 0) first = logits_of(context);
    EXPECT_EQ(logits_of(context), first);
  }
}

INSTANTIATE_TEST_SUITE_P(Facts, Outputs, ::testing::ValuesIn(kGenerating),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace windrow::facts
