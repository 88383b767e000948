#include "engine/generate/answer_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cctype>
#include <set>

#include "base/random.h"

namespace windrow::engine {
namespace {

TEST(AnswerText, EndsBeforeAStopTextSpreadOverTokens) {
  AnswerText text({"STOP"});
  EXPECT_FALSE(text.append("one S"));
  EXPECT_FALSE(text.append("TO"));
  EXPECT_EQ(text.stopped_by(), std::nullopt);
  EXPECT_TRUE(text.append("P two"));
  EXPECT_EQ(text.bytes(), "one ");
}

TEST(AnswerText, TheEarliestStopTextWins) {
  AnswerText text({"late", "soon"});
  EXPECT_TRUE(text.append("x soon late"));
  EXPECT_EQ(text.bytes(), "x ");
  EXPECT_EQ(text.stopped_by(), "soon");
}

TEST(AnswerText, HoldsBackWhatMayBecomeAStopTextOrACharacter) {
  AnswerText text({"</answer>"});
  text.append("fine </ans");
  EXPECT_EQ(text.settled_bytes(), 5U);
  text.append("wering");
  EXPECT_EQ(text.settled_bytes(), text.bytes().size());
  text.append("\xE2\x82");
  EXPECT_EQ(text.settled_bytes(), text.bytes().size() - 2);
}

// Against a search in the whole text: however it is cut into tokens, the answer is the same, and
// what was settled before a stop is never taken back.
TEST(AnswerText, AnyCutGivesTheSameAnswer) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const auto letters = [&](int64_t min, int64_t max) {
      std::string word;
      for (int64_t left = random.between(min, max); left > 0; --left) {
        word += static_cast<char>('a' + random.below(2));
      }
      return word;
    };
    const std::string whole = letters(0, 40);
    const std::vector<std::string> stops = {letters(1, 6), letters(1, 4)};
    const size_t expected = std::min(whole.find(stops[0]), whole.find(stops[1]));
    AnswerText text(stops);
    bool stopped = false;
    for (size_t at = 0; at < whole.size() && !stopped;) {
      const size_t size = 1 + random.below(5);
      stopped = text.append(std::string_view(whole).substr(at, size));
      at += size;
      ASSERT_LE(text.settled_bytes(), std::min(expected, whole.size()));
    }
    // A stop that begins later but ends earlier is met first: tokens come one by one.
    ASSERT_EQ(stopped, expected != std::string::npos);
    ASSERT_TRUE(whole.starts_with(text.bytes()));
    if (!stopped) {
      ASSERT_EQ(text.bytes(), whole);
    }
  }
}

std::shared_ptr<const chat::ToolContext> tools(bool several = true) {
  return std::make_shared<const chat::ToolContext>(chat::ToolContext{
      .syntax = chat::generic_tool_syntax(),
      .tools = chat::ToolTable(
          boost::json::parse(R"([{"type": "function", "function": {"name": "now"}}])").as_array()),
      .several = several});
}

constexpr std::string_view kCall = R"(<tool_call>{"name": "now", "arguments": {}}</tool_call>)";

TEST(AnswerCalls, IdsAreTheCallsOwn) {
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

TEST(AnswerCalls, AnAnswerThatCallsWaitsForWhatTheCallsBring) {
  llm::Choice choice{.text = "I look.\n" + std::string(kCall) + std::string(kCall)};
  take_calls(tools(), 7, choice);
  EXPECT_EQ(choice.text, "I look.");
  ASSERT_EQ(choice.tool_calls.size(), 2U);
  EXPECT_EQ(choice.tool_calls[1],
            (llm::ToolCall{.id = call_id(7, 1), .name = "now", .arguments = "{}"}));
  EXPECT_EQ(choice.finish_reason, llm::FinishReason::kToolCalls);
}

TEST(AnswerCalls, OneThatWasCutOrSaysNoneDoesNot) {
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

TEST(AnswerCalls, WhatBrokeOffIsTextInAnAnswerThatComesWhole) {
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

TEST(AnswerCalls, TheEndBehindTheOnlyCallIsSeenAsItComes) {
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
