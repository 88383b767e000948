#include "api/calls/batch_rows.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <utility>
#include <variant>

#include "batch/result_line.h"
#include "batch/row_reader.h"
#include "batches/batch_json.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

batch::RowOrFault read_row(std::string_view url, std::string_view body, bool raw = false) {
  const std::string line =
      fmt::format(R"({{"custom_id":"a","method":"POST","url":"{}","body":{}}})", url, body);
  const batch::RowReader reader(
      {.models = {"m"}, .any_model = true, .raw = raw, .apis = row_apis()});
  return reader.read({.number = 1, .bytes = line});
}

batch::Row row(std::string_view url, std::string_view body, bool raw = false) {
  auto read = read_row(url, body, raw);
  auto* fault = std::get_if<batch::RowFault>(&read);
  EXPECT_EQ(fault, nullptr) << fault->failure.message;
  return fault == nullptr ? std::move(std::get<batch::Row>(read)) : batch::Row();
}

llm::Failure fault(std::string_view url, std::string_view body) {
  auto read = read_row(url, body);
  if (auto* found = std::get_if<batch::RowFault>(&read)) return found->failure;
  ADD_FAILURE() << "nothing is wrong with " << body;
  return {};
}

json::value body_of(const batch::Row& asked, llm::Outcome outcome) {
  const llm::Outcome told = asked.dialect->to_client(std::move(outcome));
  const auto& answer = std::get<llm::Answer>(told);
  return json::parse(batch::result_line(asked.key, asked.request.endpoint, asked.request.model,
                                        answer, {.attempts = 1}, 5, asked.dialect.get()))
      .at("response")
      .at("body");
}

const llm::Answer kSaid{.choices = {{.text = "yes"}},
                        .usage = {.prompt_tokens = 3, .completion_tokens = 2}};

TEST(BatchRows, AResponseIsAChatWithABodyOfItsOwn) {
  const batch::Row asked = row("/v1/responses", R"({"model":"m","input":"hi","instructions":"brief",
      "max_output_tokens":9,"reasoning":{"effort":"low"},"metadata":{"k":"v"}})");
  EXPECT_EQ(asked.request.endpoint, llm::Endpoint::kChatCompletions);
  EXPECT_EQ(json::value(asked.request.chat.messages),
            json::parse(R"([{"role":"system","content":"brief"},{"role":"user","content":"hi"}])"));
  EXPECT_EQ(asked.request.output_tokens_max, 9);
  EXPECT_EQ(asked.request.chat.wishes.at("reasoning_effort"), "low");
  const json::value body = body_of(asked, kSaid);
  EXPECT_EQ(body.at("object"), "response");
  EXPECT_EQ(body.at("store"), false) << "nothing is kept for batches";
  EXPECT_EQ(body.at("metadata"), json::parse(R"({"k":"v"})"));
  EXPECT_EQ(body.at("output").at(0).at("content").at(0).at("text"), "yes");
  EXPECT_EQ(body.at("usage").at("input_tokens"), 3);
}

TEST(BatchRows, AMessageIsAChatWithABodyOfItsOwn) {
  const batch::Row asked = row("/v1/messages", R"({"model":"m","max_tokens":9,"system":"brief",
      "messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(asked.request.chat.messages.size(), 2U);
  const json::value body = body_of(asked, kSaid);
  EXPECT_EQ(body.at("type"), "message");
  EXPECT_EQ(body.at("content").at(0).at("text"), "yes");
}

TEST(BatchRows, UnknownFieldsAreLeftOutAndNamedWhereThatIsWanted) {
  const batch::RowReader reader({.body = {.unknown_fields = llm::UnknownFields::kIgnore},
                                 .models = {"m"},
                                 .any_model = true,
                                 .apis = row_apis()});
  for (const std::string_view asked :
       {R"("url":"/v1/responses","body":{"model":"m","input":"hi","foo_bar":1)",
        R"("url":"/v1/messages","body":{"model":"m","max_tokens":1,"foo_bar":1,)"
        R"("messages":[{"role":"user","content":"hi"}])"}) {
    const std::string line = fmt::format(R"({{"custom_id":"a","method":"POST",{}}}}})", asked);
    auto read = reader.read({.number = 1, .bytes = line});
    ASSERT_TRUE(std::holds_alternative<batch::Row>(read)) << line;
    EXPECT_EQ(std::get<batch::Row>(read).ignored_fields, std::vector<std::string>{"foo_bar"});
  }
}

TEST(BatchRows, WhatNeedsKeptResponsesIsRefused) {
  llm::Failure failure =
      fault("/v1/responses", R"({"model":"m","input":"hi","previous_response_id":"resp_1"})");
  EXPECT_EQ(failure.status, 400);
  EXPECT_EQ(failure.param, "previous_response_id");
  EXPECT_THAT(failure.message, HasSubstr("not supported in batches"));
  failure =
      fault("/v1/responses", R"({"model":"m","input":[{"type":"item_reference","id":"msg_1"}]})");
  EXPECT_EQ(failure.param, "input[0]");
}

TEST(BatchRows, WhatIsWrongIsSaidInTheWordsOfTheRow) {
  llm::Failure failure =
      fault("/v1/responses", R"({"model":"m","input":"a","max_output_tokens":0})");
  EXPECT_EQ(failure.param, "max_output_tokens");
  failure = fault("/v1/messages", R"({"model":"m","messages":[{"role":"user","content":"a"}]})");
  EXPECT_EQ(json::parse(failure.raw),
            json::parse(R"({"type":"error","error":{"type":"invalid_request_error",
                "message":"the body has no max_tokens, which /v1/messages needs"}})"))
      << "as that API says it; a row has no id of a request";
  failure = fault("/v1/messages", R"({"model":"m","max_tokens":1,"stream":true,
                  "messages":[{"role":"user","content":"a"}]})");
  EXPECT_EQ(failure.param, "stream");
  EXPECT_EQ(json::parse(failure.raw).at("type"), "error");
  failure = fault("/v1/nothing", "{}");
  EXPECT_EQ(failure.code, "unknown_url");
  EXPECT_THAT(failure.message, HasSubstr("/v1/responses, /v1/messages, "));
}

TEST(BatchRows, AServerElsewhereIsAskedForAChat) {
  const batch::Row asked =
      row("/v1/responses", R"({"model":"m","input":"hi","reasoning":{"effort":"low"}})", true);
  const json::value sent = json::parse(asked.request.raw);
  EXPECT_EQ(sent.at("messages"), json::parse(R"([{"role":"user","content":"hi"}])"));
  EXPECT_EQ(sent.at("reasoning_effort"), "low");
  const json::value body =
      body_of(asked, llm::Answer{.raw = R"({"choices":[{"message":{"content":"yes"}}]})"});
  EXPECT_EQ(body.at("output").at(0).at("content").at(0).at("text"), "yes");
  const llm::Outcome odd = asked.dialect->to_client(llm::Answer{.raw = "{}"});
  EXPECT_EQ(std::get<llm::Failure>(odd).code, "invalid_reply");
}

TEST(BatchRows, ABatchMayHaveTheirUrls) {
  const auto read = batches::read_batch_request(
      json::parse(R"({"input_file_id":"file-1","endpoint":"/v1/messages"})").as_object(),
      row_apis());
  ASSERT_TRUE(std::holds_alternative<batches::BatchRequest>(read));
  const auto& request = std::get<batches::BatchRequest>(read);
  EXPECT_EQ(request.endpoint, llm::Endpoint::kChatCompletions);
  EXPECT_EQ(url_of(request), "/v1/messages");
  batches::BatchRecord record{.request = request};
  batches::BatchRecord again;
  ASSERT_TRUE(batches::read_record(batches::record_text(record), again));
  EXPECT_EQ(url_of(again.request), "/v1/messages");
}

}  // namespace
}  // namespace windrow::api
