#include "llm/told_prompt.h"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "llm/raw_body.h"

namespace windrow::llm {
namespace {

using Text = ToldPrompt::Text;

struct Case {
  const char* name;
  Endpoint endpoint;
  const char* body;  // beside return_token_ids
  const char* reply;
  bool told = false;
  Text place = Text::kWhole;
  const char* text = "";
  std::vector<int64_t> ids = {};
};

std::ostream& operator<<(std::ostream& out, const Case& one) {
  return out << one.name;
}

constexpr Endpoint kText = Endpoint::kCompletions;
constexpr Endpoint kChat = Endpoint::kChatCompletions;
constexpr char kOfChat[] = R"({"choices":[{"index":0}],"prompt_token_ids":[7,8]})";
constexpr char kOfText[] = R"({"choices":[{"index":0,"prompt_token_ids":[7,8]}]})";

class ToldPromptTest : public ::testing::TestWithParam<Case> {};

TEST_P(ToldPromptTest, IsReadWhereTheReplyTellsIt) {
  const Case& one = GetParam();
  const std::string body = std::string(R"({"return_token_ids":true,)") + one.body + "}";
  const Request request = raw_request(one.endpoint, body, boost::json::parse(body).as_object(), {});
  const auto told = told_prompt(request, one.reply);
  ASSERT_EQ(told.has_value(), one.told);
  if (!told) return;
  EXPECT_EQ(told->place, one.place);
  EXPECT_EQ(told->text, one.text);
  EXPECT_EQ(told->ids, one.ids);
}

INSTANTIATE_TEST_SUITE_P(
    Replies, ToldPromptTest,
    ::testing::Values(
        Case{"a text", kText, R"("prompt":"hi")", kOfText, true, Text::kWhole, "hi", {7, 8}},
        Case{"the first of several texts, whatever the order of the choices",
             kText,
             R"("prompt":["hi","ho"])",
             R"({"choices":[{"index":1,"prompt_token_ids":[1]},
                            {"index":0,"prompt_token_ids":[2]}]})",
             true,
             Text::kWhole,
             "hi",
             {2}},
        Case{"token ids", kText, R"("prompt":[7,8])", kOfText},
        Case{"lists of token ids", kText, R"("prompt":[[7,8]])", kOfText},
        Case{"no prompt", kText, R"("n":1)", kOfText},
        Case{"no text", kText, R"("prompt":"")", kOfText},
        Case{"a chat's place in a completion", kText, R"("prompt":"hi")", kOfChat},
        Case{"a prompt that is cut", kText, R"("prompt":"hi","truncate_prompt_tokens":1)", kOfText},
        Case{"no choices", kText, R"("prompt":"hi")", R"({"choices":[]})"},
        Case{"no JSON", kText, R"("prompt":"hi")", "<html>"},
        Case{"an id that is none", kText, R"("prompt":"hi")",
             R"({"choices":[{"index":0,"prompt_token_ids":[7,"8"]}]})"},
        Case{"a chat",
             kChat,
             R"("messages":[{"role":"system","content":"be"},{"role":"user","content":"hi"}])",
             kOfChat,
             true,
             Text::kLastPart,
             "hi",
             {7, 8}},
        Case{"a chat that goes on behind the user",
             kChat,
             R"("messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[]},
                            {"role":"tool","content":"12"}])",
             kOfChat,
             true,
             Text::kPart,
             "hi",
             {7, 8}},
        Case{"the last of several parts",
             kChat,
             R"("messages":[{"role":"user","content":[{"type":"text","text":"hi"},
                                                     {"type":"text","text":"ho"}]}])",
             kOfChat,
             true,
             Text::kLastPart,
             "ho",
             {7, 8}},
        Case{"a picture", kChat,
             R"("messages":[{"role":"user","content":[{"type":"image_url","image_url":{}},
                                                     {"type":"text","text":"ho"}]}])",
             kOfChat},
        Case{"a template of its own", kChat,
             R"("messages":[{"role":"user","content":"hi"}],"chat_template":"x")", kOfChat},
        Case{"a chat as tokens", kChat,
             R"("messages":[{"role":"user","content":"hi"}],"prompt_token_ids":[7])", kOfChat},
        Case{"a chat without ids", kChat, R"("messages":[{"role":"user","content":"hi"}])",
             R"({"choices":[{"index":0}],"prompt_token_ids":null})"},
        Case{"no user", kChat, R"("messages":[{"role":"system","content":"be"}])", kOfChat},
        Case{"an endpoint without prompts", Endpoint::kEmbeddings, R"("input":"hi")", kOfChat}),
    [](const auto& info) { return "n" + std::to_string(info.index); });

TEST(ToldPrompt, NeedsARequestThatWantsIds) {
  const std::string body = R"({"prompt":"hi"})";
  const Request request = raw_request(kText, body, boost::json::parse(body).as_object(), {});
  EXPECT_FALSE(may_tell_prompt(request));
  EXPECT_FALSE(told_prompt(request, kOfText).has_value());
}

TEST(ToldPrompt, LongRepliesAreNotRead) {
  const std::string body = R"({"return_token_ids":true,"prompt":"hi"})";
  const Request request = raw_request(kText, body, boost::json::parse(body).as_object(), {});
  const std::string reply = kOfText;
  EXPECT_TRUE(told_prompt(request, reply + std::string(1'000, ' ')).has_value());
  EXPECT_FALSE(told_prompt(request, reply + std::string(2'000'000, ' ')).has_value());
}

}  // namespace
}  // namespace windrow::llm
