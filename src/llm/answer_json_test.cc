#include "llm/answer_json.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace windrow::llm {
namespace {

namespace json = boost::json;

const Answer kAnswer{.choices = {{.text = "hi \"you\"", .finish_reason = FinishReason::kLength}},
                     .usage = {.prompt_tokens = 3, .completion_tokens = 2}};

TEST(AnswerJson, ChatHasTheShapeOfTheApi) {
  EXPECT_EQ(answer_to_json(Endpoint::kChatCompletions, "7", "m", 1700000000, kAnswer),
            json::parse(R"({"id":"chatcmpl-7","object":"chat.completion","created":1700000000,
      "model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi \"you\"",
      "refusal":null},"logprobs":null,"finish_reason":"length"}],
      "usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}})"));
}

TEST(AnswerJson, CompletionsHasTheShapeOfTheApi) {
  EXPECT_EQ(answer_to_json(Endpoint::kCompletions, "7", "m", 1700000000, kAnswer),
            json::parse(R"({"id":"cmpl-7","object":"text_completion","created":1700000000,
      "model":"m","choices":[{"index":0,"text":"hi \"you\"","logprobs":null,
      "finish_reason":"length"}],
      "usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}})"));
}

TEST(AnswerJson, FailureSaysNullForWhatItDoesNotKnow) {
  const Failure failure{.status = 500, .code = "", .message = "why", .param = "stop"};
  EXPECT_EQ(failure_to_json(failure),
            json::parse(R"({"error":{"message":"why","type":"server_error","param":"stop",
      "code":null}})"));
}

}  // namespace
}  // namespace windrow::llm
