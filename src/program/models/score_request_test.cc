#include "program/models/score_request.h"

#include <gtest/gtest.h>

namespace windrow::program {
namespace {

const ContextModel kModel{.name = "small", .tokenizer = nullptr};
const Prompt kPrompt{.chat = {}, .tokens = {1, 2, 3}, .text = {}};

llm::ScoredToken scored(float logprob) {
  return {.chosen = {.token = 0, .bytes = {}, .logprob = logprob}, .top = {}};
}

llm::Choice scored_choice(std::vector<float> logprobs) {
  llm::Choice choice;
  for (const float logprob : logprobs)
    choice.prompt_scores.push_back(scored(logprob));
  return choice;
}

TEST(ScoreRequest, EachContinuationIsAPromptThatIsScoredFromWhereItBegins) {
  auto made = score_request(kModel, kPrompt, {{7}, {8, 9}});
  const auto& request = std::get<llm::Request>(made);
  EXPECT_EQ(request.endpoint, llm::Endpoint::kCompletions);
  EXPECT_EQ(request.model, "small");
  ASSERT_EQ(request.inputs.size(), 2U);
  EXPECT_EQ(request.inputs[0].tokens, (std::vector<int32_t>{1, 2, 3, 7}));
  EXPECT_EQ(request.inputs[1].tokens, (std::vector<int32_t>{1, 2, 3, 8, 9}));
  EXPECT_EQ(request.output_tokens_max, 0);
  EXPECT_EQ(request.prompt_logprobs_top, 0);
  EXPECT_EQ(request.score_from, 3);
  EXPECT_FALSE(request.logprobs_top);
  EXPECT_FALSE(request.echo);
}

TEST(ScoreRequest, WhatHasNoProbabilityIsRefused) {
  const auto refused = [](const Prompt& prompt, std::vector<std::vector<int32_t>> texts) {
    auto made = score_request(kModel, prompt, texts);
    const auto* failure = std::get_if<llm::Failure>(&made);
    return failure == nullptr ? "" : failure->code + ": " + failure->message;
  };
  EXPECT_EQ(refused({}, {{1}}),
            "invalid_value: score: the context is empty, so nothing can be a continuation of it; "
            "add to it first");
  EXPECT_EQ(refused(kPrompt, {}),
            "invalid_value: score: the list of texts is empty; give at least one");
  EXPECT_EQ(refused(kPrompt, {{1}, {}}),
            "invalid_value: score: a text is empty, so it has no probability; take it out");
}

TEST(ScoreReplies, LogProbabilitiesAreSummedForEachText) {
  llm::Answer answer;
  answer.choices = {scored_choice({-1.5F}), scored_choice({-0.25F, -0.5F})};
  answer.usage = {.prompt_tokens = 9, .cached_tokens = 3};
  const auto read = read_scores(answer, {1, 2});
  const auto& reply = std::get<ScoreReply>(read);
  ASSERT_EQ(reply.scores.size(), 2U);
  EXPECT_EQ(reply.scores[0].logprob, -1.5);
  EXPECT_EQ(reply.scores[0].tokens, 1);
  EXPECT_EQ(reply.scores[1].logprob, -0.75);
  EXPECT_EQ(reply.scores[1].tokens, 2);
  EXPECT_EQ(reply.usage, answer.usage);
}

TEST(ScoreReplies, MissingScoresAreAFailure) {
  llm::Answer answer;
  answer.choices = {scored_choice({-1})};
  for (const std::vector<size_t>& tokens : {std::vector<size_t>{2}, {1, 1}}) {
    const auto read = read_scores(answer, tokens);
    ASSERT_TRUE(std::holds_alternative<llm::Failure>(read));
    EXPECT_EQ(std::get<llm::Failure>(read).code, "unusable_answer");
    EXPECT_EQ(std::get<llm::Failure>(read).failure_class, llm::FailureClass::kTransient);
  }
}

}  // namespace
}  // namespace windrow::program
