#include "api/wire/call_reply.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <cmath>

#include "llm/answer_json.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using llm::Endpoint;

TEST(CallReply, IsTheAnswersOwnJson) {
  const llm::Answer answer{.choices = {{.text = "a"}}, .usage = {.prompt_tokens = 2}};
  EXPECT_EQ(reply_body({.id = "7", .model = "m", .created_unix_s = 5}, answer),
            llm::answer_to_json(Endpoint::kChatCompletions, "7", "m", 5, answer));
}

TEST(CallReply, SaysTheTierItWasAskedFor) {
  const llm::Answer answer{.choices = {{.text = "a"}}};
  EXPECT_EQ(json::parse(reply_body({.id = "7", .service_tier = "flex"}, answer)).at("service_tier"),
            "flex");
}

TEST(CallReply, SaysWhatMadeIt) {
  const ReplyFacts facts{.id = "7", .service_tier = "flex", .system_fingerprint = "fp_1"};
  const json::value made = json::parse(reply_body(facts, {.choices = {{.text = "a"}}}));
  EXPECT_EQ(made.at("system_fingerprint"), "fp_1");
  EXPECT_EQ(made.at("service_tier"), "flex");
  const json::value vectors = json::parse(reply_body(
      {.endpoint = Endpoint::kEmbeddings, .system_fingerprint = "fp_1"}, {.embeddings = {{1}}}));
  EXPECT_FALSE(vectors.as_object().contains("system_fingerprint"));
}

TEST(CallReply, AnAnswerFromElsewherePassesAsItIs) {
  const llm::Answer answer{.raw = R"({"x":1.50})"};
  EXPECT_EQ(reply_body({.service_tier = "flex", .system_fingerprint = "fp_1"}, answer),
            R"({"x":1.50})");
}

TEST(CallReply, TeisScoresAreFromZeroToOneUnlessTheyAreWantedRaw) {
  const llm::Answer answer{
      .ranking = {{.index = 2, .score = 3, .text = "t\"x"}, {.index = 0, .score = -100}}};
  const json::value shown =
      json::parse(reply_body({.endpoint = Endpoint::kRerank, .tei = true}, answer));
  EXPECT_NEAR(shown.at(0).at("score").to_number<double>(), 1 / (1 + std::exp(-3.0)), 1e-6);
  EXPECT_EQ(shown.at(0).at("text"), "t\"x");
  EXPECT_EQ(shown.at(0).at("index"), 2);
  EXPECT_GE(shown.at(1).at("score").to_number<double>(), 0);
  EXPECT_FALSE(shown.at(1).as_object().contains("text"));
  EXPECT_EQ(json::parse(reply_body({.endpoint = Endpoint::kRerank, .tei = true, .raw_scores = true},
                                   answer))
                .at(0)
                .at("score"),
            3.0);
}

TEST(CallReply, TeisFormIsMadeOfAReplyFromElsewhere) {
  const ReplyFacts facts{.endpoint = Endpoint::kRerank, .tei = true, .raw_scores = true};
  const llm::Answer answer{.raw = R"({"results":[{"index":1,"relevance_score":0.5,
      "document":{"text":"t"}},{"index":0,"relevance_score":1},{"odd":1},7]})"};
  EXPECT_EQ(json::parse(reply_body(facts, answer)),
            json::parse(R"([{"index":1,"score":0.5,"text":"t"},{"index":0,"score":1.0}])"));
  EXPECT_EQ(reply_body(facts, {.raw = "[]"}), "[]");
}

}  // namespace
}  // namespace windrow::api
