#include "batch/result_line.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "batch/log_scan.h"

namespace windrow::batch {

namespace json = boost::json;

namespace {

const RowKey kKey{.line = 12,
                  .custom_id = "row \"12\"",
                  .identity = {.low = 0x10, .high = 0x20},
                  .fingerprint = 0x1};

// docs/formats.md describes these.
TEST(ResultLine, AResultHasTheShapeOfTheApi) {
  const llm::Answer answer{.choices = {{.text = "hi\n"}},
                           .usage = {.prompt_tokens = 3, .completion_tokens = 2},
                           .timings = {.queue_ms = 4, .prefill_ms = 5, .decode_ms = 6}};
  const std::string line =
      result_line(kKey, llm::Endpoint::kChatCompletions, "tiny", answer,
                  {.attempts = 2, .tokens = 9, .earlier_failure = "busy"}, 1700000000);
  EXPECT_TRUE(line.starts_with(kLineStart));
  EXPECT_TRUE(line.ends_with("}\n"));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(json::parse(line), json::parse(R"({"id":"batch_req_0000000000000011",
      "custom_id":"row \"12\"","response":{"status_code":200,
      "request_id":"req_0000000000000021","body":{"id":"chatcmpl-0000000000000011",
      "object":"chat.completion","created":1700000000,"model":"tiny","choices":[{"index":0,
      "message":{"role":"assistant","content":"hi\n","refusal":null},"logprobs":null,
      "finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,
      "total_tokens":5,"prompt_tokens_details":{"cached_tokens":0},
      "completion_tokens_details":{"reasoning_tokens":0}}}},
      "error":null,"windrow":{"line":12,"attempts":2,
      "fingerprint":"0000000000000001","tokens":9,"earlier_failure":"busy",
      "timings":{"queue_ms":4,"prefill_ms":5,"decode_ms":6}}})"));
}

TEST(ResultLine, AFailedRowHasAResponseAndAnError) {
  const RowFault fault{.key = kKey,
                       .failure = {.status = 404,
                                   .code = "model_not_found",
                                   .message = "there is no model x; there is tiny",
                                   .param = "model"}};
  const std::string line = error_line(fault, {.attempts = 1});
  EXPECT_TRUE(line.starts_with(kLineStart));
  EXPECT_EQ(json::parse(line), json::parse(R"({"id":"batch_req_0000000000000011",
      "custom_id":"row \"12\"","response":{"status_code":404,
      "request_id":"req_0000000000000021","body":{"error":{
      "message":"there is no model x; there is tiny","type":"not_found_error","param":"model",
      "code":"model_not_found"}}},"error":{"code":"model_not_found",
      "message":"there is no model x; there is tiny","param":"model","line":12},
      "windrow":{"line":12,"attempts":1,"fingerprint":"0000000000000001"}})"));
}

TEST(ResultLine, ALineThatWasNoRequestHasNoResponse) {
  RowFault fault{
      .key = kKey, .failure = {.code = "invalid_json_line", .message = "no JSON"}, .of_line = true};
  fault.key.custom_id.clear();
  EXPECT_EQ(json::parse(error_line(fault, {})), json::parse(R"({"id":"batch_req_0000000000000011",
      "custom_id":null,"response":null,"error":{"code":"invalid_json_line","message":"no JSON",
      "param":null,"line":12},
      "windrow":{"line":12,"attempts":0,"fingerprint":"0000000000000001"}})"));
}

TEST(ResultLine, ARowThatWasNeverSentHasNoResponseAndIsARow) {
  const RowFault fault{.key = kKey,
                       .failure = {.status = 0, .code = "batch_expired", .message = "too late"}};
  const json::value line = json::parse(error_line(fault, {}));
  EXPECT_EQ(line, json::parse(R"({"id":"batch_req_0000000000000011",
      "custom_id":"row \"12\"","response":null,"error":{"code":"batch_expired",
      "message":"too late","param":null,"line":12},
      "windrow":{"line":12,"attempts":0,"fingerprint":"0000000000000001","row":true}})"));
  LogLine read;
  EXPECT_FALSE(read_log_line(line, LogKind::kErrors, read));
  EXPECT_FALSE(read.of_line);
  EXPECT_EQ(read.identity, row_identity("row \"12\""));
}

const RowKey kCutKey{
    .line = 1, .custom_id = "a", .identity = {.low = 1, .high = 2}, .fingerprint = 3};

llm::Answer cut(llm::FinishReason reason) {
  llm::Choice choice{.text = R"({"a":)", .finish_reason = reason};
  choice.structure = llm::StructureLabel::kTruncated;
  return {.choices = {{.text = "{}", .structure = llm::StructureLabel::kValid}, choice},
          .truncated = true,
          .usage = {.prompt_tokens = 3, .completion_tokens = 4}};
}

TEST(Truncated, TheErrorHoldsWhatWasSaid) {
  const llm::Failure failure = truncated_failure(kCutKey, llm::Endpoint::kCompletions, "m",
                                                 cut(llm::FinishReason::kLength), 1700000000);
  EXPECT_EQ(failure.failure_class, llm::FailureClass::kRequest);
  EXPECT_EQ(failure.status, 422);
  EXPECT_EQ(failure.code, "truncated_structured_output");
  EXPECT_EQ(failure.param, "max_tokens");
  EXPECT_EQ(failure.usage.completion_tokens, 4);
  EXPECT_EQ(failure.raw.find('\n'), std::string::npos);
  const json::value body = json::parse(failure.raw);
  EXPECT_EQ(body.at("error").at("code"), "truncated_structured_output");
  EXPECT_EQ(body.at("error").at("message"), json::string(failure.message));
  EXPECT_EQ(body.at("answer").at("choices").at(0).at("structure"), "valid");
  EXPECT_EQ(body.at("answer").at("choices").at(1).at("structure"), "truncated");
  EXPECT_EQ(body.at("answer").at("choices").at(1).at("text"), R"({"a":)");
}

TEST(Truncated, AStopTextIsNamed) {
  const llm::Failure failure = truncated_failure(kCutKey, llm::Endpoint::kCompletions, "m",
                                                 cut(llm::FinishReason::kStop), 1700000000);
  EXPECT_EQ(failure.param, "stop");
}

TEST(Truncated, ARawAnswerStaysAsItIs) {
  const llm::Answer answer{.raw = R"({"choices": [1]})", .truncated = true};
  const llm::Failure failure =
      truncated_failure(kCutKey, llm::Endpoint::kCompletions, "m", answer, 1700000000);
  EXPECT_TRUE(failure.raw.ends_with(R"(,"answer":{"choices": [1]}})")) << failure.raw;
}

}  // namespace
}  // namespace windrow::batch
