#include "llm/raw_answer.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

namespace windrow::llm {
namespace {

TEST(RawAnswer, AReplyBecomesAnAnswer) {
  const Answer answer = read_raw_answer(R"({"id":"x","choices":[{"index":0,"message":{
      "role":"assistant","content":"so","reasoning_content":"hm","tool_calls":[
        {"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},
      "logprobs":{"content":[{"token":"so","logprob":-0.5,"bytes":[115,111],"top_logprobs":[
        {"token":"s","logprob":-1,"bytes":null}]}]},
      "finish_reason":"tool_calls"}],
      "usage":{"prompt_tokens":7,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":3},
               "completion_tokens_details":{"reasoning_tokens":2}}})")
                            .value();
  const Answer expected{
      .choices = {{.text = "so",
                   .reasoning = "hm",
                   .tool_calls = {{.id = "c1", .name = "f", .arguments = R"({"a":1})"}},
                   .finish_reason = FinishReason::kToolCalls,
                   .tokens = {{.chosen = {.bytes = "so", .logprob = -0.5F},
                               .top = {{.bytes = "s", .logprob = -1}}}}}},
      .usage = {
          .prompt_tokens = 7, .completion_tokens = 5, .cached_tokens = 3, .reasoning_tokens = 2}};
  EXPECT_EQ(answer.choices, expected.choices);
  EXPECT_EQ(answer.usage, expected.usage);
}

TEST(RawAnswer, WhatServersDoDifferentlyIsReadAlike) {
  const auto choice = [](const std::string& message, const std::string& rest) {
    return read_raw_answer(R"({"choices":[{"message":)" + message + rest + "}]}")
        .value()
        .choices.at(0);
  };
  const Choice calls =
      choice(R"({"content":null,"tool_calls":[{"function":{"name":"f","arguments":{"a":[1]}}}]})",
             R"(,"finish_reason":"stop")");
  EXPECT_EQ(calls.tool_calls.at(0), (ToolCall{.name = "f", .arguments = R"({"a":[1]})"}));
  EXPECT_EQ(calls.finish_reason, FinishReason::kToolCalls);

  const Choice parts = choice(R"({"reasoning":"one","content":[
      {"type":"thinking","thinking":[{"type":"text","text":"two"}]},{"type":"text","text":"a"},
      {"type":"text","text":"b"}]})",
                              R"(,"finish_reason":"eos")");
  EXPECT_EQ(parts.text, "ab");
  EXPECT_EQ(parts.reasoning, "onetwo");
  EXPECT_EQ(parts.finish_reason, FinishReason::kStop);

  EXPECT_EQ(choice(R"({"refusal":"no"})", R"(,"finish_reason":"content_filter")").refusal, "no");
  EXPECT_EQ(choice(R"({"content":"a"})", R"(,"finish_reason":"stop","stop_reason":"X")").stopped_by,
            "X");
  EXPECT_EQ(choice(R"({"content":"a"})", R"(,"finish_reason":"stop","stop_reason":7)").stopped_by,
            std::nullopt);
}

TEST(RawAnswer, WhatIsNoneIsNone) {
  for (const char* raw : {"", "[]", "{}", R"({"choices":7})", R"({"error":{"message":"x"}})"})
    EXPECT_FALSE(read_raw_answer(raw).has_value()) << raw;
  EXPECT_TRUE(read_raw_answer(R"({"choices":[]})").value().choices.empty());
}

TEST(RawAnswer, AnEventBecomesPieces) {
  EXPECT_EQ(read_raw_event(R"({"choices":[{"index":0,"delta":{"content":"a"},
                               "finish_reason":null}]})"),
            (std::vector<Delta>{{.text = "a"}}));
  EXPECT_EQ(read_raw_event(R"({"choices":[{"index":1,"delta":{"tool_calls":[
                {"index":2,"id":"c","function":{"name":"f","arguments":""}},
                {"index":2,"function":{"arguments":"{"}}]},"finish_reason":"tool_calls"}]})"),
            (std::vector<Delta>{{.choice = 1,
                                 .tool_calls = {{.index = 2, .id = "c", .name = "f"},
                                                {.index = 2, .arguments = "{"}},
                                 .finish_reason = FinishReason::kToolCalls}}));
  EXPECT_TRUE(read_raw_event(R"({"choices":[],"usage":{"prompt_tokens":1}})").empty());
  EXPECT_TRUE(read_raw_event("{").empty());
}

}  // namespace
}  // namespace windrow::llm
