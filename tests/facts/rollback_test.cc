// Going back in a sequence: what can be taken away again, by kind of model.
#include <gtest/gtest.h>

#include "facts/plain_llama.h"

namespace windrow::facts {
namespace {

constexpr int kWindow = 32;  // of the swa test model

// Decodes `before`, takes everything from `keep` on away and decodes `after` there.
std::vector<double> decode_again(const Context& context, const std::vector<llama_token>& before,
                                 llama_pos keep, const std::vector<llama_token>& after) {
  Batch batch;
  EXPECT_EQ(decode(context, batch.add_run(before, 0, 0)), 0);
  EXPECT_TRUE(llama_memory_seq_rm(memory_of(context), 0, keep, -1));
  EXPECT_EQ(llama_memory_seq_pos_max(memory_of(context), 0), keep - 1);
  Batch more;
  EXPECT_EQ(decode(context, more.add_run(after, keep, 0)), 0);
  return log_probabilities(logits_of(context));
}

std::vector<llama_token> joined(const std::vector<llama_token>& before, llama_pos keep,
                                const std::vector<llama_token>& after) {
  std::vector<llama_token> text(before.begin(), before.begin() + keep);
  text.insert(text.end(), after.begin(), after.end());
  return text;
}

class AttentionModels : public ::testing::TestWithParam<std::string_view> {};

TEST_P(AttentionModels, CanGoBackAnyWay) {
  const Model model = load_model(GetParam());
  const auto before = some_tokens(100, 1);
  const auto after = some_tokens(20, 2);
  for (const llama_pos keep : {1, 50, 99}) {
    const Context context = make_context(model, exact_params(256));
    EXPECT_LT(largest_difference(decode_again(context, before, keep, after),
                                 alone(model, joined(before, keep, after))),
              1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Facts, AttentionModels, ::testing::Values("llama", "qwen3", "moe"),
                         [](const auto& test) { return std::string(test.param); });

TEST(HybridModels, CannotGoBackAtAllAndLoseNothingByTrying) {
  const Model model = load_model("hybrid");
  const Context context = make_context(model, exact_params(256));
  auto text = some_tokens(50, 1);
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(text, 0, 0)), 0);
  for (const llama_pos keep : {1, 25, 49}) {
    EXPECT_FALSE(llama_memory_seq_rm(memory_of(context), 0, keep, -1)) << keep;
    EXPECT_EQ(llama_memory_seq_pos_max(memory_of(context), 0), 49);
  }
  Batch more;
  ASSERT_EQ(decode(context, more.add(300, 50, 0, true)), 0);
  const auto after = log_probabilities(logits_of(context));
  text.push_back(300);
  EXPECT_LT(largest_difference(after, alone(model, text)), 1e-5);
}

TEST(HybridModels, RemovingNothingBeyondTheEndSucceeds) {
  const Model model = load_model("hybrid");
  const Context context = make_context(model, exact_params(256));
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(some_tokens(50, 1), 0, 0)), 0);
  EXPECT_TRUE(llama_memory_seq_rm(memory_of(context), 0, 50, -1));
  EXPECT_EQ(llama_memory_seq_pos_max(memory_of(context), 0), 49);
}

// Snapshots of the state allow one step back of at most so many tokens, then none before the next
// decode.
TEST(HybridModels, CanGoBackOnceByTheSnapshotsTheyWereGiven) {
  const Model model = load_model("hybrid");
  llama_context_params params = exact_params(256);
  params.n_rs_seq = 4;
  for (const llama_pos keep : {45, 46, 49}) {
    const Context context = make_context(model, params);
    EXPECT_EQ(llama_n_rs_seq(context.get()), 4U);
    const auto before = some_tokens(50, 1);
    const auto after = some_tokens(10, 2);
    Batch batch;
    ASSERT_EQ(decode(context, batch.add_run(before, 0, 0)), 0);
    if (keep == 45) {
      EXPECT_FALSE(llama_memory_seq_rm(memory_of(context), 0, keep, -1));
      continue;
    }
    EXPECT_TRUE(llama_memory_seq_rm(memory_of(context), 0, keep, -1));
    EXPECT_FALSE(llama_memory_seq_rm(memory_of(context), 0, keep - 1, -1));
    Batch more;
    ASSERT_EQ(decode(context, more.add_run(after, keep, 0)), 0);
    EXPECT_LT(largest_difference(log_probabilities(logits_of(context)),
                                 alone(model, joined(before, keep, after))),
              1e-5);
  }
}

// pos_min is the last position: the state stands for exactly one place.
TEST(HybridModels, ShowThatOnlyTheirEndIsThere) {
  const Model model = load_model("hybrid");
  const Context context = make_context(model, exact_params(256));
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(some_tokens(50, 1), 0, 0)), 0);
  EXPECT_EQ(llama_memory_seq_pos_min(memory_of(context), 0), 49);
  EXPECT_EQ(llama_memory_seq_pos_max(memory_of(context), 0), 49);
}

// The state is copied whole whatever range is named, the attention cells are not: a sequence made
// so is silently wrong. Only the exact end can be shared.
TEST(HybridModels, ACopiedPartIsSilentlyWrong) {
  const Model model = load_model("hybrid");
  const Context context = make_context(model, exact_params(256, 2));
  const auto text = some_tokens(50, 1);
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(text, 0, 0)), 0);
  llama_memory_seq_cp(memory_of(context), 0, 1, 0, 25);
  Batch more;
  const auto after = some_tokens(10, 2);
  EXPECT_EQ(decode(context, more.add_run(after, 25, 1)), 0);
  EXPECT_GT(largest_difference(log_probabilities(logits_of(context)),
                               alone(model, joined(text, 25, after))),
            0.1);
}

// A sliding-window cache that is not full size keeps what the window of the next token needs, and
// some more until the cells are wanted.
class SwaModels : public ::testing::Test {
 protected:
  llama_context_params params(bool full) {
    llama_context_params result = exact_params(1024, 2);
    result.n_ubatch = 64;
    result.swa_full = full;
    return result;
  }
  Model model_ = load_model("swa");
  std::vector<llama_token> before_ = some_tokens(900, 1);
  std::vector<llama_token> after_ = some_tokens(20, 2);
};

TEST_F(SwaModels, WithAFullCacheCanGoBackAnyWay) {
  for (const llama_pos keep : {1, 450, 899}) {
    const Context context = make_context(model_, params(true));
    EXPECT_LT(largest_difference(decode_again(context, before_, keep, after_),
                                 alone(model_, joined(before_, keep, after_), 1024)),
              1e-5);
  }
}

TEST_F(SwaModels, WithAFullCacheShowEveryPosition) {
  const Context context = make_context(model_, params(true));
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(before_, 0, 0)), 0);
  EXPECT_EQ(llama_memory_seq_pos_min(memory_of(context), 0), 0);
}

TEST_F(SwaModels, HaveAFullCacheUnlessAskedOtherwise) {
  EXPECT_TRUE(llama_context_default_params().swa_full);
}

TEST_F(SwaModels, WithASmallCacheShowTheFirstPositionThatIsLeft) {
  const Context context = make_context(model_, params(false));
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(before_, 0, 0)), 0);
  const llama_pos first = llama_memory_seq_pos_min(memory_of(context), 0);
  EXPECT_GT(first, 0);
  EXPECT_LE(first, 900 - kWindow);
  EXPECT_EQ(llama_memory_seq_pos_max(memory_of(context), 0), 899);
}

// 1e-4: the cells lie in another order than in the run compared with.
TEST_F(SwaModels, WithASmallCacheCanGoBackWhileTheWindowIsThere) {
  const Context context = make_context(model_, params(false));
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(before_, 0, 0)), 0);
  const llama_pos keep = llama_memory_seq_pos_min(memory_of(context), 0) + kWindow;
  ASSERT_LT(keep, 900);
  EXPECT_TRUE(llama_memory_seq_rm(memory_of(context), 0, keep, -1));
  Batch more;
  ASSERT_EQ(decode(context, more.add_run(after_, keep, 0)), 0);
  EXPECT_LT(largest_difference(log_probabilities(logits_of(context)),
                               alone(model_, joined(before_, keep, after_), 1024)),
            1e-4);
}

// seq_rm says true all the same, and the sequence then claims to be empty although half its cells
// are there. Only pos_min, asked before, tells how far back is possible.
TEST_F(SwaModels, WithASmallCacheAreSilentlyWrongWhenTheyGoBackFurther) {
  const Context context = make_context(model_, params(false));
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(before_, 0, 0)), 0);
  EXPECT_TRUE(llama_memory_seq_rm(memory_of(context), 0, 500, -1));
  EXPECT_EQ(llama_memory_seq_pos_max(memory_of(context), 0), -1);
  Batch more;
  EXPECT_EQ(decode(context, more.add_run(after_, 500, 0)), 0);
  EXPECT_GT(largest_difference(log_probabilities(logits_of(context)),
                               alone(model_, joined(before_, 500, after_), 1024)),
            0.1);
}

// Cells outside the window are used again only while one sequence has them: a copy pins what it
// shares, and neither goes on when nothing else is left, however empty the main cache is.
TEST_F(SwaModels, WithASmallCacheMayHaveNoRoomToGoOnFromACopy) {
  const Context context = make_context(model_, params(false));
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(before_, 0, 0)), 0);
  llama_memory_seq_cp(memory_of(context), 0, 1, -1, -1);
  Batch more;
  EXPECT_EQ(decode(context, more.add_run(after_, 900, 1)), 1);
  ASSERT_TRUE(llama_memory_seq_rm(memory_of(context), 0, -1, -1));
  ASSERT_EQ(decode(context, more), 0);
  EXPECT_LT(largest_difference(log_probabilities(logits_of(context)),
                               alone(model_, joined(before_, 900, after_), 1024)),
            1e-4);
}

}  // namespace
}  // namespace windrow::facts
