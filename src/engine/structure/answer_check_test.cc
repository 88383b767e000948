#include "engine/structure/answer_check.h"

#include <gtest/gtest.h>

#include <variant>

namespace windrow::engine {
namespace {

using Kind = llm::StructureSpec::Kind;
using Label = llm::StructureLabel;

std::optional<std::string> fault(const llm::StructureSpec& spec, std::string_view answer) {
  const auto check = make_check(spec);
  if (!check) {
    ADD_FAILURE() << check.error().message;
    return std::nullopt;
  }
  return (*check)->fault(answer);
}

TEST(AnswerCheck, KnowsEveryKind) {
  const llm::StructureSpec schema{
      .kind = Kind::kJsonSchema,
      .text = R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})"};
  EXPECT_EQ(fault(schema, R"({"a":1})"), std::nullopt);
  EXPECT_NE(fault(schema, R"({"a":"1"})"), std::nullopt);
  EXPECT_EQ(fault(schema, R"({"a":1,"b":2})"), std::nullopt) << "as the standard has it";
  EXPECT_NE(fault(schema, "{"), std::nullopt);

  const llm::StructureSpec object{.kind = Kind::kJsonObject};
  EXPECT_EQ(fault(object, "{}"), std::nullopt);
  EXPECT_EQ(fault(object, "[]"), "it is no JSON object");
  EXPECT_NE(fault(object, "{]"), std::nullopt);

  const llm::StructureSpec regex{.kind = Kind::kRegex, .text = "a|bc"};
  EXPECT_EQ(fault(regex, "bc"), std::nullopt);
  EXPECT_NE(fault(regex, "abc"), std::nullopt) << "all of it has to match";
  EXPECT_NE(fault(regex, "a\n"), std::nullopt);

  const llm::StructureSpec choice{.kind = Kind::kChoice, .choices = {"b", "a"}};
  EXPECT_EQ(fault(choice, "a"), std::nullopt);
  EXPECT_EQ(fault(choice, "c"), "it is none of the choices");

  const llm::StructureSpec grammar{.kind = Kind::kGrammar,
                                   .text = "root ::= \"a\" root \"b\" | \"c\""};
  EXPECT_EQ(fault(grammar, "aacbb"), std::nullopt);
  EXPECT_EQ(fault(grammar, "aac"), "the grammar has longer texts only");
  EXPECT_EQ(fault(grammar, "aad"), "the grammar has no such text from byte 2 on");
}

// The grammar closes objects by all that parts of a schema declare for one object, members of
// members too.
TEST(AnswerCheck, ClosedObjectsAreForTheGrammar) {
  const llm::StructureSpec schema{.kind = Kind::kJsonSchema, .text = R"({
    "properties": {"v": {"type": "object", "properties": {"x": {"type": "integer"}}},
                   "k": {"enum": [1, 2]}},
    "required": ["k"],
    "if": {"properties": {"k": {"const": 1}}},
    "then": {"properties": {"v": {"properties": {"y": {"type": "integer"}}}}}})"};
  EXPECT_EQ(fault(schema, R"({"v":{"x":1,"y":1},"k":1})"), std::nullopt);
  EXPECT_NE(fault(schema, R"({"v":{"x":1,"y":"1"},"k":1})"), std::nullopt);
  EXPECT_EQ(fault(schema, R"({"v":{"x":1,"y":"1"},"k":2})"), std::nullopt);
}

TEST(AnswerCheck, SaysWhatCannotBeRead) {
  EXPECT_FALSE(make_check({.kind = Kind::kRegex, .text = "("}));
  EXPECT_FALSE(make_check({.kind = Kind::kGrammar, .text = "root"}));
  EXPECT_FALSE(make_check({.kind = Kind::kJsonSchema, .text = R"({"type":"strange"})"}));
}

class JudgedTest : public ::testing::Test {
 protected:
  static llm::Answer answer(std::string text, llm::FinishReason reason, Label label) {
    llm::Choice choice{.text = std::move(text), .finish_reason = reason};
    choice.structure = label;
    return {.choices = {std::move(choice)}, .usage = {.prompt_tokens = 3}};
  }

  llm::Outcome judge(llm::Answer answer) const { return judged(*check_, std::move(answer)); }

  std::shared_ptr<const AnswerCheck> check_ =
      *make_check({.kind = Kind::kChoice, .choices = {"yes", "no"}});
};

TEST_F(JudgedTest, WhatIsWholeAndRightIsValid) {
  const auto outcome = judge(answer("yes", llm::FinishReason::kStop, Label::kValid));
  EXPECT_EQ(std::get<llm::Answer>(outcome).choices[0].structure, Label::kValid);
  EXPECT_FALSE(std::get<llm::Answer>(outcome).truncated);
  llm::Answer echoed = answer("Is it? yes", llm::FinishReason::kStop, Label::kValid);
  echoed.choices[0].prompt_bytes = 7;
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(judge(echoed)));
}

TEST_F(JudgedTest, TwoOpinionsFailLoudly) {
  const auto outcome = judge(answer("maybe", llm::FinishReason::kStop, Label::kValid));
  const auto& failure = std::get<llm::Failure>(outcome);
  EXPECT_EQ(failure.status, 500);
  EXPECT_EQ(failure.code, "structured_output_mismatch");
  EXPECT_EQ(failure.failure_class, llm::FailureClass::kRequest);
  EXPECT_NE(failure.message.find("it is none of the choices"), std::string::npos);
  EXPECT_NE(failure.message.find("maybe"), std::string::npos);
  EXPECT_EQ(failure.usage.prompt_tokens, 3);
}

TEST_F(JudgedTest, WhatWasCutIsTruncatedUnlessAStopTextLeftItRight) {
  const auto label = [&](llm::Answer answer) {
    const auto outcome = judge(std::move(answer));
    const auto& whole = std::get<llm::Answer>(outcome);
    EXPECT_EQ(whole.truncated, whole.choices[0].structure == Label::kTruncated);
    return whole.choices[0].structure;
  };
  EXPECT_EQ(label(answer("ye", llm::FinishReason::kLength, Label::kTruncated)), Label::kTruncated);
  EXPECT_EQ(label(answer("no", llm::FinishReason::kLength, Label::kTruncated)), Label::kTruncated)
      << "it may have gone on";
  EXPECT_EQ(label(answer("ye", llm::FinishReason::kStop, Label::kTruncated)), Label::kTruncated);
  EXPECT_EQ(label(answer("no", llm::FinishReason::kStop, Label::kTruncated)), Label::kValid);
}

}  // namespace
}  // namespace windrow::engine
