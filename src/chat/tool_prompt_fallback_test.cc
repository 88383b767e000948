#include "chat/tool_prompt_fallback.h"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace windrow::chat {
namespace {

namespace json = boost::json;

const json::array kTools =
    json::parse(R"([{"type": "function", "function": {"name": "f", "description": "d"}}])")
        .as_array();

json::array rewritten(std::string_view messages, ToolPromptRole role = ToolPromptRole::kSystem,
                      bool writes_calls = false, const json::array& tools = kTools) {
  return describe_tools_in_messages(json::parse(messages).as_array(), tools, generic_tool_syntax(),
                                    writes_calls, role);
}

std::string content(const json::value& message) {
  return std::string(message.at("content").as_string());
}

TEST(ToolPromptFallback, StandBehindTheSystemMessageOrAreOne) {
  const json::array alone = rewritten(R"([{"role": "user", "content": "u"}])");
  ASSERT_EQ(alone.size(), 2U);
  EXPECT_EQ(alone[0].at("role"), "system");
  EXPECT_NE(content(alone[0]).find(R"({"name":"f","description":"d"})"), std::string::npos);
  const json::array behind =
      rewritten(R"([{"role": "developer", "content": "s"}, {"role": "user", "content": "u"}])");
  ASSERT_EQ(behind.size(), 2U);
  EXPECT_TRUE(content(behind[0]).starts_with("s\n\n# Functions"));
  EXPECT_EQ(content(behind[1]), "u");
}

TEST(ToolPromptFallback, StandInFrontOfWhatTheUserSays) {
  const json::array by_user =
      rewritten(R"([{"role": "user", "content": "u"}])", ToolPromptRole::kUser);
  ASSERT_EQ(by_user.size(), 1U);
  EXPECT_TRUE(content(by_user[0]).starts_with("# Functions"));
  EXPECT_TRUE(content(by_user[0]).ends_with("\n\nu"));
}

TEST(ToolPromptFallback, ResultsOfOneTurnAreOneMessage) {
  const json::array messages = rewritten(R"([{"role": "user", "content": "u"},
      {"role": "assistant", "content": "", "tool_calls": [
        {"function": {"name": "f", "arguments": {"a": 1}}}, {"function": {"name": "f"}}]},
      {"role": "tool", "content": "1"}, {"role": "tool", "content": "2"},
      {"role": "user", "content": "go on"}])",
                                         ToolPromptRole::kSystem, false, {});
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(content(messages[1]),
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\":1}}\n</tool_call>\n"
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>");
  EXPECT_FALSE(messages[1].as_object().contains("tool_calls"));
  EXPECT_EQ(content(messages[2]),
            "<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>\ngo on");
}

TEST(ToolPromptFallback, TheirMessagesAreTracedBack) {
  const json::array messages = json::parse(R"([{"role": "user", "content": "u"},
      {"role": "assistant", "content": "a"}, {"role": "tool", "content": "1"},
      {"role": "tool", "content": "2"}, {"role": "user", "content": "go on"},
      {"role": "user", "content": "b"}])")
                                   .as_array();
  EXPECT_EQ(source_message(messages, 1), 1U);
  EXPECT_EQ(source_message(messages, 2), 2U);
  EXPECT_EQ(source_message(messages, 3), 5U);
}

TEST(ToolPromptFallback, CallsStayWhereTheTemplateWritesThem) {
  const std::string_view call =
      R"([{"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f"}}]}])";
  EXPECT_EQ(rewritten(call, ToolPromptRole::kSystem, true, {}), json::parse(call));
}

}  // namespace
}  // namespace windrow::chat
