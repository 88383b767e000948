#include "report/answer_content.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

namespace windrow::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

boost::json::object body(std::string_view text) {
  return boost::json::parse(text).as_object();
}

constexpr std::string_view kChat =
    R"({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "logprobs": null,
                     "message": {"role": "assistant", "content": "Hello",
                                 "reasoning_content": "hm"}}],
        "usage": {"prompt_tokens": 3}})";

TEST(AnswerContent, ChatsWithTheSameTextAreEqualWhateverElseDiffers) {
  EXPECT_EQ(content_text(body(kChat)), "Hello");
  EXPECT_THAT(finish_reasons_of(body(kChat)), ElementsAre("stop"));
  const auto other = body(
      R"({"id": "chatcmpl-2", "created": 9, "model": "n", "usage": {"prompt_tokens": 4},
          "choices": [{"finish_reason": "length", "logprobs": {"content": [1]},
                       "message": {"content": "Hello", "refusal": null, "tool_calls": []}}]})");
  EXPECT_EQ(content_hash(other), content_hash(body(kChat)));
  EXPECT_NE(content_hash(body(R"({"choices": [{"message": {"content": "Hello."}}]})")),
            content_hash(body(kChat)));
}

TEST(AnswerContent, CallsOfToolsAreNamesAndArguments) {
  const auto call = [](std::string_view id, std::string_view arguments) {
    return body(fmt::format(
        R"({{"choices": [{{"finish_reason": "tool_calls", "message": {{"content": null,
            "tool_calls": [{{"id": "{}", "type": "function",
                             "function": {{"name": "add", "arguments": {}}}}}]}}}}]}})",
        id, boost::json::serialize(boost::json::string(arguments))));
  };
  EXPECT_EQ(content_hash(call("call_1", "{\"a\": 1}")), content_hash(call("call_2", "{\"a\": 1}")));
  EXPECT_NE(content_hash(call("call_1", "{\"a\": 1}")), content_hash(call("call_1", "{\"a\": 2}")));
  EXPECT_EQ(content_text(call("call_1", "{\"a\": 1}")), "add({\"a\": 1})");
}

TEST(AnswerContent, OfOtherApis) {
  const auto responses = body(
      R"({"id": "resp_1", "status": "incomplete", "incomplete_details": {"reason":
          "max_output_tokens"}, "output": [{"type": "reasoning", "content": []},
          {"type": "message", "content": [{"type": "output_text", "text": "Hel"},
                                          {"type": "output_text", "text": "lo"}]},
          {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"}]})");
  EXPECT_EQ(content_text(responses), "Hellof({})");
  EXPECT_THAT(finish_reasons_of(responses), ElementsAre("max_output_tokens"));
  const auto messages = body(
      R"({"id": "msg_1", "stop_reason": "tool_use", "content": [
          {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hello "},
          {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]})");
  EXPECT_EQ(content_text(messages), "Hello f({\"a\": 1})");
  EXPECT_THAT(finish_reasons_of(messages), ElementsAre("tool_use"));
  const auto completions = body(
      R"({"choices": [{"text": "one", "finish_reason": "length"},
                      {"text": "two", "finish_reason": null}]})");
  EXPECT_EQ(content_text(completions), "one");
  EXPECT_THAT(finish_reasons_of(completions), ElementsAre("length", "none"));
  EXPECT_NE(content_hash(completions), content_hash(body(R"({"choices": [{"text": "one"}]})")));
  const auto program = body(R"({"object": "program.result", "program": "p.lua",
                                "result": {"id": 7}, "program_usage": {"calls": 9}})");
  EXPECT_EQ(content_text(program), "{\"id\": 7}");
  EXPECT_NE(content_hash(program),
            content_hash(body(R"({"object": "program.result", "result": {"id": 8}})")));
}

TEST(AnswerContent, VectorsAreComparedByTheirAngle) {
  const auto one = body(R"({"data": [{"index": 0, "embedding": [1, 0]}], "usage": {}})");
  const auto other = body(R"({"data": [{"index": 0, "embedding": [1.0, 1.0]}]})");
  EXPECT_NE(content_hash(one), content_hash(other));
  EXPECT_THAT(finish_reasons_of(one), IsEmpty());
  ASSERT_TRUE(embedding_of(one) && embedding_of(other));
  EXPECT_NEAR(*cosine(*embedding_of(one), *embedding_of(other)), 0.70710678, 1e-6);
  EXPECT_FALSE(cosine({1, 0}, {1}).has_value());
  EXPECT_FALSE(cosine({0, 0}, {1, 1}).has_value());
  EXPECT_FALSE(embedding_of(body(R"({"data": [{"embedding": "AAAA"}]})")).has_value());
}

TEST(AnswerContent, AnUnknownBodyIsComparedWithoutWhatIsVolatile) {
  EXPECT_EQ(content_hash(body(R"({"id": "a", "created": 1, "x": [1]})")),
            content_hash(body(R"({"id": "b", "created": 2, "x": [1]})")));
  EXPECT_NE(content_hash(body(R"({"id": "a", "x": [1]})")),
            content_hash(body(R"({"id": "a", "x": [2]})")));
}

}  // namespace
}  // namespace windrow::report
