#include "llm/request_fields.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <vector>

#include "llm/request_json.h"

namespace windrow::llm {
namespace {

namespace json = boost::json;

using Kind = StructureSpec::Kind;

std::variant<Request, Failure> parse(std::string_view fields) {
  const std::string body = fmt::format(R"({{"prompt":"p",{}}})", fields);
  return parse_request(Endpoint::kCompletions, json::parse(body).as_object(), 1);
}

StructureSpec accepted(std::string_view fields) {
  auto result = parse(fields);
  if (const auto* failure = std::get_if<Failure>(&result)) {
    ADD_FAILURE() << fields << ": " << failure->message;
    return {};
  }
  const Request& request = std::get<Request>(result);
  if (!request.structured) ADD_FAILURE() << "no structure: " << fields;
  return request.structured.value_or(StructureSpec{});
}

Failure refused(std::string_view fields) {
  auto result = parse(fields);
  if (std::holds_alternative<Request>(result)) {
    ADD_FAILURE() << "accepted: " << fields;
    return {};
  }
  return std::get<Failure>(std::move(result));
}

TEST(StructureFields, UnknownWordsOfASchemaAreSpokenOfByAFieldOfTheirOwn) {
  const auto said = [](std::string_view fields) {
    return std::get<Request>(parse(fields)).schema_unknown;
  };
  EXPECT_EQ(said(R"("guided_json":{})"), std::nullopt);
  EXPECT_EQ(said(R"("guided_json":{},"schema_unknown":"annotate")"), UnknownWords::kAnnotate);
  EXPECT_EQ(said(R"("guided_json":{},"schema_unknown":"refuse")"), UnknownWords::kRefuse);
  const Failure failure = refused(R"("guided_json":{},"schema_unknown":"ignore")");
  EXPECT_EQ(failure.param, "schema_unknown");
  EXPECT_EQ(failure.message, "schema_unknown must be \"annotate\" or \"refuse\"");
}

TEST(StructureFields, EverySpellingMeansTheSame) {
  const std::vector<std::string> schemas = {
      R"("response_format":{"type":"json_schema","json_schema":{"name":"a",)"
      R"("schema":{"b":1,"a":2}}})",
      R"("response_format":{"type":"json_schema","json_schema":{"strict":false,"description":"d",)"
      R"("schema":{"b":1,"a":2}}})",
      R"("response_format":{"type":"json_object","schema":{"b":1,"a":2}})",
      R"("structured_outputs":{"json":{"b":1,"a":2},"regex":null,"json_object":false})",
      R"("guided_json":{"b":1,"a":2})",
      R"("guided_json":"{\"b\": 1, \"a\": 2}")",
      R"("json_schema":{"b":1,"a":2})",
  };
  for (const std::string& fields : schemas) {
    const StructureSpec spec = accepted(fields);
    EXPECT_EQ(spec.kind, Kind::kJsonSchema) << fields;
    EXPECT_EQ(spec.text, R"({"b":1,"a":2})") << fields << ": the order of members is kept";
    EXPECT_FALSE(spec.flexible_whitespace) << fields;
    EXPECT_FALSE(spec.open) << fields;
    EXPECT_FALSE(spec.any_order) << fields;
  }
  for (const char* fields : {R"("response_format":{"type":"regex","regex":"a+"})",
                             R"("structured_outputs":{"regex":"a+"})", R"("guided_regex":"a+")"}) {
    EXPECT_EQ(accepted(fields).kind, Kind::kRegex) << fields;
    EXPECT_EQ(accepted(fields).text, "a+") << fields;
  }
  for (const char* fields :
       {R"("response_format":{"type":"grammar","grammar":"root ::= \"a\""})",
        R"("structured_outputs":{"grammar":"root ::= \"a\""})",
        R"("guided_grammar":"root ::= \"a\"")", R"("grammar":"root ::= \"a\"")"}) {
    EXPECT_EQ(accepted(fields).kind, Kind::kGrammar) << fields;
    EXPECT_EQ(accepted(fields).text, "root ::= \"a\"") << fields;
  }
  for (const char* fields :
       {R"("response_format":{"type":"choice","choice":["x","y"]})",
        R"("structured_outputs":{"choice":["x","y"]})", R"("guided_choice":["x","y"])"}) {
    EXPECT_EQ(accepted(fields).kind, Kind::kChoice) << fields;
    EXPECT_EQ(accepted(fields).choices, (std::vector<std::string>{"x", "y"})) << fields;
  }
  for (const char* fields : {R"("response_format":{"type":"json_object"})",
                             R"("structured_outputs":{"json_object":true})"}) {
    EXPECT_EQ(accepted(fields).kind, Kind::kJsonObject) << fields;
  }
}

TEST(StructureFields, MessagesNameTheFieldThatAsked) {
  EXPECT_EQ(accepted(R"("response_format":{"type":"json_object"})").param, "response_format");
  EXPECT_EQ(accepted(R"("guided_regex":"a")").param, "guided_regex");
}

TEST(StructureFields, TextIsNoStructure) {
  for (const char* fields : {R"("response_format":{"type":"text"})", R"("response_format":null)",
                             R"("structured_outputs":{})"}) {
    const auto result = parse(fields);
    ASSERT_TRUE(std::holds_alternative<Request>(result)) << fields;
    EXPECT_FALSE(std::get<Request>(result).structured) << fields;
  }
}

TEST(StructureFields, OptionsStandBesideTheType) {
  const StructureSpec spec =
      accepted(R"("response_format":{"type":"json_schema","json_schema":{"schema":true},)"
               R"("whitespace":"flexible","additional_properties":"open"})");
  EXPECT_TRUE(spec.flexible_whitespace);
  EXPECT_TRUE(spec.open);
  EXPECT_TRUE(accepted(R"("response_format":{"type":"json_object","whitespace":"flexible"})")
                  .flexible_whitespace);
  EXPECT_TRUE(accepted(R"("structured_outputs":{"json":{},"additional_properties":"open"})").open);
  EXPECT_FALSE(accepted(R"("response_format":{"type":"json_schema","json_schema":{"schema":{}},)"
                        R"("whitespace":"compact","additional_properties":"closed"})")
                   .open);
  EXPECT_TRUE(accepted(R"("response_format":{"type":"json_schema","json_schema":{"schema":{}},)"
                       R"("property_order":"any"})")
                  .any_order);
  EXPECT_TRUE(accepted(R"("structured_outputs":{"json":{},"property_order":"any"})").any_order);
  EXPECT_FALSE(
      accepted(R"("structured_outputs":{"json":{},"property_order":"definition"})").any_order);
}

TEST(StructureFields, WhatIsWrongIsSaidWithItsPlace) {
  struct Case {
    std::string fields;
    std::string code;
    std::string param;
    std::string message;
  };
  const std::vector<Case> cases = {
      {R"("response_format":{"type":"json_object"},"guided_regex":"a")", "invalid_value",
       "guided_regex",
       "response_format and guided_regex both ask for a structure; give one of them"},
      {R"("grammar":"root ::= [a]","json_schema":{})", "invalid_value", "json_schema",
       "grammar and json_schema both ask for a structure; give one of them"},
      {R"("structured_outputs":{"regex":"a","choice":["b"]})", "invalid_value",
       "structured_outputs",
       "structured_outputs has regex and choice, which each ask for a structure; give one of them"},
      {R"("response_format":{"type":"yaml"})", "invalid_value", "response_format.type",
       "response_format.type is \"yaml\"; it must be \"text\", \"json_schema\", \"json_object\", "
       "\"regex\", \"grammar\" or \"choice\""},
      {R"("response_format":{"type":1})", "invalid_value", "response_format.type",
       "response_format.type must be \"text\", \"json_schema\", \"json_object\", \"regex\", "
       "\"grammar\" or \"choice\""},
      {R"("response_format":"json")", "invalid_value", "response_format",
       "response_format must be an object, such as {\"type\": \"json_object\"}, not a string"},
      {R"("response_format":{})", "missing_required_parameter", "response_format.type",
       "response_format.type is missing; response_format needs it"},
      {R"("response_format":{"type":"json_schema"})", "missing_required_parameter",
       "response_format.json_schema",
       "response_format.json_schema is missing; response_format needs it"},
      {R"("response_format":{"type":"json_schema","json_schema":{"name":"a"}})",
       "missing_required_parameter", "response_format.json_schema.schema",
       "response_format.json_schema.schema is missing; response_format.json_schema needs it"},
      {R"("response_format":{"type":"json_schema","json_schema":{"schema":{},"strikt":true}})",
       "unsupported_parameter", "response_format.json_schema.strikt",
       "response_format.json_schema.strikt is not supported beside schema, name, description, "
       "strict; take it out"},
      {R"("response_format":{"type":"regex","regex":"a","whitespace":"flexible"})",
       "unsupported_parameter", "response_format.whitespace",
       "response_format.whitespace is not supported beside type, regex; take it out"},
      {R"("response_format":{"type":"json_object","whitespace":"some"})", "invalid_value",
       "response_format.whitespace",
       "response_format.whitespace must be \"compact\" or \"flexible\""},
      {R"("response_format":{"type":"json_schema","json_schema":{"schema":{}},)"
       R"("property_order":"bottom"})",
       "invalid_value", "response_format.property_order",
       "response_format.property_order must be \"definition\" or \"any\""},
      {R"("response_format":{"type":"json_object","property_order":"any"})",
       "unsupported_parameter", "response_format.property_order",
       "response_format.property_order is not supported beside type, schema, whitespace; "
       "take it out"},
      {R"("response_format":{"type":"choice","choice":[]})", "invalid_value",
       "response_format.choice",
       "response_format.choice must be an array of strings, such as [\"yes\", \"no\"], not an "
       "empty array"},
      {R"("guided_choice":["a",1])", "invalid_value", "guided_choice[1]", ""},
      {R"("guided_json":"{")", "invalid_value", "guided_json", ""},
      {R"("guided_json":[1])", "invalid_value", "guided_json",
       "guided_json must be a JSON Schema, which is an object, not an array"},
      {R"("guided_regex":"")", "invalid_value", "guided_regex", ""},
      {R"("guided_regex":")" + std::string((size_t{1} << 20) + 1, 'a') + '"', "invalid_value",
       "guided_regex", "guided_regex has 1048577 bytes; at most 1048576 are accepted"},
      {R"("guided_regex":"a","ignore_eos":true)", "invalid_value", "ignore_eos",
       "ignore_eos is true beside guided_regex; an answer with a structure ends when that is "
       "whole: take one of them out"},
      {R"("guided_regex":"a","echo":true,"max_tokens":0)", "invalid_value", "max_tokens",
       "max_tokens is 0 beside guided_regex; a structure needs room for an answer"},
  };
  for (const Case& one : cases) {
    const Failure failure = refused(one.fields);
    const std::string fields = one.fields.substr(0, 200);
    EXPECT_EQ(failure.status, 400) << fields;
    EXPECT_EQ(failure.code, one.code) << fields;
    EXPECT_EQ(failure.param, one.param) << fields;
    if (!one.message.empty()) {
      EXPECT_EQ(failure.message, one.message) << fields;
    }
  }
}

}  // namespace
}  // namespace windrow::llm
