#include "upstream/structure.h"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

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

TEST(Structure, WhatIsJsonIsRight) {
  EXPECT_FALSE(structure_fault(llm::Structure::kJsonObject, reply(R"({"a": [1, null]})")));
  EXPECT_FALSE(structure_fault(llm::Structure::kJson, reply("[1, 2]")));
  EXPECT_FALSE(structure_fault(llm::Structure::kJson, reply(" true\n")));
}

TEST(Structure, WhatIsNotIsSaidWithItsBeginning) {
  EXPECT_EQ(structure_fault(llm::Structure::kJson, reply("Sure! Here is the JSON:")),
            "the answer is no JSON, which response_format asked for: \"Sure! Here is the JSON:\"");
  EXPECT_EQ(structure_fault(llm::Structure::kJsonObject, reply("[1]")),
            "the answer is no JSON object, which response_format asked for: \"[1]\"");
  const auto fault = structure_fault(llm::Structure::kJson, reply(json::string(500, 'x')));
  ASSERT_TRUE(fault);
  EXPECT_LT(fault->size(), 200U);
}

TEST(Structure, TextMayBeAnything) {
  EXPECT_FALSE(structure_fault(llm::Structure::kText, reply("Sure!")));
}

TEST(Structure, WhatWasCutOffOrIsACallIsNotJudged) {
  EXPECT_FALSE(structure_fault(llm::Structure::kJson, reply(R"({"a":)", "length")));
  EXPECT_FALSE(structure_fault(llm::Structure::kJson, reply(nullptr)));
  EXPECT_FALSE(structure_fault(llm::Structure::kJson, reply(nullptr, "tool_calls")));
  EXPECT_FALSE(structure_fault(llm::Structure::kJson, R"({"data":[]})"));
}

}  // namespace
}  // namespace windrow::upstream
