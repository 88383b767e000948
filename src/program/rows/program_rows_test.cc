#include "program/rows/program_rows.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/testing/manual_clock.h"
#include "program/testing/scripted_models.h"

namespace windrow::program {
namespace {

constexpr std::string_view kEcho = R"(
  return function(input)
    local ctx <close> = Context.new()
    ctx:user(input.question)
    return {answer = ctx:generate{max_tokens = 16}.text}
  end)";

// What came of rows, in the order in which they ended. Thread-safe.
class Ended {
 public:
  dispatch::Submitter::Done done() {
    return [this](dispatch::DispatchResult result) {
      const std::scoped_lock lock(mutex_);
      results_.push_back(std::move(result));
      changed_.notify_all();
    };
  }

  // Blocks until there are so many.
  std::vector<dispatch::DispatchResult> wait_for(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return results_.size() >= count; });
    return results_;
  }

  size_t count() {
    const std::scoped_lock lock(mutex_);
    return results_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<dispatch::DispatchResult> results_;
};

llm::Request row(std::string name, std::string input) {
  llm::Request request;
  request.model = std::move(name);
  request.raw = std::move(input);
  request.sampling.seed = 7;
  return request;
}

class ProgramRowsTest : public ::testing::Test {
 protected:
  // Blocks until so many calls of models wait for their answers.
  std::vector<testing::ScriptedModels::Call> wait_for_calls(size_t count) {
    for (;;) {
      auto calls = models_.waiting();
      if (calls.size() >= count) return calls;
      std::this_thread::yield();
    }
  }

  std::unique_ptr<ProgramLoop> loop(std::string_view source) {
    ProgramLoopOptions options;
    options.on_log = [this](std::string_view id, std::string_view line) {
      log_ += std::string(id) + ": " + std::string(line) + "\n";
    };
    return std::make_unique<ProgramLoop>(
        std::make_shared<const Program>(Program{.name = "test.lua", .source = std::string(source)}),
        models_, passes_, nullptr, clock_, std::move(options));
  }

  bool submit(ProgramRows& rows, std::string name, std::string input) {
    return rows.submit(row(std::move(name), std::move(input)), {}, 0, ended_.done());
  }

  windrow::testing::ManualClock clock_;
  testing::ScriptedModels models_;
  PassLog passes_{clock_};
  std::string log_;  // of the program thread; read when all rows have ended
  Ended ended_;
};

TEST_F(ProgramRowsTest, TheResultOfAnInstanceIsTheAnswerOfItsRow) {
  models_.answer_at_once = [](const auto& call) {
    return call.options.output_tokens_max == 16 ? std::optional<std::string>("4") : std::nullopt;
  };
  const auto loop = this->loop(kEcho);
  ProgramRows rows(*loop, clock_, {});
  ASSERT_TRUE(submit(rows, "a", R"({"question": "2 + 2"})"));
  const dispatch::DispatchResult result = ended_.wait_for(1).at(0);
  const auto* answer = std::get_if<llm::Answer>(&result.outcome);
  ASSERT_NE(answer, nullptr) << std::get<llm::Failure>(result.outcome).message;
  EXPECT_NE(answer->raw.find(R"("answer":"4")"), std::string::npos) << answer->raw;
  EXPECT_EQ(answer->raw.find('\n'), std::string::npos);
  EXPECT_GT(answer->usage.completion_tokens, 0);
  EXPECT_EQ(result.tokens, answer->usage.prompt_tokens + answer->usage.completion_tokens);
  EXPECT_EQ(result.source, dispatch::OutcomeSource::kAsked);
}

TEST_F(ProgramRowsTest, NameAndSeedOfTheRowAreThoseOfItsInstance) {
  const auto loop = this->loop("return function(input) log('got', input) return math.random() end");
  ProgramRows rows(*loop, clock_, {});
  ASSERT_TRUE(submit(rows, "row-1", "3"));
  ended_.wait_for(1);
  ASSERT_TRUE(submit(rows, "row-1", "3"));
  const auto results = ended_.wait_for(2);
  EXPECT_EQ(std::get<llm::Answer>(results[0].outcome).raw,
            std::get<llm::Answer>(results[1].outcome).raw);
  EXPECT_NE(log_.find("row-1: got"), std::string::npos) << log_;
}

TEST_F(ProgramRowsTest, AnErrorOfTheProgramFailsItsRow) {
  const auto loop = this->loop("return function(input) error('no ' .. input) end");
  ProgramRows rows(*loop, clock_, {});
  ASSERT_TRUE(submit(rows, "a", R"("way")"));
  const auto failure = std::get<llm::Failure>(ended_.wait_for(1).at(0).outcome);
  EXPECT_EQ(failure.failure_class, llm::FailureClass::kRequest);
  EXPECT_EQ(failure.code, kProgramError);
  EXPECT_NE(failure.message.find("no way"), std::string::npos) << failure.message;
}

TEST_F(ProgramRowsTest, SubmittingBlocksWhileAsManyRunAsMay) {
  const auto loop = this->loop(kEcho);
  ProgramRows rows(*loop, clock_, {.instances_max = 2});
  ASSERT_TRUE(submit(rows, "a", R"({"question": "a"})"));
  ASSERT_TRUE(submit(rows, "b", R"({"question": "b"})"));
  const auto calls = wait_for_calls(2);
  EXPECT_EQ(rows.in_flight(), 2);
  std::jthread third([&] { EXPECT_TRUE(submit(rows, "c", R"({"question": "c"})")); });
  EXPECT_EQ(ended_.count(), 0U);
  models_.answer(calls[0].number, "x");
  third.join();
  ended_.wait_for(1);
  for (const auto& call : wait_for_calls(2))
    models_.answer(call.number, "y");
  ended_.wait_for(3);
}

TEST_F(ProgramRowsTest, ASubmitterThatIsBlockedReturnsWhenAdmissionStops) {
  const auto loop = this->loop(kEcho);
  ProgramRows rows(*loop, clock_, {.instances_max = 1});
  ASSERT_TRUE(submit(rows, "a", R"({"question": "a"})"));
  std::jthread second([&] { EXPECT_FALSE(submit(rows, "b", R"({"question": "b"})")); });
  const auto calls = wait_for_calls(1);
  rows.stop_admitting();
  second.join();
  rows.cancel_waiting();
  EXPECT_EQ(ended_.count(), 0U) << "what runs goes on";
  models_.answer(calls[0].number, "x");
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(ended_.wait_for(1).at(0).outcome));
  EXPECT_FALSE(submit(rows, "c", "null"));
}

TEST_F(ProgramRowsTest, CancellingEndsEveryInstanceAndItsCalls) {
  const auto loop = this->loop(kEcho);
  ProgramRows rows(*loop, clock_, {});
  for (const char* name : {"a", "b", "c"})
    ASSERT_TRUE(submit(rows, name, R"({"question": "q"})"));
  wait_for_calls(3);
  rows.cancel_all();
  for (const dispatch::DispatchResult& result : ended_.wait_for(3)) {
    EXPECT_EQ(std::get<llm::Failure>(result.outcome).failure_class, llm::FailureClass::kCancelled);
  }
  EXPECT_TRUE(models_.waiting().empty());
  EXPECT_EQ(models_.holds(), 0U);
  models_.answer_at_once = [](const auto&) { return "later"; };
  ASSERT_TRUE(submit(rows, "d", R"({"question": "q"})"));
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(ended_.wait_for(4).at(3).outcome))
      << "only those that ran were cancelled";
}

TEST_F(ProgramRowsTest, TheDestructorEndsWhatRuns) {
  const auto loop = this->loop(kEcho);
  {
    ProgramRows rows(*loop, clock_, {});
    ASSERT_TRUE(submit(rows, "a", R"({"question": "q"})"));
    wait_for_calls(1);
  }
  ASSERT_EQ(ended_.count(), 1U);
  EXPECT_EQ(std::get<llm::Failure>(ended_.wait_for(1).at(0).outcome).failure_class,
            llm::FailureClass::kCancelled);
}

TEST_F(ProgramRowsTest, AModelThatCannotAnswerAnyMoreIsNoResultOfTheRow) {
  const auto loop = this->loop(kEcho);
  ProgramRows rows(*loop, clock_, {});
  ASSERT_TRUE(submit(rows, "a", R"({"question": "q"})"));
  models_.fail(wait_for_calls(1)[0].number, {.failure_class = llm::FailureClass::kBackend,
                                             .status = 503,
                                             .code = "gone",
                                             .message = "the device is gone"});
  EXPECT_EQ(std::get<llm::Failure>(ended_.wait_for(1).at(0).outcome).failure_class,
            llm::FailureClass::kBackend);
}

}  // namespace
}  // namespace windrow::program
