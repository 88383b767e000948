#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>

#include "program/testing/program_rig.h"

namespace windrow::program {
namespace {

using ::testing::HasSubstr;
using testing::program_of;
using testing::ProgramRig;
using testing::ScriptedModels;

std::string json_text(const boost::json::value& value) {
  return boost::json::serialize(value);
}

// --- mistakes ---------------------------------------------------------------------------------

struct Mistake {
  const char* body;
  const char* message;
};

TEST(ProgramLimits, MistakesAreNamed) {
  const Mistake mistakes[] = {
      {"Context.new{modle = 'x'}", "there is no option modle; did you mean model?"},
      {"Context.new():generate{temperature = 'hot'}",
       "generate: temperature must be a number from 0 to 2; it is \"hot\""},
      {"Context.new():generate{temperature = json.null}",
       "generate: temperature must be a number from 0 to 2; it is null"},
      {"Context.new():generate{max_tokens = 0}", "max_tokens must be a whole number from 1 to"},
      {"Context.new():generate{regex = 'a', choice = {'b'}}",
       "give one of schema, regex and choice"},
      {"Context.new():user(nil)", "user: a text in UTF-8 is wanted, not nil"},
      {"Context.new():user('\\255')", "user: a text in UTF-8 is wanted"},
      {"local c = Context.new() c:release() c:user('x')", "ctx:user: the context was released"},
      {"Context.new().user('x')", "call it as ctx:user(...)"},
      {"all{Context.new():user('q'):fork()}", "number 1 of the list is a userdata, not a function"},
      {"map({1, 2})", "map takes a list and a function"},
      {"table.sort({2, 1}, function(a, b) Context.new():user('q'):generate() end)",
       "generate waits, and nothing may wait here"},
      {"require('socket')", "require: there is no module \"socket\""},
      {"Context.new{model = 'nope'}", "nope"},
      {"return print", "the result is a function"},
      {"race{}", "race: there is no function in the list"},
      {"Context.new():user('q'):score({''})", "a text must not be empty"},
      {"stage(12)", "stage: a text in UTF-8 is wanted, not 12"},
      {"math.random(2, 1)", "math.random: the interval is empty"},
  };
  for (const Mistake& mistake : mistakes) {
    SCOPED_TRACE(mistake.body);
    ProgramRig rig(program_of(mistake.body));
    EXPECT_THAT(rig.start().failure().message, HasSubstr(mistake.message));
    rig.expect_nothing_left();
  }
}

TEST(ProgramLimits, AContextIsUsedByOneCallAtATime) {
  ProgramRig rig(program_of(R"(
    local ctx = Context.new():user("q")
    all{function() ctx:generate() end, function() ctx:generate() end})"));
  auto instance = rig.start();
  EXPECT_THAT(instance.failure().message,
              HasSubstr("another branch's call waits for this context"));
  EXPECT_TRUE(rig.models.calls().at(0).is_stopped);
  rig.expect_nothing_left();
}

TEST(ProgramLimits, APieceThatIsNoProgramIsRefused) {
  const Mistake mistakes[] = {
      {"return function(", "test.lua:1:"},
      {"return 5", "a program returns a function"},
      {"local x = 1", "this one returns nothing"},
      {"error('at once')", "test.lua:1: at once"},
      {"Context.new()", "Context.new is called outside the program's function"},
      {"all{}", "all is called outside the program's function"},
      {"while true do end", "instruction limit of 10000000 exceeded"},
      {"\27Lua", "test.lua"},
  };
  for (const Mistake& mistake : mistakes) {
    SCOPED_TRACE(mistake.body);
    const Result<void> checked =
        ProgramLoop::check(Program{.name = "test.lua", .source = mistake.body}, {});
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().message, HasSubstr(mistake.message));
    ProgramRig rig(mistake.body);
    EXPECT_EQ(rig.start().failure().code, kProgramInvalid);
  }
  EXPECT_TRUE(ProgramLoop::check(
      Program{.name = "test.lua", .source = "local t = {} return function() end"}, {}));
}

// --- limits -----------------------------------------------------------------------------------

struct Limited {
  const char* body;
  ProgramLimits limits;
  std::string_view code;
};

TEST(ProgramLimits, EachLimitHasItsCode) {
  const Limited cases[] = {
      {"while true do end", {.instructions_max = 1'000'000}, kInstructionLimit},
      {"while true do pcall(function() end) end",
       {.instructions_max = 1'000'000},
       kInstructionLimit},
      {"local t = {} for i = 1, 1e9 do t[i] = i end", {.memory_bytes_max = 1 << 20}, kMemoryLimit},
      {"local s = 'x' while true do pcall(function() s = s .. s end) end",
       {.memory_bytes_max = 1 << 20},
       kMemoryLimit},
      {"local t = {} for i = 1, 9 do t[i] = Context.new() end", {.contexts_max = 8}, kContextLimit},
      {"local t = {} for i = 1, 100 do t[i] = Context.new():user(('x'):rep(50000)) end",
       {.memory_bytes_max = 1 << 20},
       kMemoryLimit},
      {"local t = {} for i = 1, 99 do pcall(function() t[i] = Context.new():user(('x'):rep(50000)) "
       "end) end",
       {.memory_bytes_max = 1 << 20},
       kMemoryLimit},
      {"return Context.new():user('q'):fork(9)", {.contexts_max = 8}, kContextLimit},
      {"all{print, print, print}", {.children_max = 2}, kChildrenLimit},
      {"Context.new():user('q'):generate{max_tokens = 100}", {.tokens_max = 99}, kTokenLimit},
      {"return ('x'):rep(1000)", {.result_bytes_max = 100}, kResultLimit},
      {"return print", {}, kProgramError},  // no limit was hit: it is no JSON
  };
  for (const Limited& limited : cases) {
    SCOPED_TRACE(limited.body);
    ProgramRig rig(program_of(limited.body), limited.limits);
    const llm::Failure failure = rig.start().failure();
    EXPECT_EQ(failure.code, limited.code) << failure.message;
    EXPECT_EQ(failure.failure_class, llm::FailureClass::kRequest);
    rig.expect_nothing_left();
  }
}

// The limit is noticed when the task that hit it waits already.
TEST(ProgramLimits, BranchesWithoutEndHitTheMemoryLimit) {
  ProgramRig rig(program_of("local f f = function() return all{f, f} end return pcall(f)"),
                 {.memory_bytes_max = 1 << 20});
  EXPECT_EQ(rig.start().failure().code, kMemoryLimit);
  rig.expect_nothing_left();
}

TEST(ProgramLimits, BranchesOfBranchesHaveALimit) {
  ProgramRig rig(program_of(R"(
    local f f = function() return all{f} end
    local _, why = pcall(f)
    return {why.code, why.message})"));
  EXPECT_EQ(json_text(rig.start().result()),
            R"(["program_children_limit","all: branches are nested 200 deep, which is the limit; )"
            R"(end the recursion earlier"])");
  rig.expect_nothing_left();
}

TEST(ProgramLimits, AnInputAboveTheMemoryLimitIsNamedAsThat) {
  ProgramRig rig(program_of("return 1"), {.memory_bytes_max = 1 << 20});
  auto instance = rig.start("\"" + std::string(2 << 20, 'x') + "\"");
  const llm::Failure failure = instance.failure();
  EXPECT_EQ(failure.code, kMemoryLimit);
  EXPECT_EQ(failure.message,
            "memory limit of 1 MiB exceeded; keep less at a time, or raise --program-memory-mb");
  rig.expect_nothing_left();
}

TEST(ProgramLimits, TextThatContextsShareCountsOnce) {
  ProgramRig rig(program_of(R"(
    local root = Context.new():user(("x"):rep(60000))
    local forks = root:fork(100)
    root:release()
    for i = 1, 100 do forks[i]:assistant("y") end
    for i = 1, 100 do forks[i]:release() end
    return #Context.new():user(("x"):rep(60000)):text())"),
                 {.memory_bytes_max = 1 << 20});
  EXPECT_EQ(json_text(rig.start().result()), "60000");
  rig.expect_nothing_left();
}

TEST(ProgramLimits, ContextsThatNothingRefersToMakeRoom) {
  ProgramRig rig(program_of("for i = 1, 100 do Context.new():user('q') end return 'fine'"),
                 {.contexts_max = 8});
  EXPECT_EQ(json_text(rig.start().result()), R"("fine")");
  rig.expect_nothing_left();
}

// The task that waits for `all` is cancelled when that is over, and before it goes on.
TEST(ProgramLimits, AResultThatItsTaskNeverGotIsLetGo) {
  ProgramRig rig(program_of(R"(
    race{
      function() all{function() return Context.new() end} end,
      function() Context.new():user("q"):generate() end}
    local a, b = Context.new(), Context.new()
    return "fine")"),
                 {.contexts_max = 2});
  rig.models.answer_at_once = [](const ScriptedModels::Call&) { return "so"; };
  EXPECT_EQ(json_text(rig.start().result()), R"("fine")");
  rig.expect_nothing_left();
}

TEST(ProgramLimits, AnInstanceEndsWhenItsTimeIsOver) {
  ProgramRig rig(program_of(R"(
    local ctx <close> = Context.new()
    ctx:user("q"):generate())"),
                 {.wall_max = std::chrono::seconds(5)});
  auto instance = rig.start();
  rig.models.wait_for_waiting(1);
  rig.clock.advance(std::chrono::seconds(6));
  rig.loop.check_time();
  EXPECT_EQ(instance.failure().code, kTimeLimit);
  EXPECT_TRUE(rig.models.calls().at(0).is_stopped);
  rig.expect_nothing_left();
}

TEST(ProgramLimits, AProgramThatLoopsKeepsNoOtherFromItsAnswers) {
  ProgramRig rig(program_of(R"(
    if input == "loop" then while true do end end
    return Context.new():user("q"):generate().text)"),
                 {.instructions_max = INT64_MAX});
  auto loops = rig.start(R"("loop")");
  auto other = rig.start(R"("ask")");
  rig.models.answer(rig.models.wait_for_waiting(1).at(0).number, "here");
  EXPECT_EQ(json_text(other.result()), R"("here")");
  rig.loop.cancel(loops.id());
  EXPECT_EQ(loops.failure().failure_class, llm::FailureClass::kCancelled);
  rig.expect_nothing_left();
}

TEST(ProgramLimits, TwoInstancesShareNothing) {
  ProgramRig rig(
      program_of("_G.seen = (_G.seen or 0) + 1 string.mine = 1 return {_G.seen, #input}"));
  EXPECT_EQ(json_text(rig.start("[1]").result()), "[1,1]");
  EXPECT_EQ(json_text(rig.start("[1,2]").result()), "[1,2]");
}

}  // namespace
}  // namespace windrow::program
