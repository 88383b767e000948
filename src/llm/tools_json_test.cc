#include "llm/tools_json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

namespace windrow::llm {
namespace {

namespace json = boost::json;

json::value tool(std::string_view function, std::string_view beside = "") {
  return json::parse(fmt::format(R"([{{"type":"function","function":{}{}}}])", function, beside));
}

std::string problem(const json::value& tools) {
  json::array read;
  const Problem found = read_tools("tools", tools, read);
  return found ? found->param + ": " + found->message : "";
}

TEST(ToolsJson, ToolsArePassedOnAsTheyAre) {
  const json::value tools = tool(R"({"name":"f","description":"d","parameters":{"type":"object"},
      "strict":true,"return":{"type":"string"}})");
  json::array read;
  EXPECT_EQ(read_tools("tools", tools, read), std::nullopt);
  EXPECT_EQ(json::value(read), tools);

  read.clear();
  EXPECT_EQ(read_tools("tools",
                       tool(R"({"name":"f","parameters":null})",
                            R"(,"cache_control":{"type":"ephemeral"})"),
                       read),
            std::nullopt);
  EXPECT_EQ(json::value(read), tool(R"({"name":"f","parameters":null})"));
}

TEST(ToolsJson, NamesCanStandInEveryFamilysCalls) {
  for (const std::string& name : {std::string("f"), std::string("mcp__git-hub__list"),
                                  std::string("files.read/all:0"), std::string(128, 'x')})
    EXPECT_EQ(problem(tool(fmt::format(R"({{"name":"{}"}})", name))), "");
  for (const std::string& name :
       {std::string("a b"), std::string("a\\n"), std::string("<f>"), std::string("a\\\"b"),
        std::string("f\u00fc"), std::string("f{"), std::string(129, 'x')}) {
    EXPECT_TRUE(problem(tool(fmt::format(R"({{"name":"{}"}})", name)))
                    .starts_with("tools[0].function.name: tools[0].function.name is \""))
        << name;
  }
  EXPECT_EQ(problem(tool(R"({"name":"get weather"})")),
            "tools[0].function.name: tools[0].function.name is \"get weather\"; a name has at most "
            "128 letters and digits of ASCII, and of these: _ - . / :");
}

TEST(ToolsJson, WhatIsNotKnownIsRefusedByName) {
  EXPECT_EQ(problem(tool(R"({"name":"f","paramaters":{}})")),
            "tools[0].function.paramaters: tools[0].function.paramaters is not supported; a tool "
            "has the members type and function, and function has name, description, parameters and "
            "strict");
  EXPECT_EQ(problem(tool(R"({"name":"f"})", R"(,"zz":1)")),
            "tools[0].zz: tools[0].zz is not supported; a tool has the members type and "
            "function, and function has name, description, parameters and strict");
  EXPECT_EQ(problem(tool(R"({"name":"f"})", R"(,"zz":null)")), "");
  EXPECT_EQ(problem(tool(R"({"name":"f","parameters":[]})")),
            "tools[0].function.parameters: tools[0].function.parameters must be a JSON Schema, "
            "which is an object, not an empty array");
}

// What an answer called is sent back, whatever the name was.
TEST(ToolsJson, CallsAreReadAsTheyCame) {
  json::array calls;
  EXPECT_EQ(read_tool_calls("calls", json::parse(R"([{"id":"c","type":"function","index":3,
      "function":{"name":"a b","arguments":"{\"x\": 1}","parsed_arguments":{}},"more":{}}])"),
                            calls),
            std::nullopt);
  EXPECT_EQ(json::value(calls), json::parse(R"([{"id":"c","type":"function",
      "function":{"name":"a b","arguments":"{\"x\": 1}"}}])"));
}

}  // namespace
}  // namespace windrow::llm
