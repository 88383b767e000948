#include "upstream/answer_format_check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

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

using ::testing::HasSubstr;
using ::testing::Not;

TEST(AnswerSchemas, OneTextIsCompiledOnce) {
  AnswerSchemas schemas(nullptr);
  const auto first = schemas.of(R"({"type":"integer"})");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(schemas.of(R"({"type":"integer"})"), first);
  EXPECT_NE(schemas.of(R"({"type":"string"})"), first);
  EXPECT_FALSE(first->check("1"));
  EXPECT_TRUE(first->check("1.5"));
}

TEST(AnswerSchemas, TheStandardsMeaningCounts) {
  AnswerSchemas schemas(nullptr);
  EXPECT_FALSE(schemas.of(R"({"properties":{"a":true}})")->check(R"({"b":1})"));
}

TEST(AnswerSchemas, TheOldestIsForgotten) {
  AnswerSchemas schemas(nullptr, 2);
  const auto one = schemas.of(R"({"const":1})");
  const auto two = schemas.of(R"({"const":2})");
  EXPECT_EQ(schemas.of(R"({"const":1})"), one);
  schemas.of(R"({"const":3})");
  EXPECT_EQ(schemas.of(R"({"const":1})"), one) << "it was used after the second";
  EXPECT_NE(schemas.of(R"({"const":2})"), two);
  EXPECT_TRUE(two->check("3")) << "who has it may go on using it";
}

TEST(AnswerSchemas, WhatCannotBeJudgedIsSaidOnceOfEachAndNotForEver) {
  std::vector<std::string> told;
  AnswerSchemas schemas([&](const std::string& why) { told.push_back(why); }, 1);
  EXPECT_EQ(schemas.of(R"({"type":"colour"})"), nullptr);
  EXPECT_NE(schemas.of("{}"), nullptr);
  EXPECT_EQ(schemas.of(R"({"type":"colour"})"), nullptr) << "compiled again, said no more";
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0], HasSubstr("only for being JSON: at #/type: must be null, boolean"));
  EXPECT_EQ(schemas.of("{\"type\":"), nullptr);
  EXPECT_THAT(told.back(), HasSubstr("it is no JSON"));
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(schemas.of(fmt::format(R"({{"type":"f{}"}})", i)), nullptr);
  ASSERT_EQ(told.size(), 10U);
  EXPECT_THAT(told[8], Not(HasSubstr("not reported")));
  EXPECT_THAT(told[9], HasSubstr("further schemas are not reported"));
}

TEST(AnswerSchemas, ThreadsMayAskAtOnce) {
  std::atomic<int> told = 0;
  AnswerSchemas schemas([&](const std::string&) { ++told; }, 3);
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k) {
        const auto validator = schemas.of(fmt::format(R"({{"const":{}}})", k % 5));
        EXPECT_FALSE(validator->check(std::to_string(k % 5)));
        EXPECT_EQ(schemas.of("[]"), nullptr);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace windrow::upstream
