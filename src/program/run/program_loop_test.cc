#include "program/run/program_loop.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <map>
#include <set>
#include <string>
#include <thread>

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
    return {text = answer.text, finish = answer.finish, cut = answer.truncated,
            said = tostring(answer)})"));
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

// Whenever its call has ended, which frees nothing of the next one then.
TEST(ProgramLoop, AContextIsFreeOnceTheBranchThatUsedItIsCancelled) {
  ProgramRig rig(program_of(R"(
    local ctx = Context.new():user("loser")
    race{function() ctx:generate() end, function() Context.new():user("winner"):generate() end}
    return ctx:user("again"):generate().text)"));
  rig.models.keep_stopped_calls();
  auto instance = rig.start();
  rig.models.answer(rig.models.wait_for_waiting(2)[1].number, "first");
  const auto calls = rig.models.wait_for_waiting(2);
  EXPECT_THAT(calls[1].prompt_text, HasSubstr("again"));
  rig.models.answer(calls[0].number, "late");
  rig.models.answer(calls[1].number, "fine");
  EXPECT_EQ(text_of(instance.result()), R"("fine")");
  rig.expect_nothing_left();
}

TEST(ProgramLoop, TokensOfACallThatWasStoppedAreInTheResult) {
  ProgramRig rig(program_of(R"(
    local function ask() return Context.new():user("q"):generate().text end
    return race{ask, ask})"));
  rig.models.keep_stopped_calls();
  auto instance = rig.start();
  const auto calls = rig.models.wait_for_waiting(2);
  rig.models.answer(calls[1].number, "first");
  while (!rig.models.calls()[0].is_stopped)
    std::this_thread::yield();
  rig.models.answer(calls[0].number, "late");
  const ProgramEnd end = instance.end();
  EXPECT_GT(end.usage.wasted_tokens, 0);
  EXPECT_THAT(std::get<std::string>(end.outcome),
              HasSubstr(fmt::format(R"("wasted_tokens":{})", end.usage.wasted_tokens)));
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
    while true do pcall(function() Context.new():user("q"):generate() end) end)"));
  auto instance = rig.start();
  rig.models.fail(rig.models.wait_for_waiting(1).at(0).number,
                  model_failure(llm::FailureClass::kBackend));
  EXPECT_EQ(instance.failure().failure_class, llm::FailureClass::kBackend);
  rig.expect_nothing_left();
}

TEST(ProgramLoop, AnInputMayBeAsDeepAsALine) {
  ProgramRig rig(program_of(R"(
    local depth = 0
    while input[1] do depth, input = depth + 1, input[1] end
    return depth)"));
  EXPECT_EQ(text_of(rig.start(std::string(100, '[') + std::string(100, ']')).result()), "99");
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

// So servers that refuse unknown arguments can be asked, and many choices fit a limit of tokens.
TEST(ProgramLoop, SelectAsksAServerForNoMoreThanAChoice) {
  ProgramRig rig(program_of(R"(
    local choices = {"yes", ("no"):rep(10)}
    local plain = Context.new():user("q"):select(choices)
    local thinks = Context.new{thinking = true}:user("q"):select(choices)
    return {plain, thinks})"),
                 {.tokens_max = 200}, true);
  rig.models.answer_at_once = [](const ScriptedModels::Call&) { return std::string("yes"); };
  EXPECT_EQ(text_of(rig.start().result()), R"(["yes","yes"])");
  const auto calls = rig.models.calls();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].options.output_tokens_max, 22 + 64);
  EXPECT_FALSE(calls[0].prompt.chat.wishes.contains("enable_thinking"));
  EXPECT_EQ(calls[1].prompt.chat.wishes.at("enable_thinking"), false);
}

TEST(ProgramLoop, ASelectThatWasCutSaysWhatToDo) {
  ProgramRig rig(program_of(R"(Context.new():user("q"):select({"a", "b"}))"), {}, true);
  auto instance = rig.start();
  rig.models.answer(rig.models.wait_for_waiting(1).at(0).number, "hm", llm::FinishReason::kLength);
  EXPECT_THAT(instance.failure().message, HasSubstr("give thinking = false to Context.new"));
}

TEST(ProgramLoop, LinesOfTheLogHaveTheRowsId) {
  ProgramRig rig(program_of(R"(log("step", 1, {} ~= nil) print(log, {}, Context.new()))"));
  rig.start("", 1, "r7").end();
  EXPECT_THAT(rig.log(), ElementsAre("r7: step\t1\ttrue", "r7: function\ttable\tcontext 1"));
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
