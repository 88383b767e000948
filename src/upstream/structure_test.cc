#include "upstream/structure.h"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <optional>
#include <string>

namespace windrow::upstream {
namespace {

namespace json = boost::json;

std::string reply(json::value content, std::string_view finish_reason = "stop") {
  return json::serialize(
      json::object{{"choices",
                    {{{"index", 0},
                      {"message", {{"role", "assistant"}, {"content", std::move(content)}}},
                      {"finish_reason", finish_reason}}}}});
}

std::optional<std::string> judge(const WantedStructure& wanted, const std::string& body) {
  return judge_structure(wanted, body).fault;
}

std::optional<std::string> fault(llm::Structure form, const std::string& body) {
  return judge({.form = form, .field = "response_format", .validator = nullptr}, body);
}

WantedStructure fitting(const json::value& schema) {
  return {.form = llm::Structure::kJson,
          .field = "guided_json",
          .validator = std::make_shared<const schema::Validator>(
              schema::Validator::compile(schema, {}).value())};
}

TEST(Structure, WhatIsJsonIsRight) {
  EXPECT_FALSE(fault(llm::Structure::kJsonObject, reply(R"({"a": [1, null]})")));
  EXPECT_FALSE(fault(llm::Structure::kJson, reply("[1, 2]")));
  EXPECT_FALSE(fault(llm::Structure::kJson, reply(" true\n")));
}

TEST(Structure, WhatIsNotIsSaidWithItsBeginning) {
  EXPECT_EQ(fault(llm::Structure::kJson, reply("Sure! Here is the JSON:")),
            "the answer is no JSON, which response_format asked for: \"Sure! Here is the JSON:\"");
  EXPECT_EQ(fault(llm::Structure::kJsonObject, reply("[1]")),
            "the answer is no JSON object, which response_format asked for: \"[1]\"");
  const auto said = fault(llm::Structure::kJson, reply(json::string(500, 'x')));
  ASSERT_TRUE(said);
  EXPECT_LT(said->size(), 200U);
}

TEST(Structure, WhatDoesNotFitItsSchemaIsSaidWithThePlace) {
  const WantedStructure wanted =
      fitting({{"properties", {{"age", {{"maximum", 130}}}}}, {"required", {"age"}}});
  EXPECT_FALSE(judge(wanted, reply(R"({"age": 7})")));
  EXPECT_FALSE(judge(wanted, reply(R"({"age": 7, "more": 1})"))) << "it is open";
  EXPECT_EQ(judge(wanted, reply(R"({"age": 200})")),
            "the answer does not fit the schema in guided_json: /age is 200, above the maximum of "
            "130 (/properties/age/maximum of the schema); it begins \"{\"age\": 200}\"");
  EXPECT_EQ(judge(wanted, reply("Sure!")),
            "the answer is no JSON, which guided_json asked for: \"Sure!\"");
  EXPECT_FALSE(judge(wanted, reply(R"({"age": 200})", "length")));
}

TEST(Structure, TheTextOfACompletionIsJudgedToo) {
  const auto completion = [](std::string_view text) {
    return json::serialize(
        json::object{{"choices", {{{"text", text}, {"finish_reason", "stop"}}}}});
  };
  EXPECT_FALSE(judge(fitting({{"type", "integer"}}), completion("5")));
  EXPECT_TRUE(judge(fitting({{"type", "integer"}}), completion("5.5")));
}

TEST(Structure, EachChoiceIsJudged) {
  const json::value body = {{"choices",
                             {{{"message", {{"content", "1"}}}, {"finish_reason", "stop"}},
                              {{"message", {{"content", "true"}}}, {"finish_reason", "stop"}}}}};
  EXPECT_TRUE(judge(fitting({{"type", "integer"}}), json::serialize(body)));
}

TEST(Structure, DeepAnswersAreJsonToo) {
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_FALSE(fault(llm::Structure::kJson, reply(json::string(deep))));
}

TEST(Structure, TextMayBeAnything) {
  EXPECT_FALSE(fault(llm::Structure::kText, reply("Sure!")));
}

TEST(Structure, WhatWasCutOffOrIsACallIsNotJudged) {
  EXPECT_FALSE(fault(llm::Structure::kJson, reply(R"({"a":)", "length")));
  EXPECT_FALSE(fault(llm::Structure::kJson, reply(nullptr)));
  EXPECT_FALSE(fault(llm::Structure::kJson, reply(nullptr, "tool_calls")));
  EXPECT_FALSE(fault(llm::Structure::kJson, R"({"data":[]})"));
}

TEST(Structure, WhatALimitCutOffIsTruncatedUnlessItIsWhole) {
  const WantedStructure wanted = fitting({{"type", "object"}});
  const auto truncated = [&](const std::string& body) {
    return judge_structure(wanted, body).truncated;
  };
  EXPECT_TRUE(truncated(reply(R"({"a":)", "length")));
  EXPECT_FALSE(truncated(reply(R"({"a":1})", "length")));
  EXPECT_FALSE(truncated(reply(R"({"a":)", "stop"))) << "that is a fault";
  EXPECT_FALSE(truncated(reply(nullptr, "length")));
  EXPECT_FALSE(judge_structure({}, reply(R"({"a":)", "length")).truncated) << "any text is right";
}

}  // namespace
}  // namespace windrow::upstream
