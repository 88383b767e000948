#include "upstream/read_reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>

#include "json/limits.h"

namespace windrow::upstream {
namespace {

constexpr int64_t kNow = 1'795'297'254;  // Sat, 21 Nov 2026 21:40:54 GMT

std::optional<int64_t> after(std::initializer_list<http::Headers::Field> fields) {
  return retry_after_ms(http::Headers(fields), kNow);
}

TEST(RetryAfter, SecondsAndDates) {
  EXPECT_EQ(after({{"Retry-After", "7"}}), 7000);
  EXPECT_EQ(after({{"retry-after", "0"}}), 0);
  EXPECT_EQ(after({{"retry-after", "1.5"}}), 1500);
  EXPECT_EQ(after({{"retry-after", "Sat, 21 Nov 2026 21:41:04 GMT"}}), 10'000);
  EXPECT_EQ(after({{"retry-after", "Sat, 21 Nov 2026 21:40:04 GMT"}}), 0);
  EXPECT_EQ(after({{"retry-after-ms", "250"}, {"retry-after", "7"}}), 250);
}

TEST(RetryAfter, LimitsThatAreUsedUp) {
  EXPECT_EQ(
      after({{"x-ratelimit-remaining-requests", "0"}, {"x-ratelimit-reset-requests", "6m0s"}}),
      360'000);
  EXPECT_EQ(
      after({{"x-ratelimit-remaining-requests", "5"}, {"x-ratelimit-reset-requests", "6m0s"}}),
      std::nullopt);
  EXPECT_EQ(after({{"x-ratelimit-remaining-requests", "0"},
                   {"x-ratelimit-reset-requests", "20ms"},
                   {"x-ratelimit-remaining-tokens", "0"},
                   {"x-ratelimit-reset-tokens", "1h2m3.5s"}}),
            3'600'000);
  EXPECT_EQ(
      after({{"x-ratelimit-remaining-tokens", "0"}, {"x-ratelimit-reset-tokens", "1795297264"}}),
      10'000);
}

TEST(RetryAfter, NonsenseIsNothing) {
  EXPECT_EQ(after({}), std::nullopt);
  for (const char* text : {"", "soon", "-5", "1x", "nan", "inf", "1e3", "5s5", "Sat, 99 Nov"}) {
    EXPECT_EQ(after({{"retry-after", text}}), std::nullopt) << text;
  }
  EXPECT_EQ(after({{"retry-after", "999999"}}), 3'600'000);
}

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Asked kChat{
    .server = "http://gpu1:8000", .model = "qwen", .endpoint = llm::Endpoint::kChatCompletions};

http::ClientReply reply(int32_t status, std::string_view body,
                        std::initializer_list<http::Headers::Field> fields = {}) {
  http::ClientReply reply;
  reply.head.status = status;
  reply.head.headers = http::Headers(fields);
  reply.body = body;
  reply.first_byte = std::chrono::milliseconds(20);
  reply.total = std::chrono::milliseconds(50);
  return reply;
}

llm::Answer answer_of(const http::ClientReply& reply, const Asked& asked = kChat) {
  llm::Outcome outcome = read_reply(asked, reply, kNow);
  if (const auto* failure = std::get_if<llm::Failure>(&outcome)) {
    ADD_FAILURE() << failure->message;
    return {};
  }
  return std::get<llm::Answer>(std::move(outcome));
}

llm::Failure failure_of(const http::ClientResult& result, const Asked& asked = kChat) {
  llm::Outcome outcome = read_reply(asked, result, kNow);
  if (!std::holds_alternative<llm::Failure>(outcome)) {
    ADD_FAILURE() << "an answer";
    return {};
  }
  return std::get<llm::Failure>(std::move(outcome));
}

constexpr std::string_view kAnswer =
    R"({"id":"x","choices":[{"message":{"content":"a b"}}],"vendor":1.0,)"
    R"("usage":{"prompt_tokens":30,"completion_tokens":4,)"
    R"("prompt_tokens_details":{"cached_tokens":16}}})";

TEST(ReadReply, AnAnswerIsKeptAsItCame) {
  const llm::Answer answer = answer_of(reply(200, kAnswer));
  EXPECT_EQ(answer.raw, kAnswer);
  EXPECT_EQ(answer.usage.prompt_tokens, 30);
  EXPECT_EQ(answer.usage.completion_tokens, 4);
  EXPECT_EQ(answer.usage.cached_tokens, 16);
  EXPECT_EQ(answer.timings.prefill_ms, 20);
  EXPECT_EQ(answer.timings.decode_ms, 30);
}

TEST(ReadReply, AnAnswerOfSeveralLinesBecomesOne) {
  EXPECT_EQ(answer_of(reply(200, "{\n  \"choices\": [ {\"text\":\"a  b\"} ]\r\n}\n")).raw,
            R"({"choices":[{"text":"a  b"}]})");
}

TEST(ReadReply, EveryEndpointHasItsShape) {
  Asked asked = kChat;
  asked.endpoint = llm::Endpoint::kEmbeddings;
  answer_of(reply(200, R"({"data":[{"embedding":[1]}]})"), asked);
  EXPECT_EQ(failure_of(reply(200, kAnswer), asked).code, "invalid_reply");
  asked.endpoint = llm::Endpoint::kRerank;
  answer_of(reply(200, R"({"results":[{"index":0}]})"), asked);
  asked.endpoint = llm::Endpoint::kCompletions;
  answer_of(reply(200, R"({"choices":[{"text":""}]})"), asked);
}

TEST(ReadReply, UsageThatIsMissingOrNonsenseCountsNothing) {
  for (const char* usage : {"null", "5", R"({"prompt_tokens":"x","completion_tokens":-3})",
                            R"({"prompt_tokens_details":null})"}) {
    const llm::Answer answer =
        answer_of(reply(200, std::string(R"({"choices":[1],"usage":)") + usage + "}"));
    EXPECT_EQ(answer.usage.prompt_tokens, 0) << usage;
    EXPECT_EQ(answer.usage.completion_tokens, 0) << usage;
  }
}

TEST(ReadReply, WhatIsNoAnswerMayBeOneNextTime) {
  struct Case {
    std::string_view body;
    std::string_view code;
  };
  for (const Case& one :
       {Case{R"({"choices":[{"mess)", "unparsable_reply"}, Case{"", "unparsable_reply"},
        Case{"{} {}", "unparsable_reply"}, Case{"[1]", "invalid_reply"},
        Case{R"({"choices":[]})", "invalid_reply"}, Case{R"({"object":"x"})", "invalid_reply"}}) {
    const llm::Failure failure = failure_of(reply(200, one.body));
    EXPECT_EQ(failure.failure_class, llm::FailureClass::kTransient) << one.body;
    EXPECT_EQ(failure.code, one.code) << one.body;
    EXPECT_FALSE(failure.overloaded);
  }
  EXPECT_THAT(failure_of(reply(200, "<html>", {{"Content-Type", "text/html"}})).message,
              HasSubstr("the base URL may be wrong or a proxy in the way"));
}

// What is accepted here is read again by everybody else; what is not comes no better next time.
TEST(ReadReply, JsonHasADepth) {
  const auto nested = [](size_t depth) {
    return R"({"choices":[{"message":{"content":"a"}}],"vendor":)" + std::string(depth - 1, '[') +
           std::string(depth - 1, ']') + "}";
  };
  EXPECT_EQ(answer_of(reply(200, nested(kJsonDepthMax))).raw, nested(kJsonDepthMax));
  const llm::Failure failure = failure_of(reply(200, nested(kJsonDepthMax + 1)));
  EXPECT_EQ(failure.failure_class, llm::FailureClass::kRequest);
  EXPECT_EQ(failure.code, "invalid_reply");
  EXPECT_THAT(failure.message, HasSubstr("nested more than 128 deep"));
}

TEST(ReadReply, TheServersWordsAreRepeated) {
  const llm::Failure failure = failure_of(
      reply(400, R"({"error":{"message":"top_k is 7","code":"bad_top_k","param":"top_k"}})"));
  EXPECT_EQ(failure.failure_class, llm::FailureClass::kRequest);
  EXPECT_EQ(failure.message, "http://gpu1:8000 answered 400: top_k is 7");
  EXPECT_EQ(failure.code, "bad_top_k");
  EXPECT_EQ(failure.param, "top_k");
  EXPECT_EQ(failure.raw,
            R"({"error":{"message":"top_k is 7","code":"bad_top_k","param":"top_k"}})");
  EXPECT_THAT(failure_of(reply(400, R"({"error":"no such thing"})")).message,
              HasSubstr("no such thing"));
  EXPECT_THAT(failure_of(reply(422, R"({"detail":"field required"})")).message,
              HasSubstr("field required"));
  EXPECT_THAT(
      failure_of(reply(400, R"({"object":"error","message":"old form","code":400})")).message,
      HasSubstr("old form"));
  EXPECT_THAT(failure_of(reply(500, "")).message, HasSubstr("without a reason"));
  EXPECT_THAT(failure_of(reply(502, std::string(900, 'x') + "\n\x01\xff")).message,
              AllOf(HasSubstr("..."), Not(HasSubstr("\n"))));
}

TEST(ReadReply, WhetherItIsWorthAnotherTry) {
  for (const int32_t status : {400, 404, 405, 413, 422, 451}) {
    EXPECT_EQ(failure_of(reply(status, "{}")).failure_class, llm::FailureClass::kRequest) << status;
  }
  for (const int32_t status : {408, 409, 425, 429, 500, 502, 503, 504, 529}) {
    const llm::Failure failure = failure_of(reply(status, "{}"));
    EXPECT_EQ(failure.failure_class, llm::FailureClass::kTransient) << status;
    EXPECT_EQ(failure.overloaded, status == 429 || status == 503 || status == 529) << status;
  }
  for (const int32_t status : {401, 403}) {
    EXPECT_EQ(failure_of(reply(status, "{}")).failure_class, llm::FailureClass::kBackend);
  }
  EXPECT_EQ(failure_of(reply(429, "{}", {{"Retry-After", "3"}})).retry_after_ms, 3000);
  EXPECT_EQ(failure_of(reply(400, "{}", {{"Retry-After", "3"}})).retry_after_ms, std::nullopt);
}

TEST(ReadReply, AContextThatIsExceededHasOneCode) {
  for (const char* message :
       {"This model's maximum context length is 8192 tokens",
        "the request exceeds the available context size", "Prompt is too long for the model"}) {
    for (const int32_t status : {400, 413}) {
      const llm::Failure failure =
          failure_of(reply(status, std::string(R"({"error":{"message":")") + message + R"("}})"));
      EXPECT_EQ(failure.code, "context_length_exceeded") << message;
      EXPECT_EQ(failure.failure_class, llm::FailureClass::kRequest) << message;
    }
  }
}

TEST(ReadReply, SaysWhatToDo) {
  EXPECT_THAT(failure_of(reply(401, "{}")).message, HasSubstr("--api-key-env"));
  EXPECT_THAT(failure_of(reply(404, "not found")).message, HasSubstr("base URL"));
  EXPECT_THAT(failure_of(reply(404, R"({"error":{"message":"model not found"}})")).message,
              HasSubstr("does it have the model \"qwen\"?"));
  EXPECT_THAT(failure_of(reply(404, R"({"error":"qwen was not found, try pulling it"})")).message,
              HasSubstr("does it have the model \"qwen\"?"));
  Asked nameless = kChat;
  nameless.model = "";
  EXPECT_THAT(failure_of(reply(404, "{}"), nameless).message, HasSubstr("--set model=NAME"));
}

// As FastAPI, llama-server and OpenAI write it.
TEST(ReadReply, APathThatIsNotThereIsNotTheModelsFault) {
  for (const char* body :
       {R"({"detail":"Not Found"})",
        R"({"error":{"code":404,"message":"File Not Found","type":"not_found_error"}})",
        R"body({"error":{"message":"Invalid URL (POST /v2/chat/completions)"}})body"}) {
    const std::string message = failure_of(reply(404, body)).message;
    EXPECT_THAT(message, HasSubstr("is the base URL right?")) << body;
    EXPECT_THAT(message, HasSubstr("no /v1/chat/completions")) << body;
    EXPECT_THAT(message, Not(HasSubstr("qwen"))) << body;
  }
}

TEST(ReadReply, ARedirectEndsTheJobAndSaysWhereTo) {
  for (const int32_t status : {301, 302, 307, 308}) {
    const llm::Failure failure =
        failure_of(reply(status, "<html>moved</html>", {{"Location", "https://h/v1/x"}}));
    EXPECT_EQ(failure.failure_class, llm::FailureClass::kBackend) << status;
    EXPECT_EQ(failure.code, "redirected");
    EXPECT_THAT(failure.message,
                HasSubstr("points to https://h/v1/x; requests are not sent after"));
  }
}

TEST(ReadReply, WhatNeverCameIsOfItsKind) {
  const auto of = [](http::FailureKind kind) {
    return failure_of(http::ClientFailure{.kind = kind, .sent = true, .message = "why"});
  };
  EXPECT_EQ(of(http::FailureKind::kConnect).failure_class, llm::FailureClass::kTransient);
  EXPECT_EQ(of(http::FailureKind::kConnect).code, "upstream_unreachable");
  EXPECT_EQ(of(http::FailureKind::kConnect).message, "why");
  EXPECT_FALSE(of(http::FailureKind::kConnect).short_of_files);
  EXPECT_EQ(of(http::FailureKind::kFiles).failure_class, llm::FailureClass::kTransient);
  EXPECT_EQ(of(http::FailureKind::kFiles).code, "too_many_open_files");
  EXPECT_TRUE(of(http::FailureKind::kFiles).short_of_files);
  EXPECT_FALSE(of(http::FailureKind::kFiles).unreached);
  EXPECT_TRUE(of(http::FailureKind::kTimeout).overloaded);
  EXPECT_EQ(of(http::FailureKind::kTimeout).status, 504);
  EXPECT_EQ(of(http::FailureKind::kTooLarge).failure_class, llm::FailureClass::kRequest);
  EXPECT_EQ(of(http::FailureKind::kCancelled).failure_class, llm::FailureClass::kCancelled);
}

}  // namespace
}  // namespace windrow::upstream
