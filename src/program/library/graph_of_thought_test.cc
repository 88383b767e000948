// programs/graph_of_thought.lua on scripted models.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/eventually.h"
#include "program/testing/scripted_answers.h"

namespace windrow::program {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::numbers_in;
using testing::ProgramRig;
using testing::question_of;
using testing::ScriptedModels;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::text_at;
using Call = ScriptedModels::Call;

enum class Step : uint8_t { kProposal, kJoin, kCheck };

Step step_of(const Call& call) {
  if (call.prompt_text.find("Attempt A") != std::string::npos) return Step::kJoin;
  if (call.prompt_text.find("A proposed solution") != std::string::npos) return Step::kCheck;
  return Step::kProposal;
}

std::vector<Call> calls_of(const ProgramRig& rig, Step step) {
  std::vector<Call> calls = rig.models.calls();
  std::erase_if(calls, [&](const Call& call) { return step_of(call) != step; });
  return calls;
}

// Proposals are the numbers of their calls times ten; who joins or checks names the largest.
std::string largest(const Call& call) {
  if (step_of(call) == Step::kProposal) return "Answer: " + std::to_string(call.number * 10);
  return "Answer: " + std::to_string(std::ranges::max(numbers_in(question_of(call))));
}

std::string input_of(int proposals, std::string_view schedule) {
  return R"({"question":"How many?","proposals":)" + std::to_string(proposals) +
         R"(,"schedule":")" + std::string(schedule) + "\"}";
}

struct GraphRig : ProgramRig {
  explicit GraphRig(bool upstream = false)
      : ProgramRig(testing::shipped_source("graph_of_thought"), {}, upstream) {}
};

TEST(GraphOfThought, BothSchedulesReduceToOneAnswer) {
  for (const char* schedule : {"level", "stream"}) {
    for (const int proposals : {2, 3, 5, 8}) {
      GraphRig rig;
      rig.models.answer_at_once = largest;
      const boost::json::value result = rig.start(input_of(proposals, schedule)).result();
      EXPECT_EQ(text_at(result, "answer"), std::to_string(10 * proposals)) << schedule << proposals;
      EXPECT_EQ(result.at("calls").as_int64(), 2 * proposals);
      EXPECT_THAT(result.at("solutions").as_array(), SizeIs(2 * proposals));
      EXPECT_THAT(calls_of(rig, Step::kProposal), SizeIs(proposals));
      EXPECT_THAT(calls_of(rig, Step::kJoin), SizeIs(proposals - 1));
      EXPECT_THAT(calls_of(rig, Step::kCheck), SizeIs(1));
      rig.expect_nothing_left();
    }
  }
}

TEST(GraphOfThought, DefaultsAreEightProposalsOf256Tokens) {
  GraphRig rig;
  rig.models.answer_at_once = largest;
  EXPECT_EQ(rig.start(R"({"question":"How many?"})").result().at("levels").as_int64(), 3);
  const std::vector<Call> proposals = calls_of(rig, Step::kProposal);
  ASSERT_THAT(proposals, SizeIs(8));
  std::set<uint64_t> seeds;
  for (const Call& call : rig.models.calls()) {
    EXPECT_EQ(call.options.output_tokens_max, 256);
    EXPECT_FLOAT_EQ(call.options.temperature.value(), 0.6F);
    EXPECT_FLOAT_EQ(call.options.top_p.value(), 0.95F);
    seeds.insert(call.options.seed);
  }
  EXPECT_THAT(seeds, SizeIs(16)) << "each answer has draws of its own";
  for (const Call& call : proposals)
    EXPECT_EQ(call.prompt.tokens, proposals.front().prompt.tokens) << "one prompt, shared by all";
}

TEST(GraphOfThought, JoinsSeeTheQuestionAndBothTextsAndNothingElse) {
  GraphRig rig;
  rig.models.answer_at_once = largest;
  EXPECT_EQ(text_at(rig.start(input_of(2, "level")).result(), "answer"), "20");
  const std::vector<Call> joins = calls_of(rig, Step::kJoin);
  ASSERT_THAT(joins, SizeIs(1));
  EXPECT_THAT(question_of(joins[0]), StartsWith("How many?\n\nHere are two attempts.\n\n"
                                                "Attempt A:\nAnswer: 10\n\n"
                                                "Attempt B:\nAnswer: 20\n\nEither may be wrong."));
  EXPECT_THAT(joins[0].prompt_text, Not(HasSubstr("Solve it in a few short steps")))
      << "a context of its own, not one of a proposal";
}

TEST(GraphOfThought, AnOddOneGoesOnToTheNextLevel) {
  GraphRig rig;
  rig.models.answer_at_once = largest;
  const boost::json::value result = rig.start(input_of(5, "level")).result();
  std::vector<std::vector<int64_t>> joined;
  for (const Call& call : calls_of(rig, Step::kJoin))
    joined.push_back(numbers_in(question_of(call)));
  EXPECT_THAT(joined, ElementsAre(ElementsAre(10, 20), ElementsAre(30, 40), ElementsAre(20, 40),
                                  ElementsAre(40, 50)));
  EXPECT_EQ(result.at("levels").as_int64(), 3);
}

TEST(GraphOfThought, ALevelBeginsWhenAllOfTheOneBeforeAreThere) {
  GraphRig rig;
  auto instance = rig.start(input_of(4, "level"));
  const std::vector<Call> proposals = rig.models.wait_for_waiting(4);
  for (const size_t i : {3U, 1U, 0U})
    rig.models.answer(proposals.at(i).number, largest(proposals.at(i)));
  EXPECT_EQ(windrow::testing::eventually([&] { return rig.loop.reading().tasks; }, 2), 2)
      << "the program and the proposal that is not there";
  EXPECT_THAT(rig.models.waiting(), SizeIs(1));
  rig.models.answer(proposals.at(2).number, largest(proposals.at(2)));
  const std::vector<Call> joins = rig.models.wait_for_waiting(2);
  EXPECT_THAT(numbers_in(question_of(joins.at(0))), ElementsAre(10, 20));
  EXPECT_THAT(numbers_in(question_of(joins.at(1))), ElementsAre(30, 40));
  EXPECT_EQ(rig.loop.reading().contexts, 4)
      << "the shared one, that of the proposals and one for each pair: all others are released";
  for (const Call& call : joins)
    rig.models.answer(call.number, largest(call));
  for (int left = 0; left < 2; ++left) {
    const Call call = rig.models.wait_for_waiting(1).at(0);
    rig.models.answer(call.number, largest(call));
  }
  EXPECT_EQ(text_at(instance.result(), "answer"), "40");
  rig.expect_nothing_left();
}

TEST(GraphOfThought, AStreamJoinsTwoAsSoonAsTheyAreThere) {
  GraphRig rig;
  auto instance = rig.start(input_of(3, "stream"));
  const std::vector<Call> proposals = rig.models.wait_for_waiting(3);
  rig.models.answer(proposals.at(2).number, largest(proposals.at(2)));
  rig.models.answer(proposals.at(0).number, largest(proposals.at(0)));
  const std::vector<Call> waiting = rig.models.wait_for_waiting(2);
  EXPECT_EQ(waiting.at(0).number, proposals.at(1).number) << "it is still being made";
  EXPECT_EQ(step_of(waiting.at(1)), Step::kJoin);
  EXPECT_THAT(numbers_in(question_of(waiting.at(1))), ElementsAre(10, 30))
      << "in the order of proposals, whichever came first";
  rig.models.answer(waiting.at(1).number, largest(waiting.at(1)));
  rig.models.answer(waiting.at(0).number, largest(waiting.at(0)));
  const Call second = rig.models.wait_for_waiting(1).at(0);
  EXPECT_THAT(numbers_in(question_of(second)), ElementsAre(30, 20))
      << "candidates of two levels; the joined one began with the first proposal";
  rig.models.answer(second.number, largest(second));
  const Call check = rig.models.wait_for_waiting(1).at(0);
  rig.models.answer(check.number, largest(check));
  EXPECT_EQ(text_at(instance.result(), "answer"), "30");
  rig.expect_nothing_left();
}

// Ends the calls that wait; the ones whose numbers are in `cut` at their limit.
void answer_waiting(ProgramRig& rig, size_t count, const std::set<uint64_t>& cut) {
  for (const Call& call : rig.models.wait_for_waiting(count)) {
    rig.models.answer(
        call.number, largest(call),
        cut.contains(call.number) ? llm::FinishReason::kLength : llm::FinishReason::kStop);
  }
}

std::vector<bool> dropped(const boost::json::value& result) {
  std::vector<bool> list;
  for (const boost::json::value& solution : result.at("solutions").as_array())
    list.push_back(solution.at("dropped").as_bool());
  return list;
}

TEST(GraphOfThought, AProposalThatWasCutOffIsDroppedWhereTwoAreLeft) {
  GraphRig rig;
  auto instance = rig.start(input_of(3, "level"));
  answer_waiting(rig, 3, {2});
  EXPECT_THAT(numbers_in(question_of(rig.models.wait_for_waiting(1).at(0))), ElementsAre(10, 30));
  answer_waiting(rig, 1, {});
  answer_waiting(rig, 1, {});
  const boost::json::value result = instance.result();
  EXPECT_EQ(text_at(result, "answer"), "30");
  EXPECT_EQ(result.at("levels").as_int64(), 1);
  EXPECT_THAT(dropped(result), ElementsAre(false, true, false, false, false));
}

TEST(GraphOfThought, ProposalsThatWereCutOffAreUsedAndMarkedWhereTooFewAreLeft) {
  GraphRig rig;
  auto instance = rig.start(input_of(2, "stream"));
  answer_waiting(rig, 2, {1});
  EXPECT_THAT(question_of(rig.models.wait_for_waiting(1).at(0)),
              AllOf(HasSubstr("Answer: 10 [cut off]\n"), HasSubstr("Answer: 20\n")));
  answer_waiting(rig, 1, {});
  answer_waiting(rig, 1, {});
  const boost::json::value result = instance.result();
  EXPECT_EQ(text_at(result, "answer"), "20");
  EXPECT_THAT(dropped(result), Each(false));
}

TEST(GraphOfThought, AJoinThatWasCutOffLeavesTheFirstOfItsTwo) {
  GraphRig rig;
  auto instance = rig.start(input_of(2, "level"));
  answer_waiting(rig, 2, {});
  answer_waiting(rig, 1, {3});
  EXPECT_THAT(question_of(rig.models.wait_for_waiting(1).at(0)),
              HasSubstr("A proposed solution:\nAnswer: 10\n"));
  answer_waiting(rig, 1, {4});
  EXPECT_EQ(text_at(instance.result(), "answer"), "10")
      << "a check that was cut off corrects nothing";
}

TEST(GraphOfThought, WithoutACheckTheLastSolutionAnswers) {
  GraphRig rig;
  rig.models.answer_at_once = largest;
  const boost::json::value result =
      rig.start(R"({"question":"How many?","proposals":2,"check":false})").result();
  EXPECT_EQ(text_at(result, "answer"), "20");
  EXPECT_EQ(result.at("calls").as_int64(), 3);
}

TEST(GraphOfThought, BudgetsAndPromptsAreThoseOfTheInput) {
  GraphRig rig;
  rig.models.answer_at_once = [](const Call&) { return "none"; };
  const boost::json::value result =
      rig.start(R"({"question":"{a} %1","proposal_tokens":[5,6],"aggregation_tokens":7,
        "prompts":{"system":"S","proposal":"P {question}","aggregation":"J {b} {a} {question}",
                   "check":"C {solution}"}})")
          .result();
  EXPECT_TRUE(result.at("answer").is_null()) << "no solution gives one";
  std::vector<std::pair<std::string, int32_t>> asked;
  for (const Call& call : rig.models.calls()) {
    EXPECT_THAT(call.prompt_text, StartsWith("<|im_start|>system\nS<|im_end|>\n"));
    asked.emplace_back(question_of(call), call.options.output_tokens_max.value());
  }
  EXPECT_THAT(asked, ElementsAre(std::pair("P {a} %1", 5), std::pair("P {a} %1", 6),
                                 std::pair("J none none {a} %1", 7), std::pair("C none", 7)));
}

TEST(GraphOfThought, WhatCannotBeRunIsRefusedBeforeTheFirstCall) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"null", "it has no question"},
      {R"({"question":""})", "it has no question"},
      {R"({"question":"q","proposals":1})", "of 1 proposals nothing can be joined"},
      {R"({"question":"q","proposals":0})", "proposals is 0"},
      {R"({"question":"q","proposals":2.5})", "proposals is 2.5"},
      {R"({"question":"q","proposal_tokens":0})", "proposal_tokens is 0"},
      {R"({"question":"q","proposal_tokens":[]})", "of 0 proposals nothing can be joined"},
      {R"({"question":"q","proposal_tokens":[9,0]})", "proposal_tokens is 0"},
      {R"({"question":"q","proposals":3,"proposal_tokens":[1,2]})", "proposal_tokens has 2"},
      {R"({"question":"q","aggregation_tokens":-1})", "aggregation_tokens is -1"},
      {R"({"question":"q","schedule":"fast"})", "schedule is fast: give level or stream"},
      {R"({"question":"q","prompts":{"plan":"x"}})", "prompts.plan"},
  };
  for (const auto& [input, what] : cases) {
    GraphRig rig;
    const llm::Failure failure = rig.start(input).failure();
    EXPECT_EQ(failure.code, kProgramError) << input;
    EXPECT_THAT(failure.message, HasSubstr(what)) << input;
    EXPECT_THAT(rig.models.calls(), IsEmpty()) << input;
    rig.expect_nothing_left();
  }
}

TEST(GraphOfThought, AFailedProposalStopsTheOthers) {
  for (const char* schedule : {"level", "stream"}) {
    GraphRig rig;
    auto instance = rig.start(input_of(8, schedule));
    const std::vector<Call> proposals = rig.models.wait_for_waiting(8);
    rig.models.answer(proposals.at(0).number, "Answer: 1");
    rig.models.fail(proposals.at(5).number, {.failure_class = llm::FailureClass::kRequest,
                                             .status = 400,
                                             .code = "too_long",
                                             .message = "the prompt is too long",
                                             .param = {}});
    const llm::Failure failure = instance.failure();
    EXPECT_EQ(failure.code, "too_long");
    const auto stopped = std::ranges::count_if(rig.models.calls(), &Call::is_stopped);
    EXPECT_EQ(stopped, 6);
    rig.expect_nothing_left();
  }
}

// What is said depends on the seed alone.
std::string by_seed(const Call& call) {
  return "Answer: " + std::to_string(call.options.seed % 100'000);
}

TEST(GraphOfThought, ByLevelsTheResultDoesNotDependOnWhatWasReadyFirst) {
  std::set<std::string> results;
  for (const bool backwards : {false, true}) {
    GraphRig rig;
    auto instance = rig.start(input_of(6, "level"), 7);
    for (const size_t width : {6U, 3U, 1U, 1U, 1U}) {
      std::vector<Call> calls = rig.models.wait_for_waiting(width);
      if (backwards) std::ranges::reverse(calls);
      for (const Call& call : calls)
        rig.models.answer(call.number, by_seed(call));
    }
    results.insert(boost::json::serialize(instance.result()));
  }
  EXPECT_THAT(results, SizeIs(1));
}

TEST(GraphOfThought, RunsUnchangedWithAServerElsewhere) {
  GraphRig rig(/*upstream=*/true);
  rig.models.answer_at_once = largest;
  EXPECT_EQ(text_at(rig.start(input_of(8, "level")).result(), "answer"), "80");
  rig.expect_nothing_left();
}

}  // namespace
}  // namespace windrow::program
