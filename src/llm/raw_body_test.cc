#include "llm/raw_body.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string>

namespace windrow::llm {
namespace {

namespace json = boost::json;

Request of(Endpoint endpoint, std::string_view body, const json::object& defaults = {}) {
  const json::value value = json::parse(json::string_view(body.data(), body.size()));
  return raw_request(endpoint, body, value.get_object(), defaults);
}

Request chat(std::string_view body, const json::object& defaults = {}) {
  return of(Endpoint::kChatCompletions, body, defaults);
}

TEST(RawRequest, ABodyIsPassedOnAsItWasWritten) {
  const std::string_view body = R"({"model":"m","vendor":{"x":1.0,"big":12345678901234567890123},)"
                                R"("messages":[ ],"max_tokens":7})";
  const Request request = chat(body);
  EXPECT_EQ(request.raw, body);
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.output_tokens_max, 7);
}

TEST(RawRequest, StreamIsTakenOut) {
  EXPECT_EQ(chat(R"({"a":1,"stream":true, "stream_options":{"include_usage":true},"b":2})").raw,
            R"({"a":1,"b":2})");
}

TEST(RawRequest, DefaultsFillWhatIsMissingOrNull) {
  const Request request = chat(R"({"temperature":null,"top_p":0.50,"x":[1, 2]})",
                               {{"temperature", 0}, {"top_p", 1}, {"own", "text"}});
  EXPECT_EQ(request.raw, R"({"top_p":0.50,"x":[1, 2],"temperature":0,"own":"text"})");
  EXPECT_EQ(request.sampling.temperature, 0.0F);
  EXPECT_EQ(chat("{}", {{"model", "m"}}).model, "m");
  EXPECT_EQ(chat("{}", {{"model", "m"}}).raw, R"({"model":"m"})");
  EXPECT_EQ(chat(R"({"stream":true})").raw, "{}");
}

TEST(RawRequest, TellsWhetherJsonIsAskedFor) {
  EXPECT_EQ(chat("{}").structure, Structure::kText);
  EXPECT_EQ(chat(R"({"response_format":{"type":"text"}})").structure, Structure::kText);
  EXPECT_EQ(chat(R"({"response_format":{"type":"json_object"}})").structure,
            Structure::kJsonObject);
  EXPECT_EQ(chat(R"({"response_format":{"type":"json_schema","json_schema":{}}})").structure,
            Structure::kJson);
  EXPECT_EQ(chat("{}", {{"response_format", {{"type", "json_object"}}}}).structure,
            Structure::kJsonObject);
  EXPECT_EQ(chat(R"({"response_format":"json_object"})").structure, Structure::kText);
}

TEST(RawRequest, TellsWhichSchemaTheAnswerShouldFit) {
  const Request request = chat(
      R"({"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"null"}}}})");
  EXPECT_EQ(request.structure_schema, R"({"type":"null"})");
  EXPECT_EQ(request.structure_field, "response_format");
  EXPECT_EQ(chat(R"({"response_format":{"type":"json_object"}})").structure_schema, "");
  for (const std::string schema : {R"({"type":"null"})", R"("{\"type\":\"null\"}")"}) {
    for (const Endpoint endpoint : {Endpoint::kChatCompletions, Endpoint::kCompletions}) {
      const Request guided = of(endpoint, R"({"guided_json":)" + schema + "}");
      EXPECT_EQ(guided.structure, Structure::kJson);
      EXPECT_EQ(guided.structure_schema, R"({"type":"null"})");
      EXPECT_EQ(guided.structure_field, "guided_json");
      const Request newer = of(endpoint, R"({"structured_outputs":{"json":)" + schema + "}}");
      EXPECT_EQ(newer.structure_schema, R"({"type":"null"})");
      EXPECT_EQ(newer.structure_field, "structured_outputs");
    }
  }
  EXPECT_EQ(chat(R"({"structured_outputs":{"regex":"a"},"guided_json":null})").structure,
            Structure::kText);
}

TEST(RawRequest, ValuesOfTheWrongKindAreTheServersBusiness) {
  const Request request = chat(R"({"model":5,"temperature":"hot","max_tokens":-1,"n":1e99})");
  EXPECT_EQ(request.model, "");
  EXPECT_EQ(request.sampling.temperature, 1.0F);
  EXPECT_FALSE(request.output_tokens_max.has_value());
  EXPECT_EQ(request.choices, 1);
}

TEST(RawRequest, CountsInputs) {
  EXPECT_EQ(of(Endpoint::kEmbeddings, R"({"input":"a"})").inputs.size(), 1U);
  EXPECT_EQ(of(Endpoint::kEmbeddings, R"({"input":["a","b"]})").inputs.size(), 2U);
  EXPECT_EQ(of(Endpoint::kEmbeddings, R"({"input":[1,2,3]})").inputs.size(), 1U);
  EXPECT_EQ(of(Endpoint::kEmbeddings, R"({"input":[[1],[2,3]]})").inputs.size(), 2U);
  EXPECT_EQ(of(Endpoint::kRerank, R"({"documents":["a","b","c"]})").inputs.size(), 3U);
}

TEST(RawRequest, OnlyWhatIsAnsweredAlikeRepeats) {
  EXPECT_FALSE(repeat_key(chat(R"({"messages":[]})")).has_value());
  EXPECT_FALSE(repeat_key(chat(R"({"temperature":0.5})")).has_value());
  EXPECT_TRUE(repeat_key(chat(R"({"temperature":0.5,"seed":1})")).has_value());
  EXPECT_TRUE(repeat_key(of(Endpoint::kEmbeddings, R"({"input":"a"})")).has_value());
  EXPECT_EQ(repeat_key(chat(R"({"temperature":0})")), repeat_key(chat(R"({ "temperature" : 0 })")));
  EXPECT_NE(repeat_key(chat(R"({"temperature":0,"x":1})")),
            repeat_key(chat(R"({"temperature":0,"x":2})")));
  EXPECT_NE(repeat_key(of(Endpoint::kEmbeddings, "{}")), repeat_key(of(Endpoint::kRerank, "{}")));
  Request verbatim = chat(R"({"temperature":0})");
  verbatim.verbatim.emplace();
  EXPECT_FALSE(repeat_key(verbatim).has_value());
  Request with_header = chat(R"({"temperature":0})");
  with_header.headers = {{.name = "X-Trace", .value = "1"}};
  EXPECT_FALSE(repeat_key(with_header).has_value());
}

TEST(RawRequest, OneMemberIsReplacedWhereItStands) {
  EXPECT_EQ(with_member(R"({"a":1,"model":"x","b":[1, 2]})", "model", R"("y")"),
            R"({"a":1,"model":"y","b":[1, 2]})");
  EXPECT_EQ(with_member(R"({"model":"x","m\u006fdel":"z"})", "model", R"("y")"),
            R"({"model":"y"})");
  EXPECT_EQ(with_member("{}", "model", R"("y")"), R"({"model":"y"})");
}

TEST(RawRequest, APromptBeginsWithToolsAndMessages) {
  std::string buffer;
  EXPECT_EQ(raw_prompt(chat(R"({"messages":[{"role":"user"}],"tools":[1]})"), buffer),
            R"([1][{"role":"user"}])");
  EXPECT_EQ(raw_prompt(of(Endpoint::kCompletions, R"({"prompt":"once"})"), buffer), R"("once")");
}

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
