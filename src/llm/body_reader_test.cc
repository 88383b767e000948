#include "llm/body_reader.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string>

#include "llm/raw_body.h"
#include "llm/request_json.h"

namespace windrow::llm {
namespace {

namespace json = boost::json;

// As a server with a model of its own reads it.
std::optional<Hash128> asked(Endpoint endpoint, std::string_view body, bool seeded = false) {
  json::object members = json::parse(json::string_view(body.data(), body.size())).as_object();
  for (const char* name : {"stream", "stream_options", "priority", "service_tier"})
    members.erase(name);
  const bool has = seeded || has_seed(members);
  const auto parsed = parse_request(endpoint, members, 7);
  if (const auto* failure = std::get_if<Failure>(&parsed)) {
    ADD_FAILURE() << failure->message;
    return std::nullopt;
  }
  return question_of(std::get<Request>(parsed), body, has);
}

std::string chat(const std::string& rest) {
  return R"({"model":"m","messages":[{"role":"user","content":"a b"}])" + rest + "}";
}

TEST(Question, IsKnownWhereChanceHasNoPart) {
  EXPECT_EQ(asked(Endpoint::kChatCompletions, chat("")), std::nullopt);
  EXPECT_EQ(asked(Endpoint::kChatCompletions, chat(R"(,"seed":null)")), std::nullopt);
  EXPECT_NE(asked(Endpoint::kChatCompletions, chat(R"(,"seed":1)")), std::nullopt);
  EXPECT_NE(asked(Endpoint::kChatCompletions, chat(""), true), std::nullopt);
  EXPECT_NE(asked(Endpoint::kChatCompletions, chat(R"(,"temperature":0)")), std::nullopt);
  EXPECT_NE(asked(Endpoint::kEmbeddings, R"({"input":"a"})"), std::nullopt);
  EXPECT_NE(asked(Endpoint::kRerank, R"({"query":"a","documents":["b"]})"), std::nullopt);
}

TEST(Question, IsWhatIsAskedAndNotHowItIsWrittenOrTreated) {
  const auto of = [](const std::string& rest) {
    return asked(Endpoint::kChatCompletions, chat(R"(,"temperature":0)" + rest));
  };
  const auto plain = of("");
  EXPECT_EQ(of(" "), plain);
  EXPECT_EQ(of(R"( , "stream" : true, "stream_options":{"include_usage":true})"), plain);
  EXPECT_EQ(of(R"(,"priority":"batch","service_tier":"flex")"), plain);
  EXPECT_EQ(of(R"(,"\u0073tream":true)"), plain);
  EXPECT_NE(of(R"(,"max_tokens":3)"), plain);
  EXPECT_NE(of(R"(,"stop":"stream")"), of(R"(,"stop":"priority")"));
}

TEST(Question, OfOneEndpointIsNotThatOfAnother) {
  const std::string body = R"({"prompt":"a","temperature":0})";
  EXPECT_NE(asked(Endpoint::kCompletions, body), asked(Endpoint::kEmbeddings, R"({"input":"a"})"));
  EXPECT_NE(question_of({.endpoint = Endpoint::kEmbeddings}, "{}", false),
            question_of({.endpoint = Endpoint::kRerank}, "{}", false));
}

TEST(Question, OfARawRequestIsItsOwnKey) {
  const auto raw = [](std::string_view body) {
    return raw_request(Endpoint::kChatCompletions, body, json::parse(body).as_object(), {});
  };
  const Request repeats = raw(R"({"temperature":0})");
  EXPECT_EQ(question_of(repeats, "", false), hash128(*repeat_key(repeats)));
  EXPECT_EQ(question_of(raw(R"({"temperature":1})"), "", true), std::nullopt);
  EXPECT_EQ(question_of({.endpoint = Endpoint::kRerank, .verbatim = Verbatim{}}, "{}", true),
            std::nullopt)
      << "what a server answers to it is not known to be always the same";
}

}  // namespace
}  // namespace windrow::llm
