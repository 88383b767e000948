#include "engine/generate/call_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <set>

namespace windrow::engine {
namespace {

std::shared_ptr<const chat::ToolContext> tools(bool several = true) {
  return std::make_shared<const chat::ToolContext>(chat::ToolContext{
      .syntax = chat::generic_tool_syntax(),
      .tools = chat::ToolTable(
          boost::json::parse(R"([{"type": "function", "function": {"name": "now"}}])").as_array()),
      .several = several});
}

constexpr std::string_view kCall = R"(<tool_call>{"name": "now", "arguments": {}}</tool_call>)";

TEST(CallText, IdsAreTheCallsOwn) {
  std::set<std::string> ids;
  for (const Token token : {1, 2}) {
    const std::array<Token, 2> prompt = {0, token};
    for (const uint64_t seed : {0U, 1U}) {
      for (int32_t index = 0; index < 3; ++index) {
        const std::string id = call_id(call_seed(prompt, seed), index);
        EXPECT_EQ(id, call_id(call_seed(prompt, seed), index)) << "asked again, it is the same";
        EXPECT_EQ(id.size(), 29U);
        EXPECT_TRUE(id.starts_with("call_"));
        EXPECT_TRUE(std::ranges::all_of(id.substr(5), [](unsigned char c) {
          return std::isalnum(c) != 0;
        })) << id;
        ids.insert(id);
      }
    }
  }
  EXPECT_EQ(ids.size(), 12U);
}

TEST(CallText, AnAnswerThatCallsWaitsForWhatTheCallsBring) {
  llm::Choice choice{.text = "I look.\n" + std::string(kCall) + std::string(kCall)};
  take_calls(tools(), 7, choice);
  EXPECT_EQ(choice.text, "I look.");
  ASSERT_EQ(choice.tool_calls.size(), 2U);
  EXPECT_EQ(choice.tool_calls[1],
            (llm::ToolCall{.id = call_id(7, 1), .name = "now", .arguments = "{}"}));
  EXPECT_EQ(choice.finish_reason, llm::FinishReason::kToolCalls);
}

TEST(CallText, OneThatWasCutOrSaysNoneDoesNot) {
  llm::Choice cut{.text = std::string(kCall), .finish_reason = llm::FinishReason::kLength};
  take_calls(tools(), 7, cut);
  EXPECT_EQ(cut.tool_calls.size(), 1U);
  EXPECT_EQ(cut.finish_reason, llm::FinishReason::kLength);

  llm::Choice broken{.text = R"(<tool_call>{"name": "now", "arguments": {"a)"};
  take_calls(tools(), 7, broken);
  EXPECT_EQ(broken.tool_calls.at(0).arguments, "{\"a");
  EXPECT_EQ(broken.finish_reason, llm::FinishReason::kStop);

  llm::Choice text{.text = "It is noon."};
  take_calls(tools(), 7, text);
  EXPECT_EQ(text.text, "It is noon.");
  EXPECT_EQ(text.finish_reason, llm::FinishReason::kStop);
}

TEST(CallText, WhatBrokeOffIsTextInAnAnswerThatComesWhole) {
  const std::string broken = R"(<tool_call>{"name": "now", "arguments": {"a":]}}</tool_call>)";
  llm::Choice choice{.text = std::string(kCall) + broken};
  take_calls(tools(), 7, choice);
  EXPECT_EQ(choice.tool_calls.size(), 2U) << "who is told as it comes has heard of it";
  EXPECT_EQ(choice.finish_reason, llm::FinishReason::kStop);

  const auto whole = llm::as_whole({.choices = {choice}});
  ASSERT_TRUE(whole);
  const llm::Choice& form = whole->choices.at(0);
  EXPECT_EQ(form.text, broken);
  EXPECT_EQ(form.tool_calls, (std::vector<llm::ToolCall>{choice.tool_calls[0]}));
  EXPECT_EQ(form.finish_reason, llm::FinishReason::kToolCalls);
  EXPECT_FALSE(form.when_whole);
  EXPECT_FALSE(llm::as_whole(*whole));

  llm::Choice cut{.text = R"(<tool_call>{"name": "now", "arguments": {"a)",
                  .finish_reason = llm::FinishReason::kLength};
  take_calls(tools(), 7, cut);
  EXPECT_EQ(cut.tool_calls.size(), 1U) << "what was cut is the beginning of a call";
  EXPECT_FALSE(cut.when_whole);
}

TEST(CallText, TheEndBehindTheOnlyCallIsSeenAsItComes) {
  CallEnd end({.format = {}, .prompt_end = ""}, tools(false));
  const std::string text = "Hm. " + std::string(kCall);
  const size_t whole = text.find("}}") + 1;
  for (size_t bytes = 0; bytes < whole; ++bytes)
    ASSERT_FALSE(end.reached(std::string_view(text).substr(0, bytes))) << bytes;
  EXPECT_TRUE(end.reached(std::string_view(text).substr(0, whole)));

  // With a token that joins the last brace with what follows.
  CallEnd joined({.format = {}, .prompt_end = ""}, tools(false));
  EXPECT_FALSE(joined.reached(std::string_view(text).substr(0, whole - 1)));
  EXPECT_TRUE(joined.reached(std::string_view(text).substr(0, whole + 3)));
}

}  // namespace
}  // namespace windrow::engine
