// The other programs that are shipped, their modules, and the examples, on scripted models.

#include <embedded/document_merging.lua.h>
#include <embedded/keyword_counting.lua.h>
#include <embedded/set_intersection.lua.h>
#include <embedded/sorting.lua.h>
#include <embedded/sums.lua.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "program/testing/scripted_answers.h"

namespace windrow::program {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::numbers_in;
using testing::program_of;
using testing::ProgramRig;
using testing::question_of;
using testing::ScriptedModels;
using testing::shipped_source;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::text_at;
using Call = ScriptedModels::Call;

std::string text_of(const boost::json::value& value) {
  return boost::json::serialize(value);
}

// --- answers ----------------------------------------------------------------------------------

TEST(AnswersModule, FindsTheFinalAnswerOfAText) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"It is $1,234.50.", "1234.5"},
      {"3 apples, and 12.", "12"},
      {"5-3=2, so -7", "-7"},
      {"10-5", "5"},
      {"it fell by -$5", "-5"},
      {"007", "7"},
      {"0.00", "0"},
      {"nothing", "null"},
      {"12 and then\\n#### 1,000\\n", "1000"},
      {"Answer: 3\\nor not. Answer: 4 kg\\nThat was in 2020.", "4"},
      {"**Answer:** Paris.\\nIn 1 word.", "paris"},
      {"The answer is 12.", "12"},
  };
  for (const auto& [text, answer] : cases) {
    ProgramRig rig(program_of("return require('answers').final(input) or json.null"));
    const boost::json::value result = rig.start("\"" + text + "\"").result();
    EXPECT_EQ(result.is_null() ? "null" : std::string(result.as_string()), answer) << text;
  }
}

TEST(AnswersModule, CountsVotes) {
  const auto vote = [](std::string_view list) {
    ProgramRig rig(
        program_of("local w, n, all = require('answers').vote(input)\n"
                   "return {w or json.null, n, all}"));
    return text_of(rig.start(std::string(list)).result());
  };
  EXPECT_EQ(vote(R"(["2","1",false,"1.0","3"])"), R"(["1",2,4])");
  EXPECT_EQ(vote(R"(["2","1","1","2"])"), R"(["2",2,4])") << "the first of equally many";
  EXPECT_EQ(vote("[false]"), R"([null,0,0])");
}

// --- graph ------------------------------------------------------------------------------------

TEST(GraphModule, ScoresKeepsValidatesAndSelectsWithoutChangingItsLists) {
  ProgramRig rig(program_of(R"(
    local graph = require("graph")
    local list = graph.split(graph.candidate("b a cc d"), function(text)
      local parts = {}
      for part in text:gmatch("%a+") do parts[#parts + 1] = part end
      return parts
    end)
    local scored = graph.score(list, function(candidate) return #candidate.text end)
    local checked = graph.validate(list, function(candidate)
      if #candidate.text == 1 then return true end
      return false, "it is long"
    end, function(candidate) return graph.candidate(candidate.text:sub(1, 1)) end)
    local odd = graph.select(list, function(_, index) return index % 2 == 1 end)
    return {
      best = graph.texts(graph.keep_best(scored, 3)),
      all = #graph.keep_best(scored, 9),
      fixed = graph.texts(checked),
      valid = checked[3].valid,
      odd = graph.texts(odd),
      first = {score = list[1].score, valid = list[1].valid, from = list[1].from[1].text},
    })"));
  EXPECT_EQ(rig.start().result(),
            boost::json::parse(R"({"best":["cc","b","a"],"all":4,"fixed":["b","a","c","d"],
              "valid":true,"odd":["b","cc"],"first":{"from":"b a cc d"}})"));
}

TEST(GraphModule, SaysWhatIsWrongWithACall) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"graph.candidate(5)", "graph.candidate: the text is a number"},
      {"graph.split(one, function() return {} end)", "graph.split: the function returned no parts"},
      {"graph.generate(nil, {one}, {count = 0})", "graph.generate: count has to be 1 or more"},
      {"graph.score({one}, function() end)", "graph.score: the function returned nil"},
      {"graph.keep_best({one}, 1)", "graph.keep_best: candidate 1 has no score"},
      {"graph.keep_best({}, 0)", "graph.keep_best: the number to keep has to be 1 or more"},
      {"graph.aggregate(nil, {}, {})", "graph.aggregate: the list is empty"},
      {"graph.improve(nil, {one}, {})", "graph.improve: give prompt"},
      {"graph.reduce({}, nil, {schedule = 'x'})", "graph.reduce: schedule x"},
  };
  for (const auto& [call, what] : cases) {
    ProgramRig rig(
        program_of("local graph = require('graph')\n"
                   "local one = graph.candidate('one')\n" +
                   call));
    EXPECT_THAT(rig.start().failure().message, HasSubstr(what)) << call;
  }
}

TEST(GraphModule, ReduceOfNothingIsNothing) {
  for (const char* schedule : {"level", "stream"}) {
    ProgramRig rig(program_of(fmt::format(
        "return require('graph').reduce({{function() end}}, nil, {{schedule = '{}'}}) == nil",
        schedule)));
    EXPECT_TRUE(rig.start().result().as_bool());
  }
}

// --- programs ---------------------------------------------------------------------------------

TEST(SelfConsistency, TheMostFrequentAnswerWins) {
  for (const bool upstream : {false, true}) {
    ProgramRig rig(shipped_source("self_consistency"), {}, upstream);
    rig.models.answer_at_once = [](const Call& call) {
      return std::vector<std::string>{"Answer: 3", "Answer: 4.0", "no idea", "#### 4"}.at(
          call.number - 1);
    };
    const boost::json::value result = rig.start(R"({"question":"How many?","samples":4})").result();
    EXPECT_EQ(text_at(result, "answer"), "4");
    EXPECT_EQ(result.at("votes").as_int64(), 2);
    EXPECT_EQ(result.at("voters").as_int64(), 3);
    EXPECT_TRUE(result.at("samples").at(2).at("answer").is_null());
    EXPECT_THAT(question_of(rig.models.calls().at(0)), StartsWith("How many?\n"));
    rig.expect_nothing_left();
  }
}

TEST(SelfConsistency, AnAnswerThatWasCutOffHasNoVote) {
  ProgramRig rig(shipped_source("self_consistency"));
  auto instance = rig.start(R"({"question":"q","samples":3,"max_tokens":5})");
  const std::vector<Call> calls = rig.models.wait_for_waiting(3);
  EXPECT_EQ(calls.at(0).options.output_tokens_max, 5);
  rig.models.answer(calls.at(0).number, "Answer: 1", llm::FinishReason::kLength);
  rig.models.answer(calls.at(1).number, "Answer: 1", llm::FinishReason::kLength);
  rig.models.answer(calls.at(2).number, "Answer: 2");
  EXPECT_EQ(text_at(instance.result(), "answer"), "2");
}

TEST(BestOfN, KeepsTheLikeliestAnswer) {
  ProgramRig rig(shipped_source("best_of_n"));
  rig.models.answer_at_once = [](const Call& call) {
    return "Answer: " + std::to_string(call.number);
  };
  // The mean of a token counts: the texts are equally long.
  rig.models.score_at_once = [](const Call&) { return std::vector<double>{-9, -2, -5}; };
  const boost::json::value result = rig.start(R"({"question":"q","samples":3})").result();
  EXPECT_EQ(text_at(result, "answer"), "2");
  EXPECT_EQ(result.at("chosen").as_int64(), 2);
  EXPECT_EQ(result.at("calls").as_int64(), 4);
  rig.expect_nothing_left();
}

TEST(BestOfN, AModelElsewhereJudgesByChoosing) {
  ProgramRig rig(shipped_source("best_of_n"), {}, /*upstream=*/true);
  rig.models.answer_at_once = [](const Call& call) {
    return call.number <= 3 ? "Answer: 1" + std::to_string(call.number) : "3";
  };
  const boost::json::value result =
      rig.start(R"({"question":"q","samples":3,"judge":"model"})").result();
  EXPECT_EQ(text_at(result, "answer"), "13");
  EXPECT_EQ(result.at("chosen").as_int64(), 3);
  EXPECT_THAT(question_of(rig.models.calls().back()), HasSubstr("Answer 3:\nAnswer: 13\n"));
  rig.expect_nothing_left();
}

TEST(MapReduce, AsksAboutEachPartAndJoinsWhatWasFound) {
  for (const bool upstream : {false, true}) {
    ProgramRig rig(shipped_source("map_reduce"), {}, upstream);
    rig.models.answer_at_once = [](const Call& call) {
      const std::vector<int64_t> numbers = numbers_in(question_of(call));
      return std::to_string(std::accumulate(numbers.begin(), numbers.end(), int64_t{0}));
    };
    const boost::json::value result =
        rig.start(R"({"question":"the sum?","part_bytes":12,"text":"1 2\n\n3 4\n\n5 6\n\n7"})")
            .result();
    EXPECT_EQ(text_of(result.at("findings")), R"(["10","18"])");
    EXPECT_EQ(text_at(result, "answer"), "28");
    EXPECT_EQ(result.at("calls").as_int64(), 3);
    rig.expect_nothing_left();
  }
}

TEST(MapReduce, JoinsAllAtOnceAndAsksNoMoreThanTheLimit) {
  ProgramRig rig(shipped_source("map_reduce"));
  auto instance =
      rig.start(R"({"question":"q","parts":["a","b","c"],"limit":2,"reduce":"at_once"})");
  for (const int waiting : {2, 2, 1, 1}) {
    const std::vector<Call> calls = rig.models.wait_for_waiting(static_cast<size_t>(waiting));
    EXPECT_THAT(calls, SizeIs(waiting));
    rig.models.answer(calls.front().number, "f" + std::to_string(calls.front().number));
  }
  EXPECT_EQ(text_at(instance.result(), "answer"), "f4");
  EXPECT_THAT(question_of(rig.models.calls().back()), HasSubstr("f1\n\nf2\n\nf3"));
}

TEST(ShippedPrograms, InputsAreRefusedBeforeTheFirstCall) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"self_consistency", R"({"samples":3})"},
      {"self_consistency", R"({"question":"q","samples":0})"},
      {"best_of_n", R"({"question":"q","judge":"me"})"},
      {"best_of_n", R"({"question":"q","max_tokens":0})"},
      {"map_reduce", R"({"question":"q"})"},
      {"map_reduce", R"({"question":"q","parts":[]})"},
      {"map_reduce", R"({"question":"q","text":"t","reduce":"none"})"},
  };
  for (const auto& [name, input] : cases) {
    ProgramRig rig(shipped_source(name));
    const llm::Failure failure = rig.start(input).failure();
    EXPECT_EQ(failure.code, kProgramError) << name << input;
    EXPECT_THAT(failure.message, HasSubstr("the input: ")) << name << input;
    EXPECT_THAT(rig.models.calls(), IsEmpty()) << name << input;
  }
}

// --- examples ---------------------------------------------------------------------------------

std::string sorted(const Call& call) {
  std::vector<int64_t> digits = numbers_in(question_of(call));
  std::ranges::sort(digits);
  return fmt::format("{}", fmt::join(digits, " "));
}

TEST(SortingExample, SortsPartsAndMergesThem) {
  for (const char* schedule : {"level", "stream"}) {
    ProgramRig rig{std::string(embedded::kSortingLua)};
    rig.models.answer_at_once = sorted;
    const boost::json::value result =
        rig.start(fmt::format(
                      R"({{"digits":[5,1,4,4,9,0,2,7,3,3,8,6,1,0,2,5,9,7,7],"schedule":"{}"}})",
                      schedule))
            .result();
    EXPECT_EQ(text_at(result, "sorted"), "0 0 1 1 2 2 3 3 4 4 5 5 6 7 7 7 8 9 9");
    EXPECT_EQ(result.at("errors").as_int64(), 0);
    EXPECT_EQ(result.at("calls").as_int64(), 3 + 2);
    EXPECT_EQ(question_of(rig.models.calls().front()), "Sort: 5 1 4 4 9 0 2 7");
    EXPECT_EQ(question_of(rig.models.calls().back()),
              "Merge:\nA: 0 0 1 1 2 2 3 3 4 4 5 5 6 7 8 9\nB: 7 7 9");
    rig.expect_nothing_left();
  }
}

TEST(SortingExample, KeepsTheSampleWithTheFewestErrors) {
  ProgramRig rig{std::string(embedded::kSortingLua)};
  rig.models.answer_at_once = [](const Call& call) {
    return call.number == 2 ? sorted(call) : "1 2";
  };
  const boost::json::value result = rig.start(R"({"digits":[3,2,1],"samples":3})").result();
  EXPECT_EQ(text_at(result, "sorted"), "1 2 3");
}

TEST(SumsExample, AddsGroupsUntilOneIsLeft) {
  ProgramRig rig{std::string(embedded::kSumsLua)};
  rig.models.answer_at_once = [](const Call& call) {
    const std::vector<int64_t> numbers = numbers_in(question_of(call));
    return fmt::format(R"({{"steps":[],"sum":{}}})",
                       std::accumulate(numbers.begin(), numbers.end(), int64_t{0}));
  };
  const boost::json::value result =
      rig.start(R"({"numbers":[11,22,33,44,55,66,77,88,99]})").result();
  EXPECT_EQ(result.at("sum").as_int64(), 495);
  EXPECT_EQ(result.at("levels").as_int64(), 2);
  EXPECT_EQ(question_of(rig.models.calls().front()), "Add: 11 + 22 + 33 + 44");
  EXPECT_EQ(question_of(rig.models.calls().back()), "Add: 110 + 286 + 99")
      << "the last one was left over";
}

// Each question is answered before the next one is looked at, so sums meet in a known order.
TEST(SumsExample, AddsTwoSumsAsSoonAsBothAreReady) {
  ProgramRig rig{std::string(embedded::kSumsLua)};
  auto instance = rig.start(R"({"numbers":[1,2,3,4,5,6,7,8,9],"group":3,"schedule":"stream"})");
  const auto answer = [&](std::string_view question, int sum) {
    for (const Call& call : rig.models.waiting()) {
      if (question_of(call) == question)
        return rig.models.answer(call.number, fmt::format(R"({{"steps":[],"sum":{}}})", sum));
    }
    return false;
  };
  ASSERT_THAT(rig.models.wait_for_waiting(3), SizeIs(3));
  EXPECT_TRUE(answer("Add: 7 + 8 + 9", 24));
  EXPECT_TRUE(answer("Add: 1 + 2 + 3", 6));
  rig.models.wait_for_waiting(2);
  EXPECT_TRUE(answer("Add: 6 + 24", 30)) << "while the third sum is on its way";
  EXPECT_TRUE(answer("Add: 4 + 5 + 6", 15));
  rig.models.wait_for_waiting(1);
  EXPECT_TRUE(answer("Add: 30 + 15", 45));
  EXPECT_EQ(instance.result().at("sum").as_int64(), 45);
}

TEST(SetIntersectionExample, ComparesTheSetsPartByPart) {
  ProgramRig rig{std::string(embedded::kSetIntersectionLua)};
  rig.models.answer_at_once = [](const Call& call) -> std::string {
    const std::string question = question_of(call);
    const size_t second = question.find("\nSecond");
    const std::vector<int64_t> first = numbers_in(question.substr(0, second));
    std::vector<int64_t> both = numbers_in(question.substr(second));
    std::erase_if(both, [&](int64_t number) { return !std::ranges::count(first, number); });
    return both.empty() ? "none" : fmt::format("{}", fmt::join(both, ", "));
  };
  const boost::json::value result =
      rig.start(R"({"first":[1,2,3,40,5],"second":[40,5,6,7,1,9]})").result();
  EXPECT_EQ(text_of(result.at("common")), "[1,5,40]");
  EXPECT_EQ(result.at("errors").as_int64(), 0);
  EXPECT_EQ(result.at("calls").as_int64(), 4 * 3);
}

TEST(KeywordCountingExample, AsksAgainWhereACountCannotBeRight) {
  ProgramRig rig{std::string(embedded::kKeywordCountingLua)};
  rig.models.answer_at_once = [](const Call& call) -> std::string {
    const std::string question = question_of(call);
    if (question.starts_with("Nothing")) return "{}";
    if (question.find("was counted 9 times and is there 2") != std::string::npos)
      return R"({"Norway":2,"Peru":1})";
    return R"({"Norway":9})";
  };
  const boost::json::value result =
      rig.start(R"({"text":"From Peru to Norway. In Norway she slept! Nothing happened. Really?"})")
          .result();
  EXPECT_EQ(text_of(result.at("counts")), R"({"Norway":2,"Peru":1})");
  EXPECT_TRUE(result.at("valid").as_bool());
  EXPECT_EQ(result.at("calls").as_int64(), 3);
}

TEST(KeywordCountingExample, NoCountsAreAnObjectToo) {
  ProgramRig rig{std::string(embedded::kKeywordCountingLua)};
  rig.models.answer_at_once = [](const Call&) { return std::string("{}"); };
  const boost::json::value result = rig.start(R"({"text":"Nothing happened. Really."})").result();
  EXPECT_EQ(text_of(result.at("counts")), "{}");
}

TEST(DocumentMergingExample, KeepsTheDraftThatIsRatedBest) {
  ProgramRig rig{std::string(embedded::kDocumentMergingLua)};
  rig.models.answer_at_once = [](const Call& call) {
    return "draft " + std::to_string(call.number);
  };
  // A mark of 8 for what has "draft 3", else 2.
  rig.models.score_at_once = [](const Call& call) {
    const bool good = question_of(call).ends_with("draft 3");
    std::vector<double> scores(call.continuations.size(), -10);
    scores.at(good ? 8 : 2) = -1;
    return scores;
  };
  const boost::json::value result =
      rig.start(R"({"documents":["one","two"],"drafts":3,"keep":2})").result();
  EXPECT_EQ(text_at(result, "text"), "draft 3");
  EXPECT_EQ(result.at("score").to_number<double>(), 8);
  rig.expect_nothing_left();
}

}  // namespace
}  // namespace windrow::program
