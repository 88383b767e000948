#include "llm/request_fields.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <vector>

namespace windrow::llm {
namespace {

namespace json = boost::json;

struct Read {
  json::array messages;
  Problem problem;
};

Read read(std::string_view messages) {
  Read read;
  read.problem = read_messages("messages", json::parse(messages), read.messages);
  return read;
}

// As a template is given them: what is said once, in one form.
TEST(Messages, AreBroughtIntoOneForm) {
  struct Case {
    std::string_view given;
    std::string_view wanted;
  };
  const std::vector<Case> cases = {
      {R"({"role":"user","content":"hi"})", R"({"role":"user","content":"hi"})"},
      {R"({"content":"hi","role":"developer"})", R"({"role":"developer","content":"hi"})"},
      {R"({"role":"user","name":"ann","content":""})",
       R"({"role":"user","content":"","name":"ann"})"},
      {R"({"role":"user","content":[{"type":"text","text":"a"},{"text":"b","type":"text"}]})",
       R"({"role":"user","content":"ab"})"},
      // where a cache might end
      {R"({"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"},
           "prompt_cache_breakpoint":{}}]})",
       R"({"role":"user","content":"a"})"},
      {R"({"role":"user","content":[]})", R"({"role":"user","content":""})"},
      {R"({"role":"tool","content":"4","tool_call_id":"c1"})",
       R"({"role":"tool","content":"4","tool_call_id":"c1"})"},
      // an answer that is sent back as it came
      {R"({"role":"assistant","content":"ho","refusal":null,"annotations":[],"tool_calls":[],
           "audio":null,"function_call":null,"reasoning_content":null})",
       R"({"role":"assistant","content":"ho"})"},
      {R"({"role":"assistant","content":"ho","reasoning":"hm"})",
       R"({"role":"assistant","content":"ho","reasoning_content":"hm"})"},
      {R"({"role":"assistant","content":"ho","reasoning":"hm","reasoning_content":"hm"})",
       R"({"role":"assistant","content":"ho","reasoning_content":"hm"})"},
      {R"({"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",
           "function":{"name":"add","arguments":"{\"a\": [1, {\"b\": null}]}"}}]})",
       R"({"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function",
           "function":{"name":"add","arguments":"{\"a\": [1, {\"b\": null}]}"}}]})"},
      {R"({"role":"assistant","tool_calls":[{"type":"function","function":{"name":"now"}},
           {"type":"function","function":{"name":"now","arguments":""}},
           {"type":"function","function":{"name":"now","arguments":{"zone":"UTC"}}}]})",
       R"({"role":"assistant","content":"","tool_calls":[
           {"type":"function","function":{"name":"now","arguments":{}}},
           {"type":"function","function":{"name":"now","arguments":{}}},
           {"type":"function","function":{"name":"now","arguments":{"zone":"UTC"}}}]})"},
  };
  for (const Case& one : cases) {
    const Read result = read(fmt::format("[{}]", one.given));
    EXPECT_FALSE(result.problem) << one.given << ": " << result.problem->message;
    EXPECT_EQ(json::value(result.messages), json::array{json::parse(one.wanted)}) << one.given;
  }
}

TEST(Messages, AreCheckedOneByOne) {
  struct Case {
    std::string_view given;
    std::string_view param;
    std::string_view message;
  };
  const std::vector<Case> cases = {
      {"[]", "messages", "messages must be an array with at least one message, not an empty array"},
      {R"("hello")", "messages",
       "messages must be an array with at least one message, not a string"},
      {R"(["x"])", "messages[0]",
       "messages[0] must be an object with role and content, not a string"},
      {R"([{"content":"x"}])", "messages[0].role",
       "messages[0] has no role; it must be system, developer, user, assistant or tool"},
      {R"([{"role":1,"content":"x"}])", "messages[0].role",
       "messages[0].role must be system, developer, user, assistant or tool, not a number"},
      {R"([{"role":"user","content":"x"},{"role":"boss","content":"x"}])", "messages[1].role",
       "messages[1].role is \"boss\"; it must be system, developer, user, assistant or tool"},
      {R"([{"role":"function","name":"f","content":"x"}])", "messages[0].role",
       "messages[0].role is \"function\"; it must be system, developer, user, assistant or tool "
       "(tool is its successor)"},
      {R"([{"role":"user"}])", "messages[0].content",
       "messages[0] has no content; it must be a string or an array of text parts"},
      {R"([{"role":"assistant","content":null}])", "messages[0].content",
       "messages[0] has no content; it must be a string or an array of text parts, or there must "
       "be tool_calls"},
      {R"([{"role":"user","content":7}])", "messages[0].content",
       "messages[0].content must be a string or an array of text parts, not a number"},
      {R"([{"role":"user","content":["x"]}])", "messages[0].content[0]",
       "messages[0].content[0] must be a text part, {\"type\": \"text\", \"text\": \"...\"}, not a "
       "string"},
      {R"([{"role":"user","content":[{"text":"x"}]}])", "messages[0].content[0].type",
       "messages[0].content[0] must be an object with a type; the type must be text"},
      {R"([{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url"}]}])",
       "messages[0].content[1]",
       "messages[0].content[1] is of type image_url; only text parts are accepted"},
      {R"([{"role":"user","content":[{"type":"input_audio"}]}])", "messages[0].content[0]",
       "messages[0].content[0] is of type input_audio; only text parts are accepted"},
      {R"([{"role":"user","content":[{"type":"file"}]}])", "messages[0].content[0]",
       "messages[0].content[0] is of type file; only text parts are accepted"},
      {R"([{"role":"user","content":[{"type":"text"}]}])", "messages[0].content[0].text",
       "messages[0].content[0] has no text; it must have one, a string"},
      {R"([{"role":"user","content":[{"type":"text","text":7}]}])", "messages[0].content[0].text",
       "messages[0].content[0].text must be a string, not a number"},
      {R"([{"role":"user","content":[{"type":"text","text":"x","tone":{}}]}])",
       "messages[0].content[0].tone",
       "messages[0].content[0].tone is not supported; a text part has type and text"},
      {R"([{"role":"user","content":"x","name":7}])", "messages[0].name",
       "messages[0].name must be a string, not a number"},
      {R"([{"role":"user","content":"x","tool_calls":[{}]}])", "messages[0].tool_calls",
       "messages[0].tool_calls belongs to messages of the role assistant; the role is user, so "
       "take it out"},
      {R"([{"role":"user","content":"x","tool_call_id":"c"}])", "messages[0].tool_call_id",
       "messages[0].tool_call_id belongs to messages of the role tool; the role is user, so take "
       "it out"},
      {R"([{"role":"tool","content":"x","tool_call_id":1}])", "messages[0].tool_call_id",
       "messages[0].tool_call_id must be a string, not a number"},
      {R"([{"role":"user","content":"x","reasoning":"hm"}])", "messages[0].reasoning",
       "messages[0].reasoning belongs to messages of the role assistant; the role is user, so "
       "take it out"},
      {R"([{"role":"assistant","content":"x","reasoning":"a","reasoning_content":"b"}])",
       "messages[0].reasoning_content",
       "messages[0] has reasoning and reasoning_content, which are one thing, and they differ; "
       "give one of them"},
      {R"([{"role":"user","content":"x","refusal":"no"}])", "messages[0].refusal",
       "messages[0].refusal is not supported; a message has role, content, name, tool_calls, "
       "tool_call_id and reasoning_content"},
      {R"([{"role":"user","content":[{"type":"refusal","refusal":"no"}]}])",
       "messages[0].content[0]",
       "messages[0].content[0] is of type refusal; only text parts are accepted"},
      {R"([{"role":"assistant","content":[{"type":"refusal"}]}])", "messages[0].content[0].refusal",
       "messages[0].content[0] has no refusal; it must have one, a string"},
      {R"([{"role":"assistant","content":null,"audio":{"id":"a"}}])", "messages[0].audio",
       "messages[0].audio is not supported: only texts are read; send its transcript as content"},
      {R"([{"role":"assistant","content":"x","function_call":{}}])", "messages[0].function_call",
       "messages[0].function_call is not supported; tool_calls is its successor"},
      {R"([{"role":"assistant","tool_calls":{}}])", "messages[0].tool_calls",
       "messages[0].tool_calls must be an array of tool calls, not an object"},
      {R"([{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}])",
       "messages[0].tool_calls[0].type",
       "messages[0].tool_calls[0] has no type; messages[0].tool_calls[0].type must be "
       "\"function\""},
      {R"([{"role":"assistant","tool_calls":[{"type":"function","function":{}}]}])",
       "messages[0].tool_calls[0].function.name",
       "messages[0].tool_calls[0].function has no name; it must be a string that is not empty"},
      {R"([{"role":"assistant","tool_calls":[{"type":"function","id":7,
            "function":{"name":"f"}}]}])",
       "messages[0].tool_calls[0].id",
       "messages[0].tool_calls[0].id must be a string, not a number"},
      {R"([{"role":"assistant","tool_calls":[{"type":"function",
            "function":{"name":"f","arguments":"{\"a\":"}}]}])",
       "messages[0].tool_calls[0].function.arguments",
       "messages[0].tool_calls[0].function.arguments is \"{\"a\":\", which is not a JSON object; "
       "it "
       "must be one, as text"},
      {R"([{"role":"assistant","tool_calls":[{"type":"function",
            "function":{"name":"f","arguments":"[1]"}}]}])",
       "messages[0].tool_calls[0].function.arguments",
       "messages[0].tool_calls[0].function.arguments is \"[1]\", which is not a JSON object; it "
       "must be one, as text"},
      {R"([{"role":"assistant","tool_calls":[{"type":"function",
            "function":{"name":"f","arguments":7}}]}])",
       "messages[0].tool_calls[0].function.arguments",
       "messages[0].tool_calls[0].function.arguments must be a string of JSON, or an object, not a "
       "number"},
  };
  for (const Case& one : cases) {
    const Read result = read(one.given);
    ASSERT_TRUE(result.problem) << one.given;
    EXPECT_EQ(result.problem->param, one.param) << one.given;
    EXPECT_EQ(result.problem->message, one.message) << one.given;
  }
}

// Clients' libraries keep members of their own beside what a model said.
TEST(Messages, AnswersMayBeSentBackAsTheyCame) {
  struct Case {
    std::string_view given;
    std::string_view wanted;
  };
  const std::vector<Case> cases = {
      {R"({"id":"m1","object":"message","role":"assistant","content":"ho","refusal":"no",
           "parsed":{"a":1},"annotations":[{"type":"url_citation"}],"phase":"final",
           "reasoning_details":[{"type":"reasoning.text","text":"hm"}],"provider":{"x":{}}})",
       R"({"role":"assistant","content":"ho"})"},
      {R"({"role":"assistant","content":[
           {"type":"text","text":"h","role":"assistant","refusal":null,"annotations":[{}],
            "id":"p1","logprobs":{},"x_vendor":1},
           {"type":"text","text":"o","parsed":{}}]})",
       R"({"role":"assistant","content":"ho"})"},
      // what was said in place of an answer
      {R"({"role":"assistant","content":null,"refusal":"I must not"})",
       R"({"role":"assistant","content":"I must not"})"},
      {R"({"role":"assistant","content":[{"type":"refusal","refusal":"I must not","id":"p"}]})",
       R"({"role":"assistant","content":"I must not"})"},
      // cut while it was thought out
      {R"({"role":"assistant","content":null,"reasoning_content":"hm"})",
       R"({"role":"assistant","content":"","reasoning_content":"hm"})"},
      {R"({"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",
           "index":0,"extra_content":{"google":{}},"function":{"name":"add","arguments":"{}",
           "parsed_arguments":{},"parsed":null,"output":""}}]})",
       R"({"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function",
           "function":{"name":"add","arguments":"{}"}}]})"},
  };
  for (const Case& one : cases) {
    const Read result = read(fmt::format("[{}]", one.given));
    EXPECT_FALSE(result.problem) << one.given << ": " << result.problem->message;
    EXPECT_EQ(json::value(result.messages), json::array{json::parse(one.wanted)}) << one.given;
  }
}

// As text inside of text, arguments could nest without end.
TEST(Messages, ArgumentsThatNestTooDeepAreRefused) {
  const std::string deep = "{\\\"a\\\":" + std::string(200, '[') + std::string(200, ']') + "}";
  const Read result = read(fmt::format(
      R"([{{"role":"assistant","tool_calls":[{{"type":"function","function":{{"name":"f",)"
      R"("arguments":"{}"}}}}]}}])",
      deep));
  ASSERT_TRUE(result.problem);
  EXPECT_EQ(result.problem->param, "messages[0].tool_calls[0].function.arguments");
}

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
