// Batches that llama_decode refuses with a code, and the state it leaves behind then.
#include <gtest/gtest.h>

#include <atomic>

#include "facts/plain_llama.h"

namespace windrow::facts {
namespace {

// A sequence 0 of ten tokens exists; after a refusal it must be as before and usable.
class Refusals : public ::testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    model_ = load_model(GetParam());
    context_ = make_context(model_, exact_params(256, 3));
    Batch batch;
    ASSERT_EQ(decode(context_, batch.add_run(text_, 0, 0)), 0);
  }

  void expect_code(int32_t code, Batch& batch) {
    EXPECT_EQ(decode(context_, batch), code);
    for (const llama_seq_id sequence : {0, 1, 2}) {
      EXPECT_EQ(llama_memory_seq_pos_max(memory_of(context_), sequence), sequence == 0 ? 9 : -1);
    }
    Batch next;
    ASSERT_EQ(decode(context_, next.add(300, 10, 0, true)), 0);
    auto text = text_;
    text.push_back(300);
    EXPECT_LT(largest_difference(log_probabilities(logits_of(context_)), alone(model_, text)),
              1e-5);
  }

  Model model_;
  Context context_;
  std::vector<llama_token> text_ = some_tokens(10, 5);
  Batch batch_;
};

TEST_P(Refusals, AnEmptyBatch) {
  expect_code(-1, batch_);
}

TEST_P(Refusals, ATokenOutsideTheVocabulary) {
  expect_code(-1, batch_.add(301, 0, 1, false).add(kVocab, 1, 1, true));
}

TEST_P(Refusals, ANegativeToken) {
  expect_code(-1, batch_.add(301, 0, 1, false).add(-1, 1, 1, true));
}

TEST_P(Refusals, APositionThatSkipsOne) {
  expect_code(-1, batch_.add(301, 11, 0, true));
}

TEST_P(Refusals, APositionThatIsTaken) {
  expect_code(-1, batch_.add(301, 9, 0, true));
}

TEST_P(Refusals, AGapInsideABatch) {
  expect_code(-1, batch_.add(301, 0, 1, false).add(301, 2, 1, true));
}

TEST_P(Refusals, PositionsThatDecrease) {
  expect_code(-1, batch_.add(301, 1, 1, false).add(301, 0, 1, true));
}

TEST_P(Refusals, ASequenceThatDoesNotExist) {
  expect_code(-1, batch_.add(301, 0, 1, false).add(301, 0, 3, true));
}

// Attention and SWA caches count cells; 256 of them hold the ten tokens and 246 more.
TEST_P(Refusals, ABatchThatDoesNotFit) {
  expect_code(1, batch_.add_run(some_tokens(247, 6), 0, 1));
}

TEST_P(Refusals, ABatchOfSeveralSequencesThatDoesNotFit) {
  expect_code(1, batch_.add_run(some_tokens(120, 6), 0, 1).add_run(some_tokens(127, 6), 0, 2));
}

// Not even the micro-batches that would fit are computed.
TEST_P(Refusals, ABatchWhoseLastMicroBatchDoesNotFit) {
  llama_context_params params = exact_params(256, 3);
  params.n_ubatch = 32;
  context_ = make_context(model_, params);
  Batch batch;
  ASSERT_EQ(decode(context_, batch.add_run(text_, 0, 0)), 0);
  expect_code(1, batch_.add_run(some_tokens(250, 6), 0, 1));
}

INSTANTIATE_TEST_SUITE_P(Facts, Refusals, ::testing::ValuesIn(kGenerating),
                         [](const auto& test) { return std::string(test.param); });

// Not refused: it is on us to check.
TEST(NotRefused, ASequenceThatBeginsAtALaterPosition) {
  const Model model = load_model("llama");
  const Context context = make_context(model, exact_params(256));
  Batch batch;
  EXPECT_EQ(decode(context, batch.add(300, 7, 0, true)), 0);
  EXPECT_EQ(llama_memory_seq_pos_min(memory_of(context), 0), 7);
}

TEST(NotRefused, APositionTwiceInOneBatch) {
  const Model model = load_model("llama");
  const Context context = make_context(model, exact_params(256));
  Batch batch;
  EXPECT_EQ(decode(context, batch.add(300, 0, 0, false).add(301, 0, 0, true)), 0);
}

TEST(NotRefused, ABatchThatWantsNoLogits) {
  const Model model = load_model("llama");
  const Context context = make_context(model, exact_params(256));
  Batch batch;
  EXPECT_EQ(decode(context, batch.add(300, 0, 0, false)), 0);
  EXPECT_EQ(llama_get_logits_ith(context.get(), 0), nullptr);
}

TEST(NotRefused, APositionBeyondTheContextTheModelWasTrainedFor) {
  const Model model = load_model("llama");
  const Context context = make_context(model, exact_params(256));
  Batch batch;
  EXPECT_EQ(decode(context, batch.add(300, 5000, 0, true)), 0);
}

struct Abort {
  static bool asked(void* self) { return ++static_cast<Abort*>(self)->asks > 0; }
  std::atomic<int> asks = 0;
};

TEST(AbortCallback, EndsADecodeWithCode2AndForgetsItsTokens) {
  const Model model = load_model("llama");
  const Context context = make_context(model, exact_params(256));
  const auto text = some_tokens(10, 5);
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(text, 0, 0)), 0);

  Abort abort;
  llama_set_abort_callback(context.get(), &Abort::asked, &abort);
  Batch more;
  EXPECT_EQ(decode(context, more.add(300, 10, 0, true)), 2);
  EXPECT_GT(abort.asks, 0);
  EXPECT_EQ(llama_memory_seq_pos_max(memory_of(context), 0), 9);

  llama_set_abort_callback(context.get(), nullptr, nullptr);
  ASSERT_EQ(decode(context, more), 0);
  auto longer = text;
  longer.push_back(300);
  EXPECT_LT(largest_difference(log_probabilities(logits_of(context)), alone(model, longer)), 1e-5);
}

struct AbortLater {
  static bool asked(void* self) { return static_cast<AbortLater*>(self)->runs.load() >= 2; }
  static bool on_tensor(ggml_tensor* tensor, bool ask, void* self) {
    if (ask && std::string_view(tensor->name) == "result_norm") {
      ++static_cast<AbortLater*>(self)->runs;
    }
    return false;
  }
  std::atomic<int> runs = 0;
};

TEST(AbortCallback, KeepsTheMicroBatchesThatWereDone) {
  const Model model = load_model("llama");
  AbortLater abort;
  llama_context_params params = exact_params(256);
  params.n_ubatch = 32;
  params.cb_eval = &AbortLater::on_tensor;
  params.cb_eval_user_data = &abort;
  const Context context = make_context(model, params);
  abort.runs = 0;
  llama_set_abort_callback(context.get(), &AbortLater::asked, &abort);
  Batch batch;
  EXPECT_EQ(decode(context, batch.add_run(some_tokens(96, 1), 0, 0)), 2);
  EXPECT_EQ(llama_memory_seq_pos_max(memory_of(context), 0), 31);
}

}  // namespace
}  // namespace windrow::facts
