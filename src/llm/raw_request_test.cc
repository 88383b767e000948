#include "llm/raw_request.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

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

}  // namespace
}  // namespace windrow::llm
