// Batching does not change results: with F32 weights, an F32 cache and no flash attention a row
// gives the same numbers, to 1e-5, however it is cut and whatever runs beside it. F16 weights come
// near: some CPU plug-ins round what they multiply with them to F16 as well, and a difference in
// the last bit then turns into one of 5e-4 where it crosses a rounding border.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "facts/plain_llama.h"

namespace windrow::facts {
namespace {

class Exactness : public ::testing::TestWithParam<std::tuple<std::string_view, std::string_view>> {
 protected:
  Model model_ = load_model(std::get<0>(GetParam()), std::get<1>(GetParam()));
  const double same_ = std::get<1>(GetParam()) == "f32" ? 1e-5 : 0.02;
};

TEST_P(Exactness, APromptInChunksIsThePromptInOne) {
  const auto text = some_tokens(150, 1);
  const auto whole = alone(model_, text);
  for (const int chunk : {1, 7, 64}) {
    const Context context = make_context(model_, exact_params(512));
    for (int done = 0; done < 150; done += chunk) {
      const auto end = std::min(done + chunk, 150);
      Batch batch;
      ASSERT_EQ(decode(context, batch.add_run({text.begin() + done, text.begin() + end}, done, 0)),
                0);
    }
    EXPECT_LT(largest_difference(log_probabilities(logits_of(context)), whole), same_) << chunk;
  }
}

TEST_P(Exactness, APromptInMicroBatchesIsThePromptInOne) {
  const auto text = some_tokens(150, 1);
  llama_context_params params = exact_params(512);
  params.n_ubatch = 16;
  const Context context = make_context(model_, params);
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(text, 0, 0)), 0);
  EXPECT_LT(largest_difference(log_probabilities(logits_of(context)), alone(model_, text)), same_);
}

// Greedy continuation of a prompt in a context of its own: tokens, and log probabilities each step.
struct Continuation {
  std::vector<llama_token> tokens;
  std::vector<std::vector<double>> log_probabilities;
};

Continuation continue_alone(const Model& model, const std::vector<llama_token>& prompt, int steps) {
  const Context context = make_context(model, exact_params(512));
  Continuation result;
  Batch batch;
  batch.add_run(prompt, 0, 0);
  for (int step = 0; step < steps; ++step) {
    EXPECT_EQ(decode(context, batch), 0);
    const auto logits = logits_of(context);
    result.tokens.push_back(greedy(logits));
    result.log_probabilities.push_back(log_probabilities(logits));
    batch.clear().add(result.tokens.back(), static_cast<llama_pos>(prompt.size()) + step, 0, true);
  }
  return result;
}

// How far the best is ahead of the second.
double gap(std::vector<double> log_probabilities) {
  std::nth_element(log_probabilities.begin(), log_probabilities.begin() + 1,
                   log_probabilities.end(), std::greater<>());
  return log_probabilities[0] - log_probabilities[1];
}

// Twelve rows; from the fourth step on, a newcomer is prefilled beside them in chunks.
TEST_P(Exactness, ARowOfABatchIsTheRowAlone) {
  constexpr int kRows = 12;
  constexpr int kSteps = 12;
  std::vector<std::vector<llama_token>> prompts;
  std::vector<Continuation> expected;
  for (int row = 0; row < kRows; ++row) {
    prompts.push_back(some_tokens(5 + (row * 13) % 50, static_cast<uint64_t>(row)));
    expected.push_back(continue_alone(model_, prompts.back(), kSteps));
  }
  const auto newcomer = some_tokens(90, 77);

  const Context context = make_context(model_, exact_params(2048, kRows + 1));
  Batch batch;
  std::vector<int32_t> index(kRows);
  for (int row = 0; row < kRows; ++row) {
    batch.add_run(prompts[static_cast<size_t>(row)], 0, row);
    index[static_cast<size_t>(row)] = batch.size() - 1;
  }
  for (int step = 0; step < kSteps; ++step) {
    ASSERT_EQ(decode(context, batch), 0);
    Batch next;
    for (int row = 0; row < kRows; ++row) {
      const auto r = static_cast<size_t>(row);
      const auto s = static_cast<size_t>(step);
      const auto logits = logits_of(context, index[r]);
      if (gap(expected[r].log_probabilities[s]) > 2 * same_) {
        EXPECT_EQ(greedy(logits), expected[r].tokens[s]);
      }
      EXPECT_LT(largest_difference(log_probabilities(logits), expected[r].log_probabilities[s]),
                same_);
      index[r] = next.size();
      next.add(expected[r].tokens[s], static_cast<llama_pos>(prompts[r].size()) + step, row, true);
    }
    if (step >= 4 && step < 7) {
      const int done = (step - 4) * 30;
      next.add_run({newcomer.begin() + done, newcomer.begin() + done + 30}, done, kRows);
    }
    batch = next;
    if (step == 7) {
      EXPECT_LT(
          largest_difference(log_probabilities(logits_of(context, -1)), alone(model_, newcomer)),
          same_);
    }
  }
}

TEST_P(Exactness, ARowOnASharedPrefixIsTheRowAlone) {
  const auto prefix = some_tokens(60, 1);
  const Context context = make_context(model_, exact_params(1024, 6));
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(prefix, 0, 0)), 0);
  Batch rows;
  std::vector<std::vector<llama_token>> texts;
  std::vector<int32_t> index;
  for (int row = 1; row < 6; ++row) {
    llama_memory_seq_cp(memory_of(context), 0, row, -1, -1);
    const auto rest = some_tokens(3 * row, static_cast<uint64_t>(row));
    rows.add_run(rest, 60, row);
    index.push_back(rows.size() - 1);
    texts.push_back(prefix);
    texts.back().insert(texts.back().end(), rest.begin(), rest.end());
  }
  ASSERT_EQ(decode(context, rows), 0);
  for (size_t row = 0; row < texts.size(); ++row) {
    EXPECT_LT(largest_difference(log_probabilities(logits_of(context, index[row])),
                                 alone(model_, texts[row])),
              same_);
  }
}

TEST_P(Exactness, TheNumberOfThreadsChangesNothing) {
  const auto text = some_tokens(100, 1);
  llama_context_params params = exact_params(512);
  params.n_threads = params.n_threads_batch = 2;
  const Context context = make_context(model_, params);
  Batch batch;
  ASSERT_EQ(decode(context, batch.add_run(text, 0, 0)), 0);
  EXPECT_LT(largest_difference(log_probabilities(logits_of(context)), alone(model_, text)), same_);
}

INSTANTIATE_TEST_SUITE_P(Facts, Exactness,
                         ::testing::Combine(::testing::ValuesIn(kGenerating),
                                            ::testing::Values("f32", "f16")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" +
                                  std::string(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace windrow::facts
