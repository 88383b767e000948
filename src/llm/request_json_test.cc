#include "llm/request_json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <string>

#include "llm/testing/parse_fields.h"

namespace windrow::llm {
namespace {

namespace json = boost::json;
using testing::accepted;
using testing::needed;
using testing::parse;
using testing::refused;

constexpr Endpoint kChat = Endpoint::kChatCompletions;
constexpr Endpoint kText = Endpoint::kCompletions;
constexpr Endpoint kEmbed = Endpoint::kEmbeddings;
constexpr Endpoint kRank = Endpoint::kRerank;

TEST(RequestJson, DefaultsAreThoseOfTheApi) {
  for (const Endpoint endpoint : {kChat, kText}) {
    const Request request = accepted(endpoint, "");
    EXPECT_EQ(request.endpoint, endpoint);
    EXPECT_EQ(request.model, "");
    EXPECT_EQ(request.sampling.temperature, 1.0F);
    EXPECT_EQ(request.sampling.top_p, 1.0F);
    EXPECT_EQ(request.sampling.top_k, 0);
    EXPECT_EQ(request.sampling.min_p, 0.0F);
    EXPECT_EQ(request.sampling.typical_p, 1.0F);
    EXPECT_EQ(request.sampling.presence_penalty, 0.0F);
    EXPECT_EQ(request.sampling.frequency_penalty, 0.0F);
    EXPECT_EQ(request.sampling.repetition_penalty, 1.0F);
    EXPECT_TRUE(request.sampling.logit_bias.empty());
    EXPECT_EQ(request.sampling.seed, 42U);
    EXPECT_EQ(request.output_tokens_max, std::nullopt);
    EXPECT_EQ(request.logprobs_top, std::nullopt);
    EXPECT_EQ(request.choices, 1);
    EXPECT_FALSE(request.ignore_eos);
    EXPECT_FALSE(request.echo);
  }
  const Request embed = accepted(kEmbed, "");
  EXPECT_EQ(embed.dimensions, std::nullopt);
  EXPECT_FALSE(embed.base64);
  const Request rank = accepted(kRank, "");
  EXPECT_EQ(rank.results_max, std::nullopt);
  EXPECT_FALSE(rank.return_documents);
}

TEST(RequestJson, WhatAnEndpointNeedsIsAskedFor) {
  const auto problem = [](Endpoint endpoint, std::string_view body) {
    const auto result = parse_request(endpoint, json::parse(body).as_object(), 0);
    EXPECT_TRUE(std::holds_alternative<Failure>(result)) << body;
    if (!std::holds_alternative<Failure>(result)) return std::string();
    EXPECT_EQ(std::get<Failure>(result).code, "missing_required_parameter");
    return std::get<Failure>(result).message;
  };
  EXPECT_EQ(problem(kChat, "{}"), "the body has no messages, which /v1/chat/completions needs");
  EXPECT_EQ(problem(kText, R"({"prompt":null})"),
            "the body has no prompt, which /v1/completions needs");
  EXPECT_EQ(problem(kEmbed, "{}"), "the body has no input, which /v1/embeddings needs");
  EXPECT_EQ(problem(kRank, R"({"documents":["a"]})"),
            "the body has no query, which /v1/rerank needs");
  EXPECT_EQ(problem(kRank, R"({"query":"a"})"),
            "the body has no documents, which /v1/rerank needs");
}

TEST(RequestJson, NullMeansAbsent) {
  for (const FieldRule& rule : field_rules()) {
    for (const Endpoint endpoint : endpoints()) {
      const bool needed_field = needed(endpoint).find(rule.name) != std::string_view::npos;
      if (!rule.endpoints.contains(endpoint) || needed_field) continue;
      accepted(endpoint, fmt::format(R"("{}":null)", rule.name));
    }
  }
}

TEST(RequestJson, MoreInputsThanOneRowMayHaveAreRefused) {
  const auto list_of = [](size_t count) {
    json::array list;
    for (size_t i = 0; i < count; ++i)
      list.emplace_back("x");
    return list;
  };
  const auto problem = [](const auto& result) {
    const auto* failure = std::get_if<Failure>(&result);
    return failure == nullptr ? std::string() : failure->message;
  };
  EXPECT_EQ(problem(parse_request(kText, {{"prompt", list_of(2048)}}, 0)), "");
  EXPECT_EQ(problem(parse_request(kText, {{"prompt", list_of(2048)}, {"n", 2}}, 0)), "");
  EXPECT_EQ(problem(parse_request(kText, {{"prompt", list_of(2048)}, {"n", 3}}, 0)),
            "2048 prompts with n 3 make 6144 answers at once; at most 4096 are accepted, so "
            "spread them over several requests");
  EXPECT_EQ(problem(parse_request(kText, {{"prompt", list_of(2049)}}, 0)),
            "prompt has 2049 elements; at most 2048 are accepted, so spread them over several "
            "requests");
  EXPECT_EQ(problem(parse_request(kRank, {{"query", "q"}, {"documents", list_of(2049)}}, 0)),
            "documents has 2049 elements; at most 2048 are accepted, so spread them over several "
            "requests");
}

TEST(RequestJson, APromptOfManyTokensIsOnePrompt) {
  json::array tokens;
  for (int64_t i = 0; i < 5000; ++i)
    tokens.emplace_back(i);
  const auto result = parse_request(kText, {{"prompt", tokens}}, 0);
  ASSERT_TRUE(std::holds_alternative<Request>(result));
  ASSERT_EQ(std::get<Request>(result).inputs.size(), 1U);
  EXPECT_EQ(std::get<Request>(result).inputs[0].tokens.size(), 5000U);
}

TEST(RequestJson, ALongNameIsCutWhereItIsRepeated) {
  std::string name;
  for (size_t i = 0; i < 1000; ++i)
    name += "é";
  const auto result = parse_request(kText, {{"prompt", "p"}, {name, 1}}, 0);
  ASSERT_TRUE(std::holds_alternative<Failure>(result));
  EXPECT_LT(std::get<Failure>(result).message.size(), 200U);
  EXPECT_EQ(std::get<Failure>(result).param, name.substr(0, 80) + "...");
}

TEST(CheckField, LooksAtOneFieldWhateverABodyHasBesideIt) {
  const auto problem = [](Endpoint endpoint, std::string_view name, const json::value& value) {
    const std::optional<Failure> failure = check_field(endpoint, name, value);
    return failure ? failure->message : "";
  };
  EXPECT_EQ(problem(kChat, "top_logprobs", 3), "");  // logprobs may stand in the body
  EXPECT_EQ(problem(kText, "max_tokens", 0), "");
  EXPECT_EQ(problem(kText, "top_p", nullptr), "");
  EXPECT_EQ(problem(kChat, "max_tokens", 0), "max_tokens is 0; it must be from 1 to 2147483647");
  EXPECT_EQ(problem(kEmbed, "temperature", 0),
            "temperature belongs to /v1/chat/completions and /v1/completions, not to "
            "/v1/embeddings");
  EXPECT_EQ(problem(kEmbed, "made_up", 0),
            "\"made_up\" is not a field that /v1/embeddings supports; remove it");
}

TEST(FieldRules, NoEndpointHasANameTwice) {
  const auto rules = field_rules();
  for (const Endpoint endpoint : endpoints()) {
    for (size_t i = 0; i < rules.size(); ++i) {
      for (size_t j = i + 1; j < rules.size(); ++j) {
        const bool both =
            rules[i].endpoints.contains(endpoint) && rules[j].endpoints.contains(endpoint);
        EXPECT_FALSE(both && rules[i].name == rules[j].name) << rules[i].name;
      }
    }
  }
}

TEST(Endpoints, AreKnownByTheirUrls) {
  for (const Endpoint endpoint : endpoints())
    EXPECT_EQ(endpoint_of(url_of(endpoint)), endpoint);
  EXPECT_EQ(endpoint_of("/v1/responses"), std::nullopt);
  EXPECT_EQ(endpoint_of("/v1/embeddings/"), std::nullopt);
  EXPECT_EQ(endpoint_urls(), "/v1/chat/completions, /v1/completions, /v1/embeddings or /v1/rerank");
}

}  // namespace
}  // namespace windrow::llm
