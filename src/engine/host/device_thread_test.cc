#include "engine/host/device_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/testing/manual_clock.h"
#include "engine/embed/embedder.h"
#include "engine/generate/engine.h"
#include "engine/testing/byte_vocabulary.h"
#include "engine/testing/scripted_embedding_runner.h"
#include "engine/testing/scripted_runner.h"

namespace windrow::engine {
namespace {

using std::chrono::milliseconds;
using testing::ByteVocabulary;
using testing::ScriptedEmbeddingRunner;
using testing::ScriptedRunner;

constexpr RunnerLimits kGenerates{.cells_max = 4000,
                                  .rows_max = 8,
                                  .sequences_max = 8,
                                  .step_tokens_max = 256,
                                  .step_outputs_max = 8,
                                  .row_tokens_max = 400,
                                  .vocabulary_size = ByteVocabulary::kSize};
constexpr EmbeddingLimits kEmbeds{.batch_tokens_max = 256,
                                  .inputs_max = 64,
                                  .input_tokens_max = 50,
                                  .dimensions = 6,
                                  .vocabulary_size = 1000};

// Its work is counted down, one for each pass.
class Counting final : public DeviceTask {
 public:
  explicit Counting(std::atomic<int>& inside) : inside_(inside) {}

  Next run_pass(const Turn&) override {
    EXPECT_EQ(++inside_, 1) << "two at a time";
    EXPECT_FALSE(ended_);
    const int left = todo_ > 0 ? --todo_ : 0;
    ++turns_;
    --inside_;
    return {.kind = left > 0 ? Next::Kind::kTurn : Next::Kind::kWake};
  }
  void end() override {
    EXPECT_EQ(++inside_, 1);
    ended_ = true;
    --inside_;
  }

  void add(int count) { todo_ += count; }
  int left() const { return todo_; }
  bool ended() const { return ended_; }

 private:
  std::atomic<int>& inside_;
  std::atomic<int> todo_ = 0;
  std::atomic<int> turns_ = 0;
  std::atomic<bool> ended_ = false;
};

class DeviceThreadTest : public ::testing::Test {
 protected:
  static EngineRequest row(Token first, int32_t tokens, llm::Backend::Done done) {
    return {.prompt = {first, 1, 2},
            .output_tokens_max = tokens,
            .sampling = {.temperature = 0},
            .ignore_eos = true,
            .done = std::move(done)};
  }

  static void submit(Engine& engine, EngineRequest request) {
    std::vector<EngineRequest> rows;
    rows.push_back(std::move(request));
    engine.submit(std::move(rows));
  }

  windrow::testing::ManualClock clock_;
  ByteVocabulary vocabulary_;
};

// They join, are given things to do from other threads, and leave, at any moment.
TEST_F(DeviceThreadTest, NoTaskIsForgottenAndNoneRunsBesideAnother) {
  std::atomic<int> inside = 0;
  DeviceThread thread(clock_);
  std::vector<std::jthread> users;
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([&] {
      for (int life = 0; life < 20; ++life) {
        Counting task(inside);
        const TaskId id = thread.join(task, {});
        for (int i = 0; i < 50; ++i) {
          task.add(1 + i % 3);
          thread.wake(id);
        }
        while (task.left() > 0)
          std::this_thread::yield();
        thread.leave(id);
        EXPECT_TRUE(task.ended());
      }
    });
  }
}

// Every pass records its task. Generation goes on while inputs are embedded, pass by pass.
TEST_F(DeviceThreadTest, GenerationAndEmbeddingTakeTurns) {
  std::string order;  // the device thread's
  std::promise<void> begun;
  std::promise<void> everything_waits;
  bool first = true;
  auto generates = std::make_unique<ScriptedRunner>(kGenerates);
  generates->on_step = [&](std::span<const StepRow>) {
    if (std::exchange(first, false)) {
      begun.set_value();
      everything_waits.get_future().wait();
    }
    order += 'g';
  };
  auto embeds = std::make_unique<ScriptedEmbeddingRunner>(kEmbeds);
  embeds->on_pass = [&](auto) { order += 'e'; };
  const auto thread = std::make_shared<DeviceThread>(clock_);
  std::promise<void> generated;
  std::promise<void> embedded;
  Engine engine(std::move(generates), vocabulary_, clock_, {}, thread);
  Embedder embedder(std::move(embeds), clock_, {.batch_tokens = 30}, thread);
  submit(engine, row(1, 20, [&](const llm::Outcome&) { generated.set_value(); }));
  begun.get_future().wait();
  std::vector<std::vector<Token>> inputs;
  for (Token i = 0; i < 8; ++i)
    inputs.emplace_back(30, i);
  embedder.submit({.inputs = std::move(inputs),
                   .unwanted = {},
                   .done = [&](const EmbeddingOutcome&) { embedded.set_value(); }});
  everything_waits.set_value();
  generated.get_future().wait();
  embedded.get_future().wait();
  EXPECT_EQ(order, "gegegegegegegegegggggggggggg") << "20 steps, 8 passes";
}

// The whole budget would take longer than rows that decode put up with.
TEST_F(DeviceThreadTest, PassesAreShortWhileRowsDecode) {
  std::vector<size_t> beside;
  std::vector<size_t> alone;
  std::atomic<bool> decoding = true;
  std::promise<void> begun;
  std::promise<void> everything_waits;
  bool first = true;
  auto generates = std::make_unique<ScriptedRunner>(kGenerates);
  generates->on_step = [&](std::span<const StepRow>) {
    if (!std::exchange(first, false)) return;
    begun.set_value();
    everything_waits.get_future().wait();
  };
  auto embeds = std::make_unique<ScriptedEmbeddingRunner>(kEmbeds);
  embeds->on_pass = [&](ScriptedEmbeddingRunner::Inputs inputs) {
    clock_.advance(milliseconds(2) + inputs.size() * milliseconds(1));  // of 10 tokens each
    (decoding ? beside : alone).push_back(inputs.size());
  };
  const auto thread = std::make_shared<DeviceThread>(clock_);
  Engine engine(std::move(generates), vocabulary_, clock_,
                {.step_target = std::chrono::microseconds(7500)}, thread);
  Embedder embedder(std::move(embeds), clock_, {.batch_tokens = 250}, thread);
  const auto embed = [&](Token first_token, int count) {
    std::vector<std::vector<Token>> inputs;
    for (Token i = 0; i < count; ++i)
      inputs.emplace_back(10, first_token + i);
    auto done = std::make_shared<std::promise<void>>();
    embedder.submit({.inputs = std::move(inputs),
                     .unwanted = {},
                     .done = [done](const EmbeddingOutcome&) { done->set_value(); }});
    return done->get_future();
  };
  // It learns how long passes take.
  for (const int count : {25, 10, 20, 5})
    embed(100 * count, count).wait();
  beside.clear();
  submit(engine, row(1, 300, [&](const llm::Outcome&) { decoding = false; }));
  begun.get_future().wait();
  std::future<void> embedded = embed(1, 60);
  everything_waits.set_value();
  embedded.wait();
  ASSERT_EQ(beside.size(), 12U);
  for (const size_t inputs : beside)
    EXPECT_EQ(inputs, 5U) << "2 ms and 1 ms each";
}

TEST_F(DeviceThreadTest, WhoLeavesEndsWhatItHasAndTheOthersGoOn) {
  const auto thread = std::make_shared<DeviceThread>(clock_);
  Engine engine(std::make_unique<ScriptedRunner>(kGenerates), vocabulary_, clock_, {}, thread);
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> ended = 0;
    std::promise<void> generated;
    submit(engine, row(i, 10, [&](const llm::Outcome&) { generated.set_value(); }));
    {
      Embedder embedder(std::make_unique<ScriptedEmbeddingRunner>(kEmbeds), clock_,
                        {.batch_tokens = 30}, thread);
      for (Token token = 0; token < 30; ++token) {
        embedder.submit({.inputs = {std::vector<Token>(30, token)},
                         .unwanted = {},
                         .done = [&](const EmbeddingOutcome&) { ++ended; }});
      }
    }
    EXPECT_EQ(ended, 30) << "each once, before the embedder is gone";
    generated.get_future().wait();
  }
}

// Rows that find nothing running wait for the window, or until they are enough.
TEST_F(DeviceThreadTest, AWindowCollectsRowsWhereNothingRuns) {
  for (const bool fills : {false, true}) {
    std::vector<size_t> steps;
    auto runner = std::make_unique<ScriptedRunner>(kGenerates);
    runner->on_step = [&](std::span<const StepRow> step) { steps.push_back(step.size()); };
    std::atomic<int> left = 3;
    std::promise<void> all;
    const auto thread = std::make_shared<DeviceThread>(clock_);
    Engine engine(std::move(runner), vocabulary_, clock_, {}, thread,
                  {.window = milliseconds(5), .rows = fills ? 3 : 0});
    for (int i = 0; i < 3; ++i) {
      submit(engine, row(i, 2, [&](const llm::Outcome&) {
               if (--left == 0) all.set_value();
             }));
    }
    if (!fills) clock_.advance(milliseconds(5));
    all.get_future().wait();
    ASSERT_FALSE(steps.empty());
    EXPECT_EQ(steps.front(), 3U);
  }
}

}  // namespace
}  // namespace windrow::engine
