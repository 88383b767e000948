#include "engine/embed/embedding_loop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "base/random.h"
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

class EmbeddingLoopTest : public ::testing::Test {
 protected:
  EmbeddingWork work(std::vector<std::vector<Token>> inputs) {
    EmbeddingWork made{.inputs = std::move(inputs), .submitted_at = clock_.now()};
    const size_t index = outcomes_.size();
    outcomes_.emplace_back();
    made.done = [this, index](EmbeddingOutcome outcome) {
      EXPECT_FALSE(outcomes_[index].has_value()) << "twice";
      outcomes_[index] = std::move(outcome);
    };
    return made;
  }

  static std::vector<Token> tokens(Token first, int count) {
    std::vector<Token> made;
    for (int i = 0; i < count; ++i)
      made.push_back((first + i) % kLimits.vocabulary_size);
    return made;
  }

  static void run_all(EmbeddingLoop& loop) {
    for (int step = 0; loop.step().kind == Next::Kind::kTurn; ++step)
      ASSERT_LT(step, 100'000) << "it does not end";
  }

  const llm::Failure& failure(size_t index) const {
    return std::get<llm::Failure>(outcomes_.at(index).value());
  }
  const EmbeddingResult& result(size_t index) const {
    return std::get<EmbeddingResult>(outcomes_.at(index).value());
  }

  windrow::testing::ManualClock clock_;
  ScriptedEmbeddingRunner runner_{kLimits};
  std::vector<std::optional<EmbeddingOutcome>> outcomes_;
};

TEST_F(EmbeddingLoopTest, EveryInputGetsItsVectorWhereverItRan) {
  EmbeddingLoop loop(runner_, clock_, {.batch_tokens = 20});
  std::vector<std::vector<Token>> many;
  for (int i = 0; i < 30; ++i)
    many.push_back(tokens(i, 1 + i % 9));
  int passes = 0;
  runner_.on_pass = [&](auto) { ++passes; };
  loop.add(work(many));
  loop.add(work({tokens(500, 50)}));
  run_all(loop);
  for (size_t i = 0; i < many.size(); ++i)
    EXPECT_EQ(result(0).vectors[i], scripted_embedding(many[i], kLimits.dimensions)) << i;
  EXPECT_EQ(result(1).vectors[0], scripted_embedding(tokens(500, 50), kLimits.dimensions));
  EXPECT_GT(passes, 5);
  EXPECT_EQ(loop.stats().steps, passes);
  EXPECT_EQ(loop.stats().rows_waiting, 0);
  int64_t prompt_tokens = 50;
  for (const auto& input : many)
    prompt_tokens += static_cast<int64_t>(input.size());
  EXPECT_EQ(loop.stats().prompt_tokens, prompt_tokens);
}

TEST_F(EmbeddingLoopTest, SmallRequestsShareAPass) {
  EmbeddingLoop loop(runner_, clock_, {.batch_tokens = 64});
  for (int i = 0; i < 8; ++i)
    loop.add(work({tokens(i, 8)}));
  EXPECT_EQ(loop.step().kind, Next::Kind::kTurn);
  EXPECT_EQ(loop.step().kind, Next::Kind::kWake);
  EXPECT_EQ(loop.stats().steps, 1);
}

TEST_F(EmbeddingLoopTest, SaysWhereTheTimeWent) {
  EmbeddingLoop loop(runner_, clock_, {.batch_tokens = 64});
  runner_.on_pass = [&](auto) { clock_.advance(std::chrono::milliseconds(30)); };
  loop.add(work({tokens(0, 40), tokens(1, 40)}));
  clock_.advance(std::chrono::milliseconds(7));
  run_all(loop);
  EXPECT_EQ(result(0).timings.queue_ms, 7);
  EXPECT_EQ(result(0).timings.prefill_ms, 60) << "two passes";
}

// A machine on which passes of about 32 tokens are the best.
TEST_F(EmbeddingLoopTest, MeasuresTheBudgetBeforeTheFirstAnswerAndWorksByIt) {
  constexpr EmbeddingLimits kLarge{.batch_tokens_max = 1000,
                                   .inputs_max = 100,
                                   .input_tokens_max = 500,
                                   .dimensions = 2,
                                   .vocabulary_size = 1000};
  ScriptedEmbeddingRunner runner(kLarge);
  size_t largest_pass = 0;
  runner.on_pass = [&](ScriptedEmbeddingRunner::Inputs inputs) {
    size_t count = 0;
    for (const auto& input : inputs)
      count += input.size();
    clock_.advance(std::chrono::microseconds(1000 + 10 * count + count * count / 4));
    largest_pass = count;
  };
  EmbeddingLoop loop(runner, clock_);
  run_all(loop);
  EXPECT_EQ(loop.batch_tokens(), 64);
  EXPECT_GE(loop.budget_points().size(), 2U);
  EXPECT_EQ(loop.stats().prompt_tokens, 0) << "measuring is no work";
  std::vector<std::vector<Token>> many;
  for (int i = 0; i < 40; ++i)
    many.push_back(tokens(i, 10));
  loop.add(work(many));
  ASSERT_EQ(loop.step().kind, Next::Kind::kTurn);
  EXPECT_EQ(largest_pass, 60U);
}

TEST_F(EmbeddingLoopTest, OneThatFailsFailsAloneAndSaysWhichInput) {
  EmbeddingLoop loop(runner_, clock_, {.batch_tokens = 64});
  runner_.fault = [](ScriptedEmbeddingRunner::Inputs inputs) -> std::optional<Error> {
    for (const auto& input : inputs) {
      if (input.front() == 666) return Error{ErrorKind::kInvalid, "no"};
    }
    return std::nullopt;
  };
  loop.add(work({tokens(1, 5), tokens(2, 5)}));
  loop.add(work({tokens(3, 5), tokens(666, 5), tokens(4, 5)}));
  loop.add(work({tokens(5, 5)}));
  run_all(loop);
  EXPECT_EQ(result(0).vectors.size(), 2U);
  EXPECT_EQ(failure(1).failure_class, llm::FailureClass::kRequest);
  EXPECT_EQ(failure(1).message, "input 1: no");
  EXPECT_EQ(result(2).vectors[0], scripted_embedding(tokens(5, 5), kLimits.dimensions));
}

TEST_F(EmbeddingLoopTest, ThreeThatFailAloneInARowAreABrokenModel) {
  EmbeddingLoop loop(runner_, clock_, {.batch_tokens = 64});
  runner_.fault = [](auto) { return Error{ErrorKind::kInvalid, "all is lost"}; };
  for (int i = 0; i < 6; ++i)
    loop.add(work({tokens(i, 5)}));
  run_all(loop);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(failure(i).failure_class, llm::FailureClass::kRequest) << i;
  for (size_t i = 2; i < 6; ++i)
    EXPECT_EQ(failure(i).failure_class, llm::FailureClass::kBackend) << i;
  loop.add(work({tokens(9, 5)}));
  EXPECT_EQ(failure(6).failure_class, llm::FailureClass::kBackend);
  EXPECT_EQ(failure(6).message, "all is lost");
}

TEST_F(EmbeddingLoopTest, ADeviceThatIsLostEndsEverything) {
  for (const bool throws : {false, true}) {
    EmbeddingLoop loop(runner_, clock_, {.batch_tokens = 64});
    runner_.fault = [&](auto) -> std::optional<Error> {
      if (throws) throw std::runtime_error("device lost");
      return Error{ErrorKind::kUnavailable, "device lost"};
    };
    outcomes_.clear();
    loop.add(work({tokens(1, 5)}));
    loop.add(work({tokens(2, 5)}));
    run_all(loop);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(failure(i).failure_class, llm::FailureClass::kBackend);
      EXPECT_NE(failure(i).message.find("device lost"), std::string::npos);
    }
  }
}

TEST_F(EmbeddingLoopTest, AModelThatCannotBeMeasuredStillAnswers) {
  int passes = 0;
  runner_.fault = [&](auto) -> std::optional<Error> {
    if (++passes == 1) return Error{ErrorKind::kInvalid, "not now"};
    return std::nullopt;
  };
  EmbeddingLoop loop(runner_, clock_);
  loop.add(work({tokens(1, 5)}));
  run_all(loop);
  EXPECT_EQ(result(0).vectors.size(), 1U);
  EXPECT_EQ(passes, 2);
}

TEST_F(EmbeddingLoopTest, AVectorThatIsNoNumberFailsItsRequestOnly) {
  EmbeddingLoop loop(runner_, clock_, {.batch_tokens = 64});
  runner_.spoil = [](std::span<const Token> input, std::vector<float>& vector) {
    if (input.front() == 7) vector[3] = std::numeric_limits<float>::quiet_NaN();
    if (input.front() == 8) vector[0] = std::numeric_limits<float>::infinity();
  };
  loop.add(work({tokens(1, 5), tokens(7, 5), tokens(8, 5), tokens(2, 40), tokens(3, 40)}));
  loop.add(work({tokens(8, 5)}));
  loop.add(work({tokens(4, 5)}));
  run_all(loop);
  EXPECT_TRUE(failure(0).message.starts_with("input 1: the model's vector has something in it"))
      << failure(0).message;
  EXPECT_TRUE(failure(1).message.starts_with("the model's vector has something in it"));
  EXPECT_EQ(result(2).vectors.size(), 1U);
}

TEST_F(EmbeddingLoopTest, CancellingWhatWaitsLeavesWhatHasBegun) {
  EmbeddingLoop loop(runner_, clock_, {.batch_tokens = 20});
  std::stop_source stop;
  EmbeddingWork started = work({tokens(1, 20), tokens(2, 20)});
  EmbeddingWork waiting = work({tokens(3, 20)});
  started.withdrawn = stop.get_token();
  waiting.withdrawn = stop.get_token();
  loop.add(std::move(started));
  loop.add(std::move(waiting));
  ASSERT_EQ(loop.step().kind, Next::Kind::kTurn);
  stop.request_stop();
  run_all(loop);
  EXPECT_EQ(failure(1).failure_class, llm::FailureClass::kCancelled);
  EXPECT_EQ(loop.stats().prompt_tokens, 40);
  EXPECT_EQ(result(0).vectors.size(), 2U);
}

TEST_F(EmbeddingLoopTest, TheEndOfTheLoopCancelsEverything) {
  {
    EmbeddingLoop loop(runner_, clock_, {.batch_tokens = 20});
    loop.add(work({tokens(1, 20), tokens(2, 20)}));
    loop.add(work({tokens(3, 20)}));
    ASSERT_EQ(loop.step().kind, Next::Kind::kTurn);
  }
  EXPECT_EQ(failure(0).failure_class, llm::FailureClass::kCancelled);
  EXPECT_EQ(failure(0).usage, llm::Usage{.prompt_tokens = 20}) << "one of two was computed";
  EXPECT_EQ(failure(1).failure_class, llm::FailureClass::kCancelled);
  EXPECT_EQ(failure(1).usage, llm::Usage());
}

TEST_F(EmbeddingLoopTest, WhoLeavesHasUsedWhatWasComputed) {
  EmbeddingLoop loop(runner_, clock_, {.batch_tokens = 20});
  std::stop_source stop;
  EmbeddingWork left = work({tokens(1, 20), tokens(2, 15), tokens(3, 20)});
  left.unwanted = stop.get_token();
  loop.add(std::move(left));
  ASSERT_EQ(loop.step().kind, Next::Kind::kTurn);
  ASSERT_EQ(loop.step().kind, Next::Kind::kTurn);
  stop.request_stop();
  loop.step();
  EXPECT_EQ(failure(0).failure_class, llm::FailureClass::kCancelled);
  EXPECT_EQ(failure(0).usage.prompt_tokens, loop.stats().prompt_tokens);
  EXPECT_GE(failure(0).usage.prompt_tokens, 35);
}

TEST_F(EmbeddingLoopTest, EqualInputsThatWaitAreComputedOnce) {
  EmbeddingLoop loop(runner_, clock_, {.batch_tokens = 64});
  size_t computed = 0;
  runner_.on_pass = [&](ScriptedEmbeddingRunner::Inputs inputs) { computed += inputs.size(); };
  loop.add(work({tokens(1, 5), tokens(2, 5), tokens(1, 5)}));
  loop.add(work({tokens(1, 5)}));
  loop.add(work({tokens(2, 5), tokens(3, 5)}));
  EXPECT_EQ(loop.stats().rows_waiting, 6);
  run_all(loop);
  EXPECT_EQ(computed, 3U);
  EXPECT_EQ(result(0).vectors[2], scripted_embedding(tokens(1, 5), 6));
  EXPECT_EQ(result(0).vectors[1], scripted_embedding(tokens(2, 5), 6));
  EXPECT_EQ(result(1).vectors[0], scripted_embedding(tokens(1, 5), 6));
  EXPECT_EQ(result(2).vectors[0], scripted_embedding(tokens(2, 5), 6));
  EXPECT_EQ(loop.stats().prompt_tokens, 15);
  EXPECT_EQ(loop.stats().cached_tokens, 15);
  EXPECT_EQ(loop.stats().rows_waiting, 0);
  loop.add(work({tokens(1, 5)}));
  run_all(loop);
  EXPECT_EQ(computed, 4U) << "what is answered is not kept";
}

TEST_F(EmbeddingLoopTest, AnEqualInputStaysForThoseWhoStillWantIt) {
  EmbeddingLoop loop(runner_, clock_, {.batch_tokens = 64});
  std::stop_source leaves;
  EmbeddingWork left = work({tokens(1, 5), tokens(2, 5), tokens(1, 5)});
  left.unwanted = leaves.get_token();
  loop.add(std::move(left));
  loop.add(work({tokens(1, 5)}));
  size_t computed = 0;
  runner_.on_pass = [&](ScriptedEmbeddingRunner::Inputs inputs) { computed += inputs.size(); };
  leaves.request_stop();
  run_all(loop);
  EXPECT_EQ(failure(0).failure_class, llm::FailureClass::kCancelled);
  EXPECT_EQ(result(1).vectors[0], scripted_embedding(tokens(1, 5), 6));
  EXPECT_EQ(computed, 1U);
}

TEST_F(EmbeddingLoopTest, AnInputThatFailsFailsAllWhoHaveIt) {
  EmbeddingLoop loop(runner_, clock_, {.batch_tokens = 64});
  runner_.fault = [](ScriptedEmbeddingRunner::Inputs inputs) -> std::optional<Error> {
    for (const auto& input : inputs) {
      if (input.front() == 666) return Error{ErrorKind::kInvalid, "no"};
    }
    return std::nullopt;
  };
  loop.add(work({tokens(666, 5)}));
  loop.add(work({tokens(2, 5), tokens(666, 5), tokens(666, 5)}));
  loop.add(work({tokens(2, 5)}));
  run_all(loop);
  EXPECT_EQ(failure(0).message, "no");
  EXPECT_EQ(failure(1).message, "input 1: no");
  EXPECT_EQ(result(2).vectors.size(), 1U);
}

TEST_F(EmbeddingLoopTest, LingersForThoseOnTheirWayAndSaysWhyAPassBegan) {
  std::vector<llm::StepReport> reports;
  int64_t arriving = 0;
  EmbeddingLoop loop(
      runner_, clock_,
      {.batch_tokens = 64,
       .batching_delay = {},
       .arriving = [&] { return arriving; },
       .on_step = [&](const llm::StepReport& report) { reports.push_back(report); }});
  runner_.on_pass = [&](ScriptedEmbeddingRunner::Inputs inputs) {
    clock_.advance(std::chrono::milliseconds(2) + inputs.size() * std::chrono::milliseconds(1));
  };
  const auto reason = [&] { return reports.back().reason; };
  loop.add(work({tokens(1, 10)}));
  run_all(loop);
  EXPECT_EQ(reason(), llm::StepReason::kIdle);
  clock_.advance(std::chrono::seconds(1));
  loop.add(work({tokens(2, 10), tokens(3, 10), tokens(4, 10)}));
  run_all(loop);
  clock_.advance(std::chrono::seconds(1));
  // It knows now that a pass costs 2 ms.
  arriving = 2;
  loop.add(work({tokens(5, 10)}));
  const TimePoint until = clock_.now() + std::chrono::microseconds(500);
  EXPECT_EQ(loop.step(), (Next{.kind = Next::Kind::kTime, .at = until}));
  arriving = 1;
  loop.add(work({tokens(6, 10)}));
  EXPECT_EQ(loop.step(), (Next{.kind = Next::Kind::kTime, .at = until}));
  arriving = 0;
  loop.add(work({tokens(7, 10)}));
  run_all(loop);
  EXPECT_EQ(reason(), llm::StepReason::kLinger);
  EXPECT_EQ(reports.back().rows_prefilling, 3);
  EXPECT_EQ(reports.back().tokens, 30);
  EXPECT_EQ(reports.size(), 3U);

  clock_.advance(std::chrono::seconds(1));
  arriving = 9;
  loop.add(work({tokens(8, 10)}));
  EXPECT_EQ(loop.step({.alone = false, .pass_max = {}}).kind, Next::Kind::kTurn)
      << "beside something that runs it waits for nobody";
  EXPECT_EQ(reason(), llm::StepReason::kBehind);
  run_all(loop);
  std::vector<std::vector<Token>> many;
  for (int i = 0; i < 9; ++i)
    many.push_back(tokens(20 + i, 10));
  loop.add(work(many));
  run_all(loop);
  EXPECT_EQ(reports[reports.size() - 2].reason, llm::StepReason::kFull);
  EXPECT_EQ(reason(), llm::StepReason::kBehind);
}

TEST_F(EmbeddingLoopTest, AFixedWindowAndABatchSize) {
  std::vector<llm::StepReport> reports;
  EmbeddingLoop loop(
      runner_, clock_,
      {.batch_tokens = 64,
       .batching_delay = {.window = std::chrono::milliseconds(10), .batch_size_max = 3},
       .on_step = [&](const llm::StepReport& report) { reports.push_back(report); }});
  loop.add(work({tokens(1, 10)}));
  EXPECT_EQ(loop.step().kind, Next::Kind::kTime);
  clock_.advance(std::chrono::milliseconds(10));
  EXPECT_EQ(loop.step().kind, Next::Kind::kTurn);
  EXPECT_EQ(reports.back().reason, llm::StepReason::kWindow);
  for (int i = 0; i < 4; ++i)
    loop.add(work({tokens(2 + i, 10)}));
  EXPECT_EQ(loop.step().kind, Next::Kind::kTurn);
  EXPECT_EQ(reports.back().reason, llm::StepReason::kFull);
  EXPECT_EQ(reports.back().rows_prefilling, 3);
  EXPECT_EQ(loop.step().kind, Next::Kind::kTime);
}

// While other work waits, sizes that would take too long are not timed; once none does, they are.
TEST_F(EmbeddingLoopTest, MeasuringGivesWayToOthers) {
  constexpr EmbeddingLimits kLarge{.batch_tokens_max = 1000,
                                   .inputs_max = 100,
                                   .input_tokens_max = 500,
                                   .dimensions = 2,
                                   .vocabulary_size = 1000};
  ScriptedEmbeddingRunner runner(kLarge);
  Duration longest{};
  runner.on_pass = [&](ScriptedEmbeddingRunner::Inputs inputs) {
    size_t count = 0;
    for (const auto& input : inputs)
      count += input.size();
    const Duration duration = std::chrono::microseconds(1000 + 100 * count);
    longest = std::max(longest, duration);
    clock_.advance(duration);
  };
  EmbeddingLoop loop(runner, clock_);
  const Turn beside{.alone = false, .pass_max = std::chrono::milliseconds(30)};
  loop.add(work({tokens(1, 10)}));
  for (int i = 0; loop.step(beside).kind == Next::Kind::kTurn; ++i)
    ASSERT_LT(i, 1000);
  EXPECT_EQ(result(0).vectors.size(), 1U);
  EXPECT_LE(longest, std::chrono::milliseconds(31));
  const size_t measured = loop.budget_points().size();
  run_all(loop);
  EXPECT_GT(loop.budget_points().size(), measured);
}

// Work of any shape, failures of any kind and cancellations: each ends once, and what is answered
// is right.
TEST_F(EmbeddingLoopTest, SoakedEveryWorkEndsOnceAndRightly) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const bool breaks = random.chance(0.2);
    ScriptedEmbeddingRunner runner(kLimits);
    int healthy = 0;  // never so many failures in a row that the model counts as broken
    runner.fault = [&](ScriptedEmbeddingRunner::Inputs inputs) -> std::optional<Error> {
      if (breaks && random.chance(0.01)) return Error{ErrorKind::kUnavailable, "broken"};
      if (inputs.size() > 1 && random.chance(0.1)) return Error{ErrorKind::kInvalid, "a pass"};
      if (inputs.size() == 1 && healthy > 3 && random.chance(0.2)) {
        healthy = 0;
        return Error{ErrorKind::kInvalid, "an input"};
      }
      ++healthy;
      return std::nullopt;
    };
    outcomes_.clear();
    outcomes_.reserve(200);
    std::vector<std::vector<std::vector<Token>>> asked;
    std::vector<std::stop_source> leaves(100);
    std::stop_source withdrawn;
    const uint64_t texts = random.chance(0.5) ? 12 : 1000;  // few: many are equal
    {
      EmbeddingLoop loop(runner, clock_,
                         {.batch_tokens = static_cast<int32_t>(random.between(1, 80))});
      while (asked.size() < 100) {
        if (random.chance(0.6)) {
          std::vector<std::vector<Token>> inputs;
          for (int64_t i = random.between(1, 6); i > 0; --i) {
            inputs.push_back(tokens(static_cast<Token>(random.below(texts)),
                                    static_cast<int>(random.between(1, texts == 12 ? 3 : 50))));
          }
          EmbeddingWork made = work(inputs);
          made.unwanted = leaves[asked.size()].get_token();
          made.withdrawn = withdrawn.get_token();
          asked.push_back(std::move(inputs));
          loop.add(std::move(made));
        } else {
          loop.step();
        }
        if (!asked.empty() && random.chance(0.05))
          leaves[static_cast<size_t>(random.below(asked.size()))].request_stop();
        if (random.chance(0.01)) std::exchange(withdrawn, {}).request_stop();
        if (random.chance(0.005)) loop.cancel_all();
      }
      if (random.chance(0.5)) {
        run_all(loop);
        EXPECT_EQ(loop.stats().rows_waiting, 0);
      }
    }
    for (size_t i = 0; i < asked.size(); ++i) {
      ASSERT_TRUE(outcomes_[i].has_value()) << i;
      const auto* answered = std::get_if<EmbeddingResult>(&*outcomes_[i]);
      if (answered == nullptr) continue;
      ASSERT_EQ(answered->vectors.size(), asked[i].size());
      for (size_t j = 0; j < asked[i].size(); ++j)
        ASSERT_EQ(answered->vectors[j], scripted_embedding(asked[i][j], kLimits.dimensions));
    }
  }
}

}  // namespace
}  // namespace windrow::engine
