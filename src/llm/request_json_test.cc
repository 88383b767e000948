#include "llm/request_json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <tuple>

namespace windrow::llm {
namespace {

namespace json = boost::json;

constexpr std::string_view kChat = R"("messages":[{"role":"user","content":"hi"}])";

std::variant<Request, Failure> parse(Endpoint endpoint, std::string_view body) {
  return parse_request(endpoint, json::parse(body).as_object(), 42);
}

Request accepted(std::string_view fields) {
  const auto result = parse(Endpoint::kChatCompletions, fmt::format("{{{},{}}}", kChat, fields));
  EXPECT_TRUE(std::holds_alternative<Request>(result)) << fields;
  return std::get<Request>(result);
}

Failure refused(std::string_view fields) {
  const auto result = parse(Endpoint::kChatCompletions, fmt::format("{{{},{}}}", kChat, fields));
  EXPECT_TRUE(std::holds_alternative<Failure>(result)) << fields;
  return std::holds_alternative<Failure>(result) ? std::get<Failure>(result) : Failure{};
}

TEST(RequestJson, DefaultsAreThoseOfTheApi) {
  const Request request = accepted(R"("model":"m")");
  EXPECT_EQ(request.model, "m");
  ASSERT_EQ(request.chat.messages.size(), 1U);
  EXPECT_EQ(request.chat.messages[0], (json::value{{"role", "user"}, {"content", "hi"}}));
  EXPECT_EQ(request.sampling.temperature, 1.0F);
  EXPECT_EQ(request.sampling.top_p, 1.0F);
  EXPECT_EQ(request.sampling.top_k, 0);
  EXPECT_EQ(request.sampling.seed, 42U);
  EXPECT_EQ(request.output_tokens_max, std::nullopt);
  EXPECT_FALSE(request.ignore_eos);
}

TEST(RequestJson, EveryHonouredFieldArrives) {
  const Request request = accepted(
      R"("temperature":0.5,"top_p":0.25,"top_k":40,"min_p":0.125,"seed":-1,"max_tokens":7,
         "stop":["a","b"],"ignore_eos":true)");
  EXPECT_EQ(request.sampling.temperature, 0.5F);
  EXPECT_EQ(request.sampling.top_p, 0.25F);
  EXPECT_EQ(request.sampling.top_k, 40);
  EXPECT_EQ(request.sampling.min_p, 0.125F);
  EXPECT_EQ(request.sampling.seed, ~uint64_t{0});
  EXPECT_EQ(request.output_tokens_max, 7);
  EXPECT_EQ(request.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(request.ignore_eos);
}

TEST(RequestJson, NullMeansAbsent) {
  const Request request = accepted(R"("temperature":null,"tools":null,"made_up":null)");
  EXPECT_EQ(request.sampling.temperature, 1.0F);
}

TEST(RequestJson, TextPartsAreJoined) {
  const auto result = parse(Endpoint::kChatCompletions, R"({"messages":[{"role":"user","content":
    [{"type":"text","text":"a"},{"type":"text","text":"b"}]}]})");
  EXPECT_EQ(std::get<Request>(result).chat.messages[0].at("content"), "ab");
}

TEST(RequestJson, AnAnswerOfTheApiMayBeSentBackAsItCame) {
  const auto result = parse(Endpoint::kChatCompletions, R"({"messages":[
    {"role":"user","content":"hi"},
    {"role":"assistant","content":"ho","refusal":null,"annotations":[],"tool_calls":[],
     "audio":null,"function_call":null}]})");
  ASSERT_TRUE(std::holds_alternative<Request>(result)) << std::get<Failure>(result).message;
  EXPECT_EQ(std::get<Request>(result).chat.messages[1],
            (json::value{{"role", "assistant"}, {"content", "ho"}}));
}

TEST(RequestJson, WholeNumbersMayBeWrittenWithAPoint) {
  const Request request = accepted(R"("n":1.0,"max_tokens":7.0,"top_k":4e1,"seed":5.0)");
  EXPECT_EQ(request.output_tokens_max, 7);
  EXPECT_EQ(request.sampling.top_k, 40);
  EXPECT_EQ(request.sampling.seed, 5U);
}

TEST(RequestJson, CompletionsTakesAPrompt) {
  const auto result = parse(Endpoint::kCompletions, R"({"prompt":"once","stop":"."})");
  EXPECT_EQ(std::get<Request>(result).inputs.at(0).text, "once");
  EXPECT_EQ(std::get<Request>(result).stop, std::vector<std::string>{"."});
}

TEST(RequestJson, WhatIsOutOfRangeIsNamedWithItsRange) {
  const auto expect = [](std::string_view fields, std::string_view param,
                         std::string_view message) {
    const Failure failure = refused(fields);
    EXPECT_EQ(failure.status, 400);
    EXPECT_EQ(failure.param, param);
    EXPECT_EQ(failure.message, message);
  };
  expect(R"("temperature":3)", "temperature", "temperature is 3; it must be from 0 to 2");
  expect(R"("temperature":"1")", "temperature",
         "temperature must be a number from 0 to 2, not a string");
  expect(R"("top_p":0)", "top_p", "top_p is 0; it must be above 0 (use temperature 0 for greedy)");
  expect(R"("max_tokens":0)", "max_tokens", "max_tokens is 0; it must be from 1 to 2147483647");
  expect(R"("max_tokens":1.5)", "max_tokens",
         "max_tokens must be a whole number from 1 to 2147483647, not 1.5E0");
  expect(R"("max_tokens":5,"max_completion_tokens":6)", "max_completion_tokens",
         "max_tokens and max_completion_tokens differ; give one of them");
  expect(R"("stop":[""])", "stop", "stop must be a string that is not empty, or an array of such");
  expect(R"("made_up":1)", "made_up",
         "made_up is not a field that /v1/chat/completions supports; take it out");
  expect(R"("prompt":"x")", "prompt",
         "prompt belongs to /v1/completions, not to /v1/chat/completions");
}

TEST(RequestJson, MessagesAreCheckedOneByOne) {
  const auto problem_of = [](std::string_view body) {
    const auto result = parse(Endpoint::kChatCompletions, body);
    return std::holds_alternative<Failure>(result) ? std::get<Failure>(result).message : "accepted";
  };
  EXPECT_EQ(problem_of("{}"), "the body has no messages, which /v1/chat/completions needs");
  EXPECT_EQ(problem_of(R"({"messages":[]})"),
            "messages must be an array with at least one message, not an empty one");
  EXPECT_EQ(problem_of(R"({"messages":["x"]})"),
            "messages[0] must be an object with role and content, not a string");
  EXPECT_EQ(problem_of(R"({"messages":[{"role":"boss","content":"x"}]})"),
            "messages[0].role is \"boss\"; it must be system, developer, user, assistant or tool");
  EXPECT_EQ(problem_of(R"({"messages":[{"role":"user"}]})"), "messages[0] has no content");
  EXPECT_EQ(problem_of(R"({"messages":[{"role":"user","content":"x","tool_calls":[1]}]})"),
            "messages[0].tool_calls is not supported; a message has role and content");
  EXPECT_EQ(problem_of(R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})"),
            "messages[0].content[0] is of type image_url; only text parts are accepted");
}

// A sample of every refused field that would change the answer if it were dropped silently.
TEST(RequestJson, WhatCannotBeHonouredIsRefusedUnlessItAsksForNothing) {
  const std::tuple<std::string, std::string, std::string> kSamples[] = {
      {"n", "2", "1"},
      {"stream", "true", "false"},
      {"response_format", R"({"type":"json_object"})", R"({"type":"text"})"},
      {"tools", R"([{"type":"function"}])", "[]"},
      {"tool_choice", R"("auto")", R"("none")"},
      {"presence_penalty", "0.5", "0"},
      {"frequency_penalty", "0.5", "0.0"},
      {"repetition_penalty", "1.1", "1"},
      {"logit_bias", R"({"5":1})", "{}"},
      {"logprobs", "true", "false"},
  };
  for (const auto& [name, asks, neutral] : kSamples) {
    const Failure failure = refused(fmt::format(R"("{}":{})", name, asks));
    EXPECT_EQ(failure.param, name);
    EXPECT_EQ(failure.code, "unsupported_parameter");
    accepted(fmt::format(R"("{}":{})", name, neutral));
  }
}

TEST(RequestJson, EveryFieldWithoutEffectIsAccepted) {
  for (const FieldRule& rule : field_rules()) {
    if (rule.use == FieldUse::kWithoutEffect && rule.chat) {
      accepted(fmt::format(R"("{}":"x")", rule.name));
    }
  }
}

TEST(RequestJson, NoFieldIsListedTwice) {
  const auto rules = field_rules();
  for (size_t i = 0; i < rules.size(); ++i) {
    EXPECT_TRUE(rules[i].chat || rules[i].completion) << rules[i].name;
    for (size_t j = i + 1; j < rules.size(); ++j)
      EXPECT_NE(rules[i].name, rules[j].name);
  }
}

}  // namespace
}  // namespace windrow::llm
