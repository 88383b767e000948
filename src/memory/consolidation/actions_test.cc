#include "memory/consolidation/actions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace windrow::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ModelActions parsed(std::string_view response) {
  Result<ModelActions> actions = parse_actions(response);
  EXPECT_TRUE(actions) << actions.error().message;
  return actions ? *std::move(actions) : ModelActions{};
}

std::string error_of(std::string_view response) {
  const Result<ModelActions> actions = parse_actions(response);
  EXPECT_FALSE(actions) << response;
  return actions ? "" : actions.error().message;
}

constexpr std::string_view kAll =
    R"({"creates":[{"text":"Mara lives in Porto.","source_fact_ids":["F1","F2"],"reason":"new"}],)"
    R"("updates":[{"text":"Tom is 9.","observation_id":"O1","source_fact_ids":["F3"],)"
    R"("reason":""}],)"
    R"("deletes":[{"observation_id":"O2","reason":"ended"}]})";

TEST(ParseActions, ReadsAllThreeLists) {
  const ModelActions actions = parsed(kAll);
  ASSERT_THAT(actions.creates, SizeIs(1));
  EXPECT_EQ(actions.creates[0].text, "Mara lives in Porto.");
  EXPECT_THAT(actions.creates[0].source_fact_ids, ElementsAre("F1", "F2"));
  EXPECT_EQ(actions.creates[0].reason, "new");
  ASSERT_THAT(actions.updates, SizeIs(1));
  EXPECT_EQ(actions.updates[0].observation_id, "O1");
  EXPECT_THAT(actions.updates[0].source_fact_ids, ElementsAre("F3"));
  ASSERT_THAT(actions.deletes, SizeIs(1));
  EXPECT_EQ(actions.deletes[0].observation_id, "O2");
  EXPECT_THAT(actions.malformed, IsEmpty());
}

TEST(ParseActions, ThoughtsAndFencesAroundTheObjectDoNotMatter) {
  const std::string all(kAll);
  for (const std::string& response :
       {"<think>\nF1: {new}?\n</think>\n\n" + all, "```json\n" + all + "\n```", " \n" + all + "\n",
        "<think>{}</think>```\n" + all + "```", "Here it is: " + all}) {
    EXPECT_THAT(parsed(response).creates, SizeIs(1)) << response;
  }
}

TEST(ParseActions, AMarkOfAThoughtInsideATextIsText) {
  const ModelActions actions =
      parsed(R"({"creates":[{"text":"He wrote </think>.","source_fact_ids":["F1"],"reason":""}]})");
  EXPECT_EQ(actions.creates.at(0).text, "He wrote </think>.");
}

TEST(ParseActions, AnAbsentListIsEmptyButAResponseWithoutAnyIsUnusable) {
  EXPECT_THAT(parsed(R"({"creates":[]})").updates, IsEmpty());
  EXPECT_THAT(parsed(R"({"creates":null,"deletes":[]})").creates, IsEmpty());
  EXPECT_THAT(error_of("{}"), HasSubstr("none of the lists of actions"));
  EXPECT_THAT(error_of(R"({"actions":[]})"), HasSubstr("none of the lists"));
}

TEST(ParseActions, AResponseOfAnotherFormIsInvalidAndTheErrorSaysWhatToDo) {
  for (const std::string_view response :
       {"", "I see no change.", "[]", "null", "\"creates\"", R"({"creates": [)",
        R"({"creates": }})", R"({"creates": "none"})", R"({"updates": {"text": "x"}})", "}{"}) {
    const Result<ModelActions> actions = parse_actions(response);
    ASSERT_FALSE(actions) << response;
    EXPECT_EQ(actions.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(actions.error().message, HasSubstr("one JSON object with the lists"));
  }
  EXPECT_THAT(error_of(R"({"creates": "none"})"), HasSubstr("creates of the response is a string"));
}

TEST(ParseActions, ABadItemIsLeftOutAndTheOthersCount) {
  const ModelActions actions =
      parsed(R"({"creates":[{"text":"a","source_fact_ids":["F1"]},{"source_fact_ids":["F1"]},"F2",)"
             R"({"text":"b","source_fact_ids":{"F1":1}},{"text":"c"},)"
             R"({"text":7,"source_fact_ids":["F1"]}],)"
             R"("updates":[{"text":"d","source_fact_ids":["F1"]},)"
             R"({"text":"e","observation_id":"O1","source_fact_ids":[1]}],)"
             R"("deletes":[null,{"reason":"ended"},{"observation_id":"O1"}]})");
  ASSERT_THAT(actions.creates, SizeIs(1));
  EXPECT_EQ(actions.creates[0].reason, "");
  EXPECT_THAT(actions.updates, IsEmpty());
  EXPECT_THAT(actions.deletes, SizeIs(1));
  EXPECT_THAT(
      actions.malformed,
      ElementsAre("creates[1]: no text", "creates[2]: it is a string, not an object",
                  "creates[3]: source_fact_ids is no list of ids",
                  "creates[4]: source_fact_ids is no list of ids", "creates[5]: no text",
                  "updates[0]: no observation_id", "updates[1]: source_fact_ids is no list of ids",
                  "deletes[0]: it is null, not an object", "deletes[1]: no observation_id"));
}

TEST(ParseActions, AStringIsAListOfOneId) {
  const ModelActions actions = parsed(R"({"creates":[{"text":"a","source_fact_ids":"F1"}]})");
  EXPECT_THAT(actions.creates.at(0).source_fact_ids, ElementsAre("F1"));
}

TEST(ParseActions, TextsHaveNoNulCharacters) {
  const ModelActions actions =
      parsed(R"({"creates":[{"text":"a\u0000b","source_fact_ids":["F1"]}]})");
  EXPECT_EQ(actions.creates.at(0).text, "ab");
}

TEST(ParseActions, AnObjectThatIsNestedTooDeepIsInvalid) {
  std::string response = R"({"creates":)";
  response += std::string(500, '[') + std::string(500, ']') + "}";
  EXPECT_FALSE(parse_actions(response));
}

}  // namespace
}  // namespace windrow::memory
