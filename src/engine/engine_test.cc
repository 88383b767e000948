#include "engine/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "base/testing/manual_clock.h"
#include "engine/testing/byte_vocabulary.h"
#include "engine/testing/scripted_answer.h"
#include "engine/testing/scripted_runner.h"

namespace windrow::engine {
namespace {

using testing::ByteVocabulary;
using testing::scripted_answer;
using testing::ScriptedRunner;

constexpr RunnerLimits kLimits{.cells_max = 2000,
                               .sequences_max = 8,
                               .step_tokens_max = 256,
                               .step_outputs_max = 8,
                               .row_tokens_max = 400,
                               .vocabulary_size = ByteVocabulary::kSize};

EngineRequest row(Token first, int32_t output_tokens_max) {
  return EngineRequest{.prompt = {first, 1, 2},
                       .output_tokens_max = output_tokens_max,
                       .sampling = {.temperature = 0},
                       .ignore_eos = true,
                       .logprobs_top = 0};
}

class EngineTest : public ::testing::Test {
 protected:
  windrow::testing::ManualClock clock_;
  ByteVocabulary vocabulary_;
};

TEST_F(EngineTest, AnswersWhatManyThreadsAskAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kRows = 30;
  std::atomic<int> right = 0;
  {
    Engine engine(std::make_unique<ScriptedRunner>(kLimits), vocabulary_, clock_,
                  std::chrono::seconds(2));
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        std::vector<std::future<bool>> answers;
        for (int i = 0; i < kRows; ++i) {
          const auto first = static_cast<Token>(thread * kRows + i);
          auto promise = std::make_shared<std::promise<bool>>();
          answers.push_back(promise->get_future());
          EngineRequest request = row(first, 12);
          request.done = [promise, first](llm::Outcome outcome) {
            const auto* answer = std::get_if<llm::Answer>(&outcome);
            promise->set_value(answer != nullptr &&
                               answer->choices ==
                                   scripted_answer(row(first, 12), ByteVocabulary::kSize).choices);
          };
          engine.submit(std::move(request));
        }
        for (std::future<bool>& answer : answers)
          right += answer.get() ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(right, kThreads * kRows);
}

TEST_F(EngineTest, CancelsFromAnotherThreadAndEndsEveryRowExactlyOnce) {
  std::atomic<int> answered = 0;
  std::atomic<int> cancelled = 0;
  {
    Engine engine(std::make_unique<ScriptedRunner>(kLimits), vocabulary_, clock_,
                  std::chrono::seconds(2));
    for (int i = 0; i < 100; ++i) {
      EngineRequest request = row(i, 300);
      request.done = [&](const llm::Outcome& outcome) {
        ++(std::holds_alternative<llm::Answer>(outcome) ? answered : cancelled);
      };
      engine.submit(std::move(request));
      if (i == 50) engine.cancel_waiting();
      if (i == 90) engine.cancel_all();
    }
  }
  EXPECT_EQ(answered + cancelled, 100);
  EXPECT_GE(cancelled, 1) << "the destructor cancels what is left";
}

TEST_F(EngineTest, StatsCanBeReadWhileItRuns) {
  Engine engine(std::make_unique<ScriptedRunner>(kLimits), vocabulary_, clock_,
                std::chrono::seconds(2));
  std::promise<void> ended;
  EngineRequest request = row(1, 50);
  request.done = [&](const llm::Outcome&) { ended.set_value(); };
  engine.submit(std::move(request));
  for (int i = 0; i < 100; ++i)
    EXPECT_LE(engine.stats().generated_tokens, 50);
  ended.get_future().wait();
  EXPECT_EQ(engine.stats().cells_max, kLimits.cells_max);
}

}  // namespace
}  // namespace windrow::engine
