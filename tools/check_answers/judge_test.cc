#include "check_answers/judge.h"

#include <gtest/gtest.h>

namespace windrow::check_answers {
namespace {

bool right(std::string_view expected, std::string_view given) {
  return judge("sort", expected, given).right;
}

TEST(Judge, JsonIsComparedAsValues) {
  EXPECT_TRUE(right(R"({"a":1,"b":[2,3]})", R"( { "b": [2, 3], "a": 1 } )"));
  EXPECT_FALSE(right(R"({"a":1,"b":[2,3]})", R"({"a":1,"b":[3,2]})"));
  EXPECT_FALSE(right(R"({"a":1})", R"({"a":"1"})"));
  EXPECT_FALSE(right(R"({"a":1})", R"({"a":1,"b":2})"));
  EXPECT_FALSE(right(R"({"a":1})", R"({"a":1)"));
  EXPECT_TRUE(right("[1,2,3]", "[1, 2, 3]"));
  EXPECT_TRUE(right("117", " 117\n"));
}

TEST(Judge, OtherAnswersAreComparedAsTexts) {
  EXPECT_TRUE(right("1 2 3", "\n1 2 3 "));
  EXPECT_FALSE(right("1 2 3", "1  2 3"));
  EXPECT_FALSE(right("yes", "Yes"));
  EXPECT_FALSE(right("yes", "{}"));
}

TEST(Judge, MarksOfAToolCallMeanNothing) {
  EXPECT_TRUE(
      judge("tool_calling", "<tool_call>\n{\"name\":\"a\"}\n</tool_call>", R"({"name": "a"})")
          .right);
}

TEST(Judge, EachMemberOfTheRightAnswerIsAPart) {
  const Verdict verdict = judge("screening", R"({"fit":"weak","years":3,"missing":["go"]})",
                                R"({"fit":"weak","missing":[],"years":3,"more":true})");
  EXPECT_FALSE(verdict.right);
  const std::vector<Part> parts = {{"fit", true}, {"years", true}, {"missing", false}};
  EXPECT_EQ(verdict.parts, parts);
}

TEST(Judge, AnAnswerOfAnotherFormHasNoPartRight) {
  const std::vector<Part> parts = {{"fit", false}};
  for (const std::string_view given : {"", "weak", "[\"weak\"]"}) {
    EXPECT_EQ(judge("screening", R"({"fit":"weak"})", given).parts, parts) << given;
  }
}

TEST(Judge, NoAnswerIsWrongWhateverTheRightOneIs) {
  EXPECT_FALSE(judge_nothing("sort", "").right);
  EXPECT_FALSE(judge_nothing("sort", "1 2").right);
  const Verdict verdict = judge_nothing("screening", R"({"fit":"weak"})");
  EXPECT_EQ(verdict, (Verdict{.right = false, .parts = {{"fit", false}}}));
}

constexpr std::string_view kActions =
    R"({"creates":[{"text":"Ann has a cat","source_fact_ids":["f1","f2"],"reason":"new"}],
        "updates":[],"deletes":[{"observation_id":"o3","reason":"gone"}]})";

TEST(Judge, AConsolidationIsJudgedByItsActions) {
  const Verdict verdict = judge("consolidation", kActions,
                                R"({"deletes":[{"observation_id":"o3"}],
      "creates":[{"source_fact_ids":["f2","f1"],"text":"Ann owns a cat"}]})");
  EXPECT_TRUE(verdict.right);
  const std::vector<Part> parts = {
      {"creates", true}, {"updates", true}, {"deletes", true}, {"texts", false}};
  EXPECT_EQ(verdict.parts, parts);
  EXPECT_TRUE(judge("consolidation", kActions, kActions).parts.back().right);
}

TEST(Judge, AWrongActionOfAConsolidationIsAWrongAnswer) {
  const Verdict verdict = judge("consolidation", kActions,
                                R"({"creates":[{"text":"Ann has a cat",
      "source_fact_ids":["f1","f2"]}],"updates":[],"deletes":[{"observation_id":"o4"}]})");
  EXPECT_FALSE(verdict.right);
  const std::vector<Part> parts = {
      {"creates", true}, {"updates", true}, {"deletes", false}, {"texts", false}};
  EXPECT_EQ(verdict.parts, parts);
  EXPECT_FALSE(judge("consolidation", kActions, "none").right);
  EXPECT_FALSE(judge("consolidation", R"({"creates":[],"updates":[],"deletes":[]})", "[]").right);
}

}  // namespace
}  // namespace windrow::check_answers
