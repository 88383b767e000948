#include "program/run/program_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <map>
#include <set>
#include <string>

#include "base/random.h"
#include "program/testing/program_rig.h"

namespace windrow::program {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::program_of;
using testing::ProgramRig;
using testing::ScriptedModels;
using ::testing::SizeIs;

std::string text_of(const boost::json::value& value) {
  return boost::json::serialize(value);
}

// Answers every call at once with its own number.
void answer_at_once(ProgramRig& rig) {
  rig.models.answer_at_once = [](const ScriptedModels::Call& call) {
    return "answer " + std::to_string(call.number);
  };
}

llm::Failure model_failure(llm::FailureClass failure_class = llm::FailureClass::kRequest) {
  return {.failure_class = failure_class,
          .status = 503,
          .code = "model_is_tired",
          .message = "the model is tired; try tomorrow",
          .param = {}};
}

// --- what programs can do ---------------------------------------------------------------------

TEST(ProgramLoop, AProgramAsksAndReturns) {
  ProgramRig rig(program_of(R"(
    local ctx <close> = Context.new()
    ctx:system("Be short."):user(input.question)
    local answer = ctx:generate{max_tokens = 16, temperature = 0.5, stop = {"x", "y"}}
    return {text = answer.text, finish = answer.finish, cut = answer.truncated, said = tostring(answer)})"));
  auto instance = rig.start(R"({"question":"why?"})");
  const ScriptedModels::Call call = rig.models.wait_for_waiting(1).at(0);
  EXPECT_EQ(call.prompt_text,
            "<|im_start|>system\nBe short.<|im_end|>\n<|im_start|>user\nwhy?<|im_end|>\n"
            "<|im_start|>assistant\n");
  EXPECT_EQ(call.options.output_tokens_max, 16);
  EXPECT_EQ(call.options.temperature, 0.5F);
  EXPECT_THAT(call.options.stop, ElementsAre("x", "y"));
  EXPECT_NE(call.owner.part, 0U);
  rig.models.answer(call.number, "so");
  EXPECT_EQ(text_of(instance.result()), R"({"cut":false,"finish":"stop","said":"so","text":"so"})");
  rig.expect_nothing_left();
}

TEST(ProgramLoop, ItsUsageIsThatOfAllItsCalls) {
  ProgramRig rig(program_of(R"(
    local ctx = Context.new():user("q")
    ctx:generate()
    ctx:user("more"):generate()
    return usage().calls)"));
  answer_at_once(rig);
  auto instance = rig.start();
  const ProgramEnd end = instance.end();
  EXPECT_EQ(end.usage.calls, 2);
  EXPECT_GT(end.usage.tokens.prompt_tokens, 0);
  EXPECT_GT(end.usage.tokens.completion_tokens, 0);
  EXPECT_EQ(end.usage.contexts_peak, 1);
  EXPECT_GT(end.usage.memory_bytes_peak, 1000);
}

TEST(ProgramLoop, BranchesOfAllAreInFlightTogether) {
  ProgramRig rig(program_of(R"(
    local root = Context.new():user("q")
    local forks = root:fork(3)
    local calls = {}
    for i, ctx in ipairs(forks) do
      calls[i] = function() return ctx:generate().text end
    end
    return all(calls))"));
  auto instance = rig.start();
  const auto calls = rig.models.wait_for_waiting(3);
  ASSERT_THAT(calls, SizeIs(3));
  // Whatever the order of answers, results are in the order of branches.
  rig.models.answer(calls[2].number, "c");
  rig.models.answer(calls[0].number, "a");
  rig.models.answer(calls[1].number, "b");
  EXPECT_EQ(text_of(instance.result()), R"(["a","b","c"])");
  rig.expect_nothing_left();
}

TEST(ProgramLoop, MapRunsNoMoreThanItsLimitAtATime) {
  ProgramRig rig(program_of(R"(
    return map({"a", "b", "c", "d"}, function(item, index)
      local ctx <close> = Context.new()
      return index .. ctx:user(item):generate().text
    end, 2))"));
  auto instance = rig.start();
  for (int answered = 0; answered < 4; ++answered) {
    const auto waiting = rig.models.wait_for_waiting(answered < 3 ? 2 : 1);
    EXPECT_THAT(waiting, SizeIs(answered < 3 ? 2 : 1));
    rig.models.answer(waiting.back().number, "!");
  }
  EXPECT_EQ(text_of(instance.result()), R"(["1!","2!","3!","4!"])");
  rig.expect_nothing_left();
}

TEST(ProgramLoop, TheFirstOfARaceWinsAndTheOthersAreStopped) {
  ProgramRig rig(program_of(R"(
    local function ask(text)
      return function() return Context.new():user(text):generate().text end
    end
    local text, index = race{ask("a"), ask("b"), ask("c")}
    return {text, index})"));
  auto instance = rig.start();
  const auto calls = rig.models.wait_for_waiting(3);
  rig.models.answer(calls[1].number, "b wins");
  EXPECT_EQ(text_of(instance.result()), R"(["b wins",2])");
  EXPECT_TRUE(rig.models.calls()[0].is_stopped);
  EXPECT_TRUE(rig.models.calls()[2].is_stopped);
  rig.expect_nothing_left();
}

TEST(ProgramLoop, TheFirstErrorStopsItsSiblingsAndHasBothTracebacks) {
  ProgramRig rig(program_of(R"(
    local function inner() error("no luck") end
    local function ask()
      return Context.new():user("q"):generate()
    end
    all{ask, function() ask() inner() end, ask})"));
  auto instance = rig.start();
  const auto calls = rig.models.wait_for_waiting(3);
  rig.models.answer(calls[1].number, "well");
  const llm::Failure failure = instance.failure();
  EXPECT_EQ(failure.code, kProgramError);
  EXPECT_THAT(failure.message,
              AllOf(HasSubstr("test.lua:3: no luck"), HasSubstr("in upvalue 'inner'"),
                    HasSubstr("in function 'all'")));
  EXPECT_TRUE(rig.models.calls()[0].is_stopped);
  EXPECT_TRUE(rig.models.calls()[2].is_stopped);
  rig.expect_nothing_left();
}

TEST(ProgramLoop, AnErrorOfABranchCanBeCaught) {
  ProgramRig rig(program_of(R"(
    local ok, why = pcall(all, {function() error({reason = "mine"}) end})
    return {ok, why.reason})"));
  EXPECT_EQ(text_of(rig.start().result()), R"([false,"mine"])");
}

TEST(ProgramLoop, FailuresOfModelsAreErrorsThatCanBeToldApart) {
  ProgramRig rig(program_of(R"(
    local ctx = Context.new():user("q")
    local ok, why = pcall(ctx.generate, ctx)
    local again = ctx:generate().text
    return {ok, why.code, why.status, tostring(why), again})"));
  auto instance = rig.start();
  rig.models.fail(rig.models.wait_for_waiting(1).at(0).number, model_failure());
  rig.models.answer(rig.models.wait_for_waiting(1).at(0).number, "fine");
  EXPECT_EQ(text_of(instance.result()),
            R"([false,"model_is_tired",503,"the model is tired; try tomorrow","fine"])");
}

TEST(ProgramLoop, AnUncaughtFailureOfAModelIsTheRowsFailure) {
  ProgramRig rig(program_of(R"(Context.new():user("q"):generate())"));
  auto instance = rig.start();
  rig.models.fail(rig.models.wait_for_waiting(1).at(0).number, model_failure());
  const llm::Failure failure = instance.failure();
  EXPECT_EQ(failure.code, "model_is_tired");
  EXPECT_EQ(failure.status, 503);
  EXPECT_THAT(failure.message, HasSubstr("the model is tired"));
  EXPECT_THAT(failure.message, HasSubstr("test.lua:2:"));
}

TEST(ProgramLoop, WhatAProgramMakesOfABrokenBackendIsNoResult) {
  ProgramRig rig(program_of(R"(
    pcall(function() Context.new():user("q"):generate() end)
    return "made up")"));
  auto instance = rig.start();
  rig.models.fail(rig.models.wait_for_waiting(1).at(0).number,
                  model_failure(llm::FailureClass::kBackend));
  EXPECT_EQ(instance.failure().failure_class, llm::FailureClass::kBackend);
}

TEST(ProgramLoop, ScoresAndSelections) {
  ProgramRig rig(program_of(R"(
    local ctx = Context.new():user("q")
    local scores = ctx:score({"yes", "no"})
    local text, index, all_scores = ctx:select({"long answer", "short"})
    return {scores, text, index, #all_scores, ctx:messages()})"));
  rig.models.score_at_once = [](const ScriptedModels::Call& call) {
    return call.number == 1 ? std::vector<double>{-3, -4} : std::vector<double>{-11, -10};
  };
  const auto result = rig.start().result();
  EXPECT_EQ(text_of(result.at(0)), R"([{"logprob":-3E0,"mean":-1E0,"text":"yes","tokens":3},)"
                                   R"({"logprob":-4E0,"mean":-2E0,"text":"no","tokens":2}])");
  EXPECT_EQ(text_of(result.at(1)), R"("long answer")");
  EXPECT_EQ(text_of(result.at(2)), "1");
  EXPECT_EQ(text_of(result.at(3)), "2");
  // Members of tables have no order; JSON has them by name.
  EXPECT_EQ(text_of(result.at(4)),
            R"([{"content":"q","role":"user"},{"content":"long answer","role":"assistant"}])");
  rig.expect_nothing_left();
}

TEST(ProgramLoop, Vectors) {
  ProgramRig rig(program_of(R"(
    local ctx = Context.new():user("q")
    return {ctx:embed(), ctx:embed({"a", "b"}, {model = "other"})})"));
  rig.models.embed_at_once = [](const ScriptedModels::Call& call) {
    return std::vector<std::vector<float>>(call.texts.size(), {1, 0});
  };
  EXPECT_EQ(text_of(rig.start().result()), "[[1E0,0E0],[[1E0,0E0],[1E0,0E0]]]");
  EXPECT_THAT(rig.models.calls().at(0).texts, ElementsAre("q"));
  EXPECT_EQ(rig.models.calls().at(1).model, "other");
}

TEST(ProgramLoop, AnAnswerUnderASchemaIsAValue) {
  ProgramRig rig(program_of(R"(
    local ctx = Context.new():user("q")
    local answer = ctx:generate{schema = {type = "object", properties = {n = {type = "integer"}}}}
    return answer.value.n + 1)"));
  auto instance = rig.start();
  const auto call = rig.models.wait_for_waiting(1).at(0);
  ASSERT_TRUE(call.options.structured);
  EXPECT_EQ(call.options.structured->kind, llm::StructureSpec::Kind::kJsonSchema);
  EXPECT_EQ(call.options.structured->text,
            R"({"properties":{"n":{"type":"integer"}},"type":"object"})");
  rig.models.answer(call.number, R"({"n": 41})");
  EXPECT_EQ(text_of(instance.result()), "42");
}

TEST(ProgramLoop, AnAnswerThatWasCutIsASealedTurn) {
  ProgramRig rig(program_of(R"(
    local ctx = Context.new():user("q")
    local answer = ctx:generate{max_tokens = 2}
    ctx:user("go on"):generate()
    return {answer.truncated, answer.finish})"));
  auto instance = rig.start();
  rig.models.answer(rig.models.wait_for_waiting(1).at(0).number, "ha", llm::FinishReason::kLength);
  const auto second = rig.models.wait_for_waiting(1).at(0);
  EXPECT_THAT(second.prompt_text, HasSubstr("assistant\nha<|im_end|>\n<|im_start|>user\ngo on"));
  rig.models.answer(second.number, "more");
  EXPECT_EQ(text_of(instance.result()), R"([true,"length"])");
}

TEST(ProgramLoop, AServerElsewhereGetsMessages) {
  ProgramRig rig(program_of(R"(
    local ctx = Context.new():user("q")
    local text = ctx:fork():generate().text
    local ok, why = pcall(ctx.tokens, ctx)
    local chosen = ctx:select({"a", "b"})
    return {text, ok, why.code, chosen})"),
                 {}, true);
  rig.models.answer_at_once = [](const ScriptedModels::Call& call) {
    return std::string(call.options.structured ? "b" : "hello");
  };
  EXPECT_EQ(text_of(rig.start().result()), R"(["hello",false,"not_for_upstream","b"])");
}

TEST(ProgramLoop, LinesOfTheLogHaveTheRowsId) {
  ProgramRig rig(program_of(R"(log("step", 1, {} ~= nil) print("x"))"));
  rig.start("", 1, "r7").end();
  EXPECT_THAT(rig.log(), ElementsAre("r7: step\t1\ttrue", "r7: x"));
}

// --- mistakes ---------------------------------------------------------------------------------

struct Mistake {
  const char* body;
  const char* message;
};

TEST(ProgramLoop, MistakesAreNamed) {
  const Mistake mistakes[] = {
      {"Context.new{modle = 'x'}", "there is no option modle; did you mean model?"},
      {"Context.new():generate{temperature = 'hot'}",
       "generate: temperature must be a number from 0 to 2; it is \"hot\""},
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

TEST(ProgramLoop, AContextIsUsedByOneCallAtATime) {
  ProgramRig rig(program_of(R"(
    local ctx = Context.new():user("q")
    all{function() ctx:generate() end, function() ctx:generate() end})"));
  auto instance = rig.start();
  EXPECT_THAT(instance.failure().message,
              HasSubstr("another branch's call waits for this context"));
  EXPECT_TRUE(rig.models.calls().at(0).is_stopped);
  rig.expect_nothing_left();
}

TEST(ProgramLoop, APieceThatIsNoProgramIsRefused) {
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

TEST(ProgramLoop, EachLimitHasItsCode) {
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

TEST(ProgramLoop, ContextsThatNothingRefersToMakeRoom) {
  ProgramRig rig(program_of("for i = 1, 100 do Context.new():user('q') end return 'fine'"),
                 {.contexts_max = 8});
  EXPECT_EQ(text_of(rig.start().result()), R"("fine")");
  rig.expect_nothing_left();
}

TEST(ProgramLoop, AnInstanceEndsWhenItsTimeIsOver) {
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

TEST(ProgramLoop, AProgramThatLoopsKeepsNoOtherFromItsAnswers) {
  ProgramRig rig(program_of(R"(
    if input == "loop" then while true do end end
    return Context.new():user("q"):generate().text)"),
                 {.instructions_max = INT64_MAX});
  auto loops = rig.start(R"("loop")");
  auto other = rig.start(R"("ask")");
  rig.models.answer(rig.models.wait_for_waiting(1).at(0).number, "here");
  EXPECT_EQ(text_of(other.result()), R"("here")");
  rig.loop.cancel(loops.id());
  EXPECT_EQ(loops.failure().failure_class, llm::FailureClass::kCancelled);
  rig.expect_nothing_left();
}

TEST(ProgramLoop, TwoInstancesShareNothing) {
  ProgramRig rig(
      program_of("_G.seen = (_G.seen or 0) + 1 string.mine = 1 return {_G.seen, #input}"));
  EXPECT_EQ(text_of(rig.start("[1]").result()), "[1,1]");
  EXPECT_EQ(text_of(rig.start("[1,2]").result()), "[1,2]");
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

TEST(ProgramLoop, CancellationAtEveryWaitReleasesEverything) {
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

TEST(ProgramLoop, AFailureAtEveryCallReleasesEverything) {
  for (size_t answers = 0; answers < 7; ++answers) {
    SCOPED_TRACE(answers);
    ProgramRig rig(program_of(kDeepProgram));
    Random random(answers + 1);
    auto instance = rig.start();
    answer_some(rig, random, answers);
    // A call that lost a race may fail unheard.
    while (rig.loop.reading().instances > 0) {
      const auto waiting = rig.models.waiting();
      if (!waiting.empty()) rig.models.fail(waiting.back().number, model_failure());
    }
    EXPECT_EQ(instance.failure().code, "model_is_tired");
    rig.expect_nothing_left();
  }
}

TEST(ProgramLoop, AnErrorInEveryBranchReleasesEverything) {
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
    answer_at_once(rig);
    auto instance = rig.start(std::to_string(branch));
    EXPECT_EQ(instance.failure().code, kProgramError);
    rig.expect_nothing_left();
  }
}

TEST(ProgramLoop, ALoopThatIsDestroyedCancelsWhatRuns) {
  std::optional<testing::RunningInstance> instance;
  {
    ProgramRig rig(program_of(R"(Context.new():user("q"):generate())"));
    instance.emplace(rig.start());
    rig.models.wait_for_waiting(1);
  }
  EXPECT_EQ(instance->failure().failure_class, llm::FailureClass::kCancelled);
}

TEST(ProgramLoop, ACloseHandlerMayNotWaitAndHidesNothing) {
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

// --- determinism ------------------------------------------------------------------------------

// The seed of each answer by what was asked.
std::map<std::string, uint64_t> seeds_of(uint64_t seed, uint64_t order) {
  ProgramRig rig(program_of(R"(
    local root = Context.new():user("q")
    local numbers = map({1, 2, 3, 4, 5}, function(item)
      local ctx = root:fork()
      ctx:user("first " .. item):generate()
      for i, fork in ipairs(ctx:fork(2)) do
        fork:user(("second %d %d"):format(item, i)):generate()
      end
      return math.random(1000000)
    end, 3)
    root:user("numbers " .. table.concat(numbers, " ")):generate()
    return numbers)"));
  Random random(order);
  auto instance = rig.start("", seed);
  for (int answered = 0; answered < 16; ++answered) {
    const auto waiting = rig.models.wait_for_waiting(1);
    rig.models.answer(waiting[random.below(waiting.size())].number, "ok");
  }
  std::map<std::string, uint64_t> seeds;
  for (const auto& call : rig.models.calls()) {
    const std::string& prompt = call.prompt_text;
    seeds[prompt.substr(prompt.rfind("user\n"))] = call.options.seed;
  }
  EXPECT_EQ(instance.result().as_array().size(), 5U);
  return seeds;
}

TEST(ProgramLoop, SeedsDependOnThePathAndNotOnTheOrderOfAnswers) {
  const auto first = seeds_of(7, 1);
  ASSERT_EQ(first.size(), 16U);
  std::set<uint64_t> different;
  for (const auto& [asked, seed] : first)
    different.insert(seed);
  EXPECT_EQ(different.size(), 16U);
  for (uint64_t order = 2; order <= 6; ++order)
    EXPECT_EQ(seeds_of(7, order), first);
  EXPECT_NE(seeds_of(8, 1), first);
}

TEST(ProgramLoop, ASeedOfTheProgramsOwnIsUsedAsItIs) {
  ProgramRig rig(program_of(R"(Context.new():user("q"):generate{seed = 12345})"));
  answer_at_once(rig);
  rig.start().end();
  EXPECT_EQ(rig.models.calls().at(0).options.seed, 12345U);
}

// --- many -------------------------------------------------------------------------------------

TEST(ProgramLoop, ManyInstancesRunBesideEachOther) {
  ProgramRig rig(program_of(R"(
    local texts = map({1, 2, 3}, function(i)
      return Context.new():user(input .. i):generate().text
    end)
    return #texts)"));
  answer_at_once(rig);
  std::vector<testing::RunningInstance> instances;
  for (int i = 0; i < 200; ++i)
    instances.push_back(rig.start("\"row\"", static_cast<uint64_t>(i)));
  for (auto& instance : instances)
    EXPECT_EQ(text_of(instance.result()), "3");
  EXPECT_EQ(rig.models.calls().size(), 600U);
  rig.expect_nothing_left();
}

TEST(ProgramLoop, TheTraceHasEveryCallWithItsStageAndEnd) {
  ProgramRig rig(program_of(R"(
    stage("try")
    race{function() Context.new():user("a"):generate() end,
         function() Context.new():user("b"):generate() end}
    stage("check")
    Context.new():user("c"):generate())"));
  auto instance = rig.start("", 1, "r1");
  const auto calls = rig.models.wait_for_waiting(2);
  rig.models.answer(calls[0].number, "x");
  // The third call is made once the race is over.
  while (rig.models.calls().size() < 3)
    rig.loop.reading();
  rig.models.answer(3, "y");
  instance.end();
  std::multiset<std::string> spans;
  for (const TraceSpan& span : rig.trace.kept().spans)
    spans.insert(std::string(to_string(span.kind)) + " " + span.stage + " " + span.name + " " +
                 std::string(to_string(span.end)));
  EXPECT_THAT(spans, SizeIs(6));
}

}  // namespace
}  // namespace windrow::program
