#include "engine/embed/embedder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "base/testing/manual_clock.h"
#include "engine/testing/scripted_embedding_runner.h"

namespace windrow::engine {
namespace {

using testing::scripted_embedding;
using testing::ScriptedEmbeddingRunner;

constexpr EmbeddingLimits kLimits{.batch_tokens_max = 64,
                                  .inputs_max = 8,
                                  .input_tokens_max = 50,
                                  .dimensions = 6,
                                  .vocabulary_size = 1000};

std::vector<Token> tokens(Token first) {
  return {first, first + 1, first + 2};
}

std::unique_ptr<ScriptedEmbeddingRunner> runner() {
  return std::make_unique<ScriptedEmbeddingRunner>(kLimits);
}

class EmbedderTest : public ::testing::Test {
 protected:
  windrow::testing::ManualClock clock_;
};

TEST_F(EmbedderTest, AnswersWhatManyThreadsAskAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kWorks = 100;
  std::atomic<int> right = 0;
  {
    Embedder embedder(runner(), clock_, {.batch_tokens = 30});
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        std::vector<std::future<bool>> answers;
        for (int i = 0; i < kWorks; ++i) {
          const auto first = static_cast<Token>(thread * kWorks + i);
          auto promise = std::make_shared<std::promise<bool>>();
          answers.push_back(promise->get_future());
          embedder.submit({.inputs = {tokens(first), tokens(first + 7)},
                           .done = [promise, first](const EmbeddingOutcome& outcome) {
                             const auto* result = std::get_if<EmbeddingResult>(&outcome);
                             promise->set_value(
                                 result != nullptr &&
                                 result->vectors[0] == scripted_embedding(tokens(first), 6) &&
                                 result->vectors[1] == scripted_embedding(tokens(first + 7), 6));
                           }});
        }
        for (std::future<bool>& answer : answers)
          right += answer.get() ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(right, kThreads * kWorks);
}

TEST_F(EmbedderTest, CancelsFromAnotherThreadAndEndsEveryWorkExactlyOnce) {
  std::atomic<int> answered = 0;
  std::atomic<int> cancelled = 0;
  {
    Embedder embedder(runner(), clock_, {.batch_tokens = 30});
    std::stop_source withdrawn;
    std::stop_source unwanted;
    for (int i = 0; i < 300; ++i) {
      embedder.submit({.inputs = {tokens(i), tokens(i + 1), tokens(i + 2)},
                       .withdrawn = withdrawn.get_token(),
                       .unwanted = unwanted.get_token(),
                       .done = [&](const EmbeddingOutcome& outcome) {
                         ++(std::holds_alternative<EmbeddingResult>(outcome) ? answered
                                                                             : cancelled);
                       }});
      if (i == 100) std::exchange(withdrawn, {}).request_stop();
      if (i == 200) std::exchange(unwanted, {}).request_stop();
    }
  }
  EXPECT_EQ(answered + cancelled, 300);
}

TEST_F(EmbedderTest, StatsAndBudgetCanBeReadWhileItRuns) {
  auto timed = runner();
  timed->on_pass = [this](auto) { clock_.advance(std::chrono::milliseconds(1)); };
  Embedder embedder(std::move(timed), clock_);
  std::promise<void> ended;
  embedder.submit({.inputs = std::vector<std::vector<Token>>(50, tokens(1)),
                   .done = [&](const EmbeddingOutcome&) { ended.set_value(); }});
  for (int i = 0; i < 100; ++i) {
    EXPECT_LE(embedder.stats().prompt_tokens, 150);
    EXPECT_LE(embedder.budget().batch_tokens, kLimits.batch_tokens_max);
  }
  ended.get_future().wait();
  EXPECT_EQ(embedder.budget().batch_tokens, 64) << "every pass took the same";
  EXPECT_FALSE(embedder.budget().points.empty());
}

}  // namespace
}  // namespace windrow::engine
