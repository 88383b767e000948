#include "engine/generate/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>
#include <thread>

#include "base/testing/manual_clock.h"
#include "engine/generate/fan_out.h"
#include "engine/testing/byte_vocabulary.h"
#include "engine/testing/scripted_answer.h"
#include "engine/testing/scripted_runner.h"

namespace windrow::engine {
namespace {

using testing::ByteVocabulary;
using testing::scripted_answer;
using testing::ScriptedRunner;

constexpr RunnerLimits kLimits{.cells_max = 2000,
                               .rows_max = 8,
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

void submit(Engine& engine, EngineRequest request) {
  std::vector<EngineRequest> rows;
  rows.push_back(std::move(request));
  engine.submit(std::move(rows));
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
    Engine engine(std::make_unique<ScriptedRunner>(kLimits), vocabulary_, clock_);
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
            std::string why;
            promise->set_value(
                answer != nullptr &&
                testing::same_choice(
                    answer->choices[0],
                    scripted_answer(row(first, 12), kLimits.vocabulary_size).choices[0], why));
          };
          submit(engine, std::move(request));
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
    Engine engine(std::make_unique<ScriptedRunner>(kLimits), vocabulary_, clock_);
    std::stop_source withdrawn;
    std::stop_source unwanted;
    for (int i = 0; i < 100; ++i) {
      EngineRequest request = row(i, 300);
      request.withdrawn = withdrawn.get_token();
      request.unwanted = unwanted.get_token();
      request.done = [&](const llm::Outcome& outcome) {
        ++(std::holds_alternative<llm::Answer>(outcome) ? answered : cancelled);
      };
      submit(engine, std::move(request));
      if (i == 50) std::exchange(withdrawn, {}).request_stop();
      if (i == 90) std::exchange(unwanted, {}).request_stop();
    }
  }
  EXPECT_EQ(answered + cancelled, 100);
  EXPECT_GE(cancelled, 1) << "the destructor cancels what is left";
}

// Rows of one request, sampled on several threads, with rows that fail and cancels at any moment.
TEST_F(EngineTest, RequestsOfManyRowsEndExactlyOnce) {
  constexpr int kRequests = 60;
  std::vector<std::atomic<int>> ended(kRequests);
  std::atomic<int> answered = 0;
  {
    auto runner = std::make_unique<ScriptedRunner>(kLimits);
    runner->fault = [](std::span<const StepRow> step) -> std::optional<Error> {
      for (const StepRow& row : step) {
        if (row.tokens.front() == 13) return Error{ErrorKind::kInvalid, "an unlucky row"};
      }
      return std::nullopt;
    };
    Engine engine(std::move(runner), vocabulary_, clock_,
                  {.sampling_threads = {.count = 3, .logits_min = 0}});
    std::stop_source withdrawn;
    std::stop_source unwanted;
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 2; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = thread; i < kRequests; i += 2) {
          llm::BackendCall call =
              llm::plain_call({.choices = 3, .output_tokens_max = 20, .logprobs_top = 1});
          call.withdrawn = withdrawn.get_token();
          call.unwanted = unwanted.get_token();
          engine.submit(fan_out(call, {{i, 1}, {i + 1, 2}}, vocabulary_,
                                {.row_tokens_max = kLimits.row_tokens_max}, clock_.now(),
                                [&ended, &answered, i](const llm::Outcome& outcome) {
                                  ++ended[static_cast<size_t>(i)];
                                  if (std::holds_alternative<llm::Answer>(outcome)) ++answered;
                                }));
          if (i == 40) withdrawn.request_stop();
          if (i == 55) unwanted.request_stop();
        }
      });
    }
  }
  for (const std::atomic<int>& times : ended)
    EXPECT_EQ(times, 1);
  EXPECT_LE(answered, kRequests - 2) << "the requests with an unlucky row";
}

TEST_F(EngineTest, StatsCanBeReadWhileItRuns) {
  Engine engine(std::make_unique<ScriptedRunner>(kLimits), vocabulary_, clock_);
  std::promise<void> ended;
  EngineRequest request = row(1, 50);
  request.done = [&](const llm::Outcome&) { ended.set_value(); };
  submit(engine, std::move(request));
  for (int i = 0; i < 100; ++i)
    EXPECT_LE(engine.stats().generated_tokens, 50);
  ended.get_future().wait();
  EXPECT_EQ(engine.stats().cells_max, kLimits.cells_max);
}

TEST_F(EngineTest, WhoeverHearsOfARowFindsItCounted) {
  Engine engine(std::make_unique<ScriptedRunner>(kLimits), vocabulary_, clock_);
  for (int i = 1; i <= 20; ++i) {
    std::promise<int64_t> counted;
    EngineRequest asked = row(i, 5);
    asked.done = [&](const llm::Outcome&) { counted.set_value(engine.stats().generated_tokens); };
    submit(engine, std::move(asked));
    EXPECT_EQ(counted.get_future().get(), 5 * i);
  }
}

}  // namespace
}  // namespace windrow::engine
