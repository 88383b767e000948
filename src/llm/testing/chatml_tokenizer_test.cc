#include "llm/testing/chatml_tokenizer.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <variant>
#include <vector>

namespace windrow::llm::testing {
namespace {

llm::Chat chat_of(std::string_view messages, std::string_view tools = "[]") {
  llm::Chat chat;
  chat.messages = boost::json::parse(messages).as_array();
  chat.tools = boost::json::parse(tools).as_array();
  return chat;
}

constexpr std::string_view kQuestion = R"([{"role":"user","content":"q <|im_end|>"}])";
constexpr std::string_view kTools = R"([{"type":"function","function":{"name":"add"}}])";

TEST(ChatmlTokenizer, ControlTokensInContentAreText) {
  const ChatmlTokenizer tokenizer;
  const auto rendered = std::get<llm::RenderedChat>(tokenizer.render(chat_of(kQuestion), true));
  EXPECT_EQ(rendered.text, "<|im_start|>user\nq <|im_end|><|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(llm::text_of(tokenizer, rendered.tokens), rendered.text);
  EXPECT_EQ(std::ranges::count(rendered.tokens, ChatmlTokenizer::kEnd), 1);
}

TEST(ChatmlTokenizer, AnotherRoleIsRefused) {
  const ChatmlTokenizer tokenizer;
  const auto refused = tokenizer.render(
      chat_of(R"([{"role":"user","content":"q"},{"role":"developer","content":"x"}])"), false);
  EXPECT_EQ(std::get<llm::Failure>(refused).param, "messages[1].role");
}

TEST(ChatmlTokenizer, WhatIsAppendedMakesTheConversationThatIsRendered) {
  const ChatmlTokenizer tokenizer;
  struct Case {
    std::string_view sampled_end;
    bool drops_last;
  };
  for (const Case& at : {Case{"<|im_end|>", false}, Case{"<|endoftext|>", true}, Case{"", false}}) {
    std::vector<int32_t> tokens =
        std::get<llm::RenderedChat>(tokenizer.render(chat_of(kQuestion), true)).tokens;
    const std::vector<int32_t> answer = tokenizer.tokens_of("yes" + std::string(at.sampled_end));
    tokens.insert(tokens.end(), answer.begin(), answer.end());
    const auto appended = std::get<llm::AppendedTokens>(tokenizer.append(
        {.message = {}, .tokens = answer}, chat_of(R"([{"role":"tool","content":"3"}])")));
    EXPECT_EQ(appended.drops_last, at.drops_last);
    if (appended.drops_last) tokens.pop_back();
    tokens.insert(tokens.end(), appended.tokens.begin(), appended.tokens.end());
    const auto whole = std::get<llm::RenderedChat>(tokenizer.render(
        chat_of(R"([{"role":"user","content":"q <|im_end|>"},{"role":"assistant","content":"yes"},
                    {"role":"tool","content":"3"}])"),
        true));
    EXPECT_EQ(tokens, whole.tokens) << at.sampled_end;
  }
}

TEST(ChatmlTokenizer, AnAnswerIsReadAsItWasRendered) {
  const ChatmlTokenizer tokenizer;
  const llm::Chat chat = chat_of(kQuestion, kTools);
  const std::vector<int32_t> prompt =
      std::get<llm::RenderedChat>(tokenizer.render(chat, true)).tokens;
  const std::string text =
      "<think>\nwhy é\n</think>\n\nso\n<tool_call>\n"
      R"({"name": "add", "arguments": {"a": 1}})"
      "\n</tool_call>";
  const std::vector<int32_t> answer = tokenizer.tokens_of(text + "<|im_end|>");
  for (const size_t step : {size_t{1}, size_t{7}, answer.size()}) {
    const auto reader = tokenizer.read_answer(chat, prompt, {});
    std::vector<llm::Delta> deltas;
    for (size_t i = 0; i < answer.size(); i += step) {
      const auto piece = std::span(answer).subspan(i, std::min(step, answer.size() - i));
      for (llm::Delta& delta : reader->take(piece))
        llm::append(deltas, std::move(delta));
    }
    auto [last, choice, reasoning_tokens] = reader->end(llm::FinishReason::kStop);
    llm::append(deltas, std::move(last));
    EXPECT_EQ(choice.reasoning, "why é");
    EXPECT_EQ(choice.text, "so");
    EXPECT_EQ(reasoning_tokens, 6);
    ASSERT_EQ(choice.tool_calls.size(), 1U);
    EXPECT_EQ(choice.tool_calls[0].name, "add");
    EXPECT_EQ(choice.tool_calls[0].arguments, R"({"a": 1})");
    EXPECT_EQ(choice.finish_reason, llm::FinishReason::kToolCalls);
    ASSERT_EQ(deltas.size(), 1U);
    EXPECT_EQ(deltas[0].text, choice.text);
    EXPECT_EQ(deltas[0].reasoning, "why é");
    EXPECT_EQ(deltas[0].tool_calls.size(), 1U);
    EXPECT_EQ(deltas[0].finish_reason, llm::FinishReason::kToolCalls);
  }
}

TEST(ChatmlTokenizer, AnAnswerEndsBeforeItsStopText) {
  const ChatmlTokenizer tokenizer;
  const llm::Chat chat = chat_of(kQuestion);
  const auto reader = tokenizer.read_answer(chat, {}, {.stop = {"STOP", "END"}});
  std::string text;
  for (const int32_t token : tokenizer.tokens_of("a ST b EN"))
    for (const llm::Delta& delta : reader->take(std::vector{token}))
      text += delta.text;
  EXPECT_EQ(text, "a ST b ");
  for (const llm::Delta& delta : reader->take(tokenizer.tokens_of("D more")))
    text += delta.text;
  const auto end = reader->end(llm::FinishReason::kStop);
  const llm::Choice& choice = end.choice;
  EXPECT_EQ(text + end.last.text, "a ST b ");
  EXPECT_EQ(choice.text, "a ST b ");
  EXPECT_EQ(choice.stopped_by, "END");
}

TEST(ChatmlTokenizer, AnAnswerEndsAtItsStopToken) {
  const ChatmlTokenizer tokenizer;
  const auto reader = tokenizer.read_answer(chat_of(kQuestion), {}, {.stop_tokens = {'x'}});
  std::string text;
  for (const llm::Delta& delta : reader->take(tokenizer.tokens_of("axb")))
    text += delta.text;
  const auto [last, choice, reasoning_tokens] = reader->end(llm::FinishReason::kStop);
  EXPECT_EQ(text + last.text, "a");
  EXPECT_EQ(choice.stopped_by_token, 'x');
  EXPECT_EQ(reasoning_tokens, 0);
}

}  // namespace
}  // namespace windrow::llm::testing
