#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <optional>
#include <string>

#include "base/random.h"
#include "program/testing/program_rig.h"

namespace windrow::program {
namespace {

using ::testing::HasSubstr;
using testing::program_of;
using testing::ProgramRig;
using testing::ScriptedModels;

// Answers every call at once with its own number.
void answer_with_numbers(ProgramRig& rig) {
  rig.models.answer_at_once = [](const ScriptedModels::Call& call) {
    return "answer " + std::to_string(call.number);
  };
}

llm::Failure tired() {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 503,
          .code = "model_is_tired",
          .message = "the model is tired; try tomorrow",
          .param = {}};
}

// --- cancellation and release -----------------------------------------------------------------

// A program with contexts everywhere a call can wait: alone, in branches, in branches of branches,
// behind a <close> and in contexts that only the collector would find.
constexpr std::string_view kDeepProgram = R"(
  local root <close> = Context.new()
  root:system("s"):user("q")
  root:generate{max_tokens = 4}
  local results = all{
    function()
      local ctx <close> = root:fork()
      return ctx:user("a"):generate().text
    end,
    function()
      return map({"x", "y", "z"}, function(item)
        local ctx = root:fork()
        ctx:user(item):generate()
        return race{
          function() return ctx:fork():user("r1"):generate().text end,
          function() return ctx:fork():user("r2"):generate().text end}
      end, 2)
    end}
  root:user("end"):generate()
  return results)";

// Answers waiting calls, the one that `random` chooses, until `calls_max` have been made.
void answer_some(ProgramRig& rig, Random& random, size_t answers) {
  for (size_t i = 0; i < answers; ++i) {
    const auto waiting = rig.models.wait_for_waiting(1);
    // It may have been stopped since.
    rig.models.answer(waiting[random.below(waiting.size())].number, "t" + std::to_string(i));
  }
}

TEST(ProgramRelease, CancellationAtEveryWaitReleasesEverything) {
  for (size_t answers = 0; answers < 7; ++answers) {
    SCOPED_TRACE(answers);
    ProgramRig rig(program_of(kDeepProgram));
    Random random(answers + 1);
    auto instance = rig.start();
    answer_some(rig, random, answers);
    rig.models.wait_for_waiting(1);
    rig.loop.cancel(instance.id());
    EXPECT_EQ(instance.failure().failure_class, llm::FailureClass::kCancelled);
    rig.expect_nothing_left();
    for (const auto& call : rig.models.calls())
      EXPECT_EQ(rig.passes.of_instance(instance.id().value()), PassCounts()) << call.number;
  }
}

TEST(ProgramRelease, AFailureAtEveryCallReleasesEverything) {
  for (size_t answers = 0; answers < 7; ++answers) {
    SCOPED_TRACE(answers);
    ProgramRig rig(program_of(kDeepProgram));
    Random random(answers + 1);
    auto instance = rig.start();
    answer_some(rig, random, answers);
    // A call that lost a race may fail unheard.
    while (rig.loop.reading().instances > 0) {
      const auto waiting = rig.models.waiting();
      if (!waiting.empty()) rig.models.fail(waiting.back().number, tired());
    }
    EXPECT_EQ(instance.failure().code, "model_is_tired");
    rig.expect_nothing_left();
  }
}

TEST(ProgramRelease, AnErrorInEveryBranchReleasesEverything) {
  for (int branch = 1; branch <= 5; ++branch) {
    SCOPED_TRACE(branch);
    ProgramRig rig(program_of(R"(
      local root = Context.new():user("q")
      return all{
        function() if input == 1 then error("e") end return root:fork():generate().text end,
        function() root:fork():generate() if input == 2 then error("e") end end,
        function()
          local ctx <close> = root:fork()
          if input == 3 then error("e") end
          ctx:generate()
          if input == 4 then local x = nil + 1 end
        end,
        function()
          return all{function() root:fork():generate() error("e") end}
        end})"));
    answer_with_numbers(rig);
    auto instance = rig.start(std::to_string(branch));
    EXPECT_EQ(instance.failure().code, kProgramError);
    rig.expect_nothing_left();
  }
}

TEST(ProgramRelease, ALoopThatIsDestroyedCancelsWhatRuns) {
  std::optional<testing::RunningInstance> instance;
  {
    ProgramRig rig(program_of(R"(Context.new():user("q"):generate())"));
    instance.emplace(rig.start());
    rig.models.wait_for_waiting(1);
  }
  EXPECT_EQ(instance->failure().failure_class, llm::FailureClass::kCancelled);
}

TEST(ProgramRelease, ACloseHandlerMayNotWaitAndHidesNothing) {
  ProgramRig rig(program_of(R"(
    local ctx = Context.new():user("q")
    local guard <close> = setmetatable({}, {__close = function()
      log(pcall(ctx.generate, ctx))
    end})
    error("the error"))"));
  const llm::Failure failure = rig.start().failure();
  EXPECT_THAT(failure.message, HasSubstr("the error"));
  rig.expect_nothing_left();
}

}  // namespace
}  // namespace windrow::program
