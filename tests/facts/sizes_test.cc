// The sizes that a context has when others are asked for.
#include <gtest/gtest.h>

#include "facts/plain_llama.h"

namespace windrow::facts {
namespace {

class Sizes : public ::testing::Test {
 protected:
  Context make(uint32_t context_tokens, uint32_t sequences, bool unified) {
    llama_context_params params = exact_params(context_tokens, sequences);
    params.kv_unified = unified;
    return make_context(model_, params);
  }
  Model model_ = load_model("llama");
};

TEST_F(Sizes, AUnifiedContextIsRoundedUpToAMultipleOf256) {
  for (const auto& [asked, got] :
       {std::pair{3U, 256U}, {100U, 256U}, {256U, 256U}, {257U, 512U}, {1000U, 1024U}}) {
    const Context context = make(asked, 3, true);
    EXPECT_EQ(llama_n_ctx(context.get()), got) << asked;
    EXPECT_EQ(llama_n_ctx_seq(context.get()), got) << asked;
  }
}

TEST_F(Sizes, ASplitContextGivesEachSequenceAMultipleOf256) {
  const Context context = make(1000, 3, false);
  EXPECT_EQ(llama_n_ctx_seq(context.get()), 512U);
  EXPECT_EQ(llama_n_ctx(context.get()), 1536U);
}

TEST_F(Sizes, NoContextSizeMeansTheOneOfTheModel) {
  EXPECT_EQ(llama_n_ctx(make(0, 1, true).get()), 4096U);
}

TEST_F(Sizes, AContextMayBeLargerThanTheModelWasTrainedFor) {
  EXPECT_EQ(llama_n_ctx(make(8192, 1, true).get()), 8192U);
}

// A batch larger than n_batch kills the process (aborts_test.cc), so this matters.
TEST_F(Sizes, TheBatchIsAtMostTheContext) {
  llama_context_params params = exact_params(512);
  params.n_batch = 2048;
  params.n_ubatch = 1024;
  const Context context = make_context(model_, params);
  EXPECT_EQ(llama_n_batch(context.get()), 512U);
  EXPECT_EQ(llama_n_ubatch(context.get()), 512U);
}

TEST_F(Sizes, TheBatchIsCappedBeforeTheContextIsRounded) {
  llama_context_params params = exact_params(300);
  params.n_batch = 2048;
  const Context context = make_context(model_, params);
  EXPECT_EQ(llama_n_ctx(context.get()), 512U);
  EXPECT_EQ(llama_n_batch(context.get()), 300U);
}

TEST_F(Sizes, TheMicroBatchIsAtMostTheBatch) {
  llama_context_params params = exact_params(512);
  params.n_batch = 100;
  params.n_ubatch = 300;
  const Context context = make_context(model_, params);
  EXPECT_EQ(llama_n_batch(context.get()), 100U);
  EXPECT_EQ(llama_n_ubatch(context.get()), 100U);
}

TEST_F(Sizes, NoMicroBatchSizeMeansTheBatch) {
  llama_context_params params = exact_params(512);
  params.n_batch = 100;
  params.n_ubatch = 0;
  EXPECT_EQ(llama_n_ubatch(make_context(model_, params).get()), 100U);
}

TEST_F(Sizes, NoNumberOfSequencesMeansOne) {
  EXPECT_EQ(llama_n_seq_max(make(256, 0, true).get()), 1U);
}

TEST_F(Sizes, EveryCellOfTheContextCanBeUsed) {
  const Context context = make(256, 1, true);
  Batch batch;
  EXPECT_EQ(decode(context, batch.add_run(some_tokens(256, 1), 0, 0)), 0);
  EXPECT_EQ(llama_memory_seq_pos_max(memory_of(context), 0), 255);
}

}  // namespace
}  // namespace windrow::facts
