#include "engine/generate/fan_out.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "base/testing/manual_clock.h"
#include "engine/testing/byte_vocabulary.h"
#include "engine/testing/scripted_answer.h"
#include "engine/testing/scripted_runner.h"

namespace windrow::engine {
namespace {

using testing::ByteVocabulary;
using testing::scripted_answer;
using testing::ScriptedRunner;
using windrow::testing::ManualClock;

constexpr RunnerLimits kLimits{.cells_max = 300,
                               .rows_max = 4,
                               .sequences_max = 4,
                               .step_tokens_max = 64,
                               .step_outputs_max = 9,
                               .row_tokens_max = 100,
                               .vocabulary_size = ByteVocabulary::kSize};

class FanOutTest : public ::testing::Test {
 protected:
  llm::Request request(std::vector<std::vector<Token>> prompts, int32_t choices) {
    llm::Request request{.endpoint = llm::Endpoint::kCompletions,
                         .sampling = {.temperature = 1, .seed = 77},
                         .choices = choices,
                         .output_tokens_max = 12,
                         .ignore_eos = true,
                         .logprobs_top = 2};
    for (std::vector<Token>& prompt : prompts)
      request.inputs.push_back({.tokens = std::move(prompt)});
    return request;
  }

  std::vector<EngineRequest> rows_of(const llm::Request& request) {
    return rows_of(llm::plain_call(request));
  }

  std::vector<EngineRequest> rows_of(const llm::BackendCall& call) {
    std::vector<std::vector<Token>> prompts;
    for (const llm::Input& input : call.request->inputs)
      prompts.push_back(input.tokens);
    return fan_out(call, std::move(prompts), vocabulary_,
                   {.row_tokens_max = kLimits.row_tokens_max, .output_tokens_default = 7},
                   clock_.now(),
                   [this](llm::Outcome outcome) { outcomes_.push_back(std::move(outcome)); });
  }

  // The request through the engine; its answer.
  llm::Answer answer_to(const llm::Request& request) {
    ScriptedRunner runner(kLimits);
    StepLoop loop(runner, vocabulary_, clock_);
    for (EngineRequest& row : rows_of(request))
      loop.add(std::move(row));
    while (loop.step()) {
    }
    EXPECT_EQ(outcomes_.size(), 1U);
    const llm::Answer answer = std::get<llm::Answer>(outcomes_.at(0));
    outcomes_.clear();
    return answer;
  }

  ManualClock clock_;
  ByteVocabulary vocabulary_;
  std::vector<llm::Outcome> outcomes_;
};

TEST_F(FanOutTest, EveryChoiceIsTheRowAloneWithItsSeedAndTheFirstIsThatOfTheRequest) {
  const llm::Request both = request({{1, 2, 3}, {9, 8}}, 3);
  const llm::Answer answer = answer_to(both);
  ASSERT_EQ(answer.choices.size(), 6U);
  std::set<std::string> texts;
  for (size_t i = 0; i < answer.choices.size(); ++i) {
    const auto choice = static_cast<int32_t>(i % 3);
    EngineRequest alone{.prompt = both.inputs[i / 3].tokens,
                        .output_tokens_max = 12,
                        .sampling = {.temperature = 1, .seed = seed_of_choice(77, choice)},
                        .ignore_eos = true,
                        .logprobs_top = 2};
    std::string why;
    EXPECT_TRUE(testing::same_choice(
        answer.choices[i], scripted_answer(alone, kLimits.vocabulary_size).choices[0], why))
        << "choice " << i << ": " << why;
    texts.insert(answer.choices[i].text);
  }
  EXPECT_EQ(texts.size(), 6U) << "choices that are the same";
  EXPECT_EQ(answer.choices[3], answer_to(request({{9, 8}}, 1)).choices[0]);
}

TEST_F(FanOutTest, APromptCountsOnceWhateverItsChoices) {
  const llm::Answer answer = answer_to(request({{1, 2, 3}, {9, 8}}, 3));
  EXPECT_EQ(answer.usage.prompt_tokens, 5);
  EXPECT_EQ(answer.usage.completion_tokens, 6 * 12);
}

TEST_F(FanOutTest, TimingsAreThoseOfTheRequestAsAWhole) {
  std::vector<EngineRequest> rows = rows_of(request({{1}, {2}}, 1));
  rows[1].done(llm::Answer{.choices = {{}}, .timings = {20, 30, 400}});
  EXPECT_TRUE(outcomes_.empty());
  rows[0].done(llm::Answer{.choices = {{}}, .timings = {10, 50, 300}});
  ASSERT_EQ(outcomes_.size(), 1U);
  const llm::Timings& timings = std::get<llm::Answer>(outcomes_[0]).timings;
  EXPECT_EQ(timings.queue_ms, 10);
  EXPECT_EQ(timings.prefill_ms, 40);
  EXPECT_EQ(timings.decode_ms, 400);
}

TEST_F(FanOutTest, EchoPutsThePromptInFrontAndScoresIt) {
  llm::Request echo = request({{'a', 'b', ByteVocabulary::kTurn, 'c'}}, 1);
  echo.echo = true;
  echo.output_tokens_max = 0;
  const llm::Answer scored = answer_to(echo);
  EXPECT_EQ(scored.choices[0].text, "ab<|im_start|>c");
  EXPECT_EQ(scored.choices[0].finish_reason, llm::FinishReason::kLength);
  ASSERT_EQ(scored.choices[0].tokens.size(), 4U);
  EXPECT_FALSE(scored.choices[0].tokens[0].has_logprob);
  EXPECT_TRUE(scored.choices[0].tokens[0].top.empty());
  EXPECT_EQ(scored.choices[0].tokens[2].chosen.bytes, "<|im_start|>");
  EXPECT_EQ(scored.choices[0].tokens[3].top.size(), 2U);
  EXPECT_EQ(scored.usage.prompt_tokens, 4);
  EXPECT_EQ(scored.usage.completion_tokens, 0);

  echo.logprobs_top = std::nullopt;
  const llm::Answer text_only = answer_to(echo);
  EXPECT_EQ(text_only.choices[0].text, "ab<|im_start|>c");
  EXPECT_TRUE(text_only.choices[0].tokens.empty());
}

// A character may begin in the prompt's tokens and end in the answer's.
TEST_F(FanOutTest, EchoMendsTextOnlyOnceItIsWhole) {
  llm::Request echo = request({{0xC3}}, 1);
  echo.echo = true;
  echo.sampling.temperature = 0;
  echo.sampling.logit_bias = {{.token = 0xA4, .bias = 100}};
  echo.output_tokens_max = 1;
  EXPECT_EQ(answer_to(echo).choices[0].text, "\xC3\xA4");
}

TEST_F(FanOutTest, WithoutALimitTheDefaultHoldsCappedByTheContext) {
  llm::Request open = request({{1}, std::vector<Token>(97, 1)}, 1);
  open.output_tokens_max = std::nullopt;
  const std::vector<EngineRequest> rows = rows_of(open);
  EXPECT_EQ(rows[0].output_tokens_max, 7);
  EXPECT_EQ(rows[1].output_tokens_max, 3);
}

TEST_F(FanOutTest, TheFirstFailureIsTheRequestsAndItsOtherRowsCostNoMoreSteps) {
  ScriptedRunner runner(kLimits);
  runner.fault = [](std::span<const StepRow> step) -> std::optional<Error> {
    for (const StepRow& row : step) {
      if (row.tokens.front() == 66) return Error{ErrorKind::kInvalid, "bad row"};
    }
    return std::nullopt;
  };
  StepLoop loop(runner, vocabulary_, clock_);
  for (EngineRequest& row : rows_of(request({{1, 2}, {66, 2}, {3, 4}}, 2)))
    loop.add(std::move(row));
  while (loop.step()) {
  }
  ASSERT_EQ(outcomes_.size(), 1U);
  const auto& failure = std::get<llm::Failure>(outcomes_[0]);
  EXPECT_EQ(failure.message, "bad row");
  EXPECT_LT(failure.usage.completion_tokens, 12) << "rows that nobody wants are still computed";
  EXPECT_EQ(loop.stats().generated_tokens, failure.usage.completion_tokens);
  EXPECT_EQ(loop.stats().rows_running + loop.stats().rows_waiting, 0);
  EXPECT_EQ(loop.stats().cells_used, 0);
}

TEST_F(FanOutTest, ARequestOfWhichOneRowHasStartedIsNotWaiting) {
  ScriptedRunner runner(kLimits);
  StepLoop loop(runner, vocabulary_, clock_);
  std::stop_source stop;
  llm::BackendCall call = llm::plain_call(request({{1, 2}}, 9));
  call.withdrawn = stop.get_token();
  for (EngineRequest& row : rows_of(call))
    loop.add(std::move(row));
  ASSERT_TRUE(loop.step());
  ASSERT_GT(loop.stats().rows_waiting, 0);
  stop.request_stop();
  while (loop.step()) {
  }
  ASSERT_EQ(outcomes_.size(), 1U);
  EXPECT_EQ(std::get<llm::Answer>(outcomes_[0]).choices.size(), 9U);
}

TEST_F(FanOutTest, CancellingAllEndsEachRequestOnce) {
  ScriptedRunner runner(kLimits);
  StepLoop loop(runner, vocabulary_, clock_);
  for (int i = 0; i < 3; ++i) {
    for (EngineRequest& row : rows_of(request({{1, 2}, {4, 5}}, 2)))
      loop.add(std::move(row));
  }
  ASSERT_TRUE(loop.step());
  loop.cancel_all();
  ASSERT_EQ(outcomes_.size(), 3U);
  llm::Usage sum;
  for (const llm::Outcome& outcome : outcomes_) {
    const auto& failure = std::get<llm::Failure>(outcome);
    EXPECT_EQ(failure.failure_class, llm::FailureClass::kCancelled);
    sum.prompt_tokens += failure.usage.prompt_tokens;
    sum.completion_tokens += failure.usage.completion_tokens;
  }
  EXPECT_EQ(sum.completion_tokens, loop.stats().generated_tokens);
  EXPECT_GT(sum.completion_tokens, 0);
  EXPECT_GT(sum.prompt_tokens, 0);
}

TEST_F(FanOutTest, WhatARequestCostUntilItWasUnwantedIsThatOfAllItsRows) {
  ScriptedRunner runner(kLimits);
  StepLoop loop(runner, vocabulary_, clock_);
  std::stop_source stop;
  llm::BackendCall asked = llm::plain_call(request({{1, 2, 3}, {9, 8}}, 2));
  asked.unwanted = stop.get_token();
  for (EngineRequest& row : rows_of(asked))
    loop.add(std::move(row));
  for (int i = 0; i < 4; ++i)
    ASSERT_TRUE(loop.step());
  stop.request_stop();
  EXPECT_FALSE(loop.step());
  ASSERT_EQ(outcomes_.size(), 1U);
  const llm::Usage usage = std::get<llm::Failure>(outcomes_[0]).usage;
  EXPECT_EQ(usage.prompt_tokens, 5) << "a prompt counts once";
  EXPECT_EQ(usage.completion_tokens, loop.stats().generated_tokens);
  EXPECT_GE(usage.completion_tokens, 12);
}

// The turns of a conversation with one seed must not repeat an id, nor may two choices have the
// same.
TEST_F(FanOutTest, CallsOfEachPromptAndChoiceHaveIdsOfTheirOwn) {
  const llm::BackendCall asked = llm::plain_call(request({}, 2));
  const FanOutLimits limits{
      .row_tokens_max = 100,
      .form = nullptr,
      .reading = {.shown_tokens = {},
                  .reasoning = std::make_shared<const chat::ReasoningContext>(),
                  .tools = std::make_shared<const chat::ToolContext>(
                      chat::ToolContext{.syntax = chat::generic_tool_syntax(),
                                        .tools = chat::ToolTable(boost::json::array())})}};
  const auto seeds = [&] {
    std::vector<uint64_t> seeds;
    for (const EngineRequest& row :
         fan_out(asked, {{1, 2}, {1, 3}}, vocabulary_, limits, clock_.now(), [](llm::Outcome) {}))
      seeds.push_back(row.call_seed);
    return seeds;
  };
  const std::vector<uint64_t> once = seeds();
  EXPECT_EQ(once.size(), 4U);
  EXPECT_EQ(std::set<uint64_t>(once.begin(), once.end()).size(), 4U);
  EXPECT_EQ(seeds(), once) << "the same request asked again has the same ids";
}

TEST_F(FanOutTest, AChoiceKnowsWhereInTheWholeTextItBegins) {
  llm::Request asked = request({}, 1);
  asked.inputs = {{.text = "h\xC3\xA9"}, {.text = "four"}};
  std::vector<EngineRequest> rows = fan_out(
      llm::plain_call(asked), {{1, 2}, {3}}, vocabulary_, {.row_tokens_max = 100}, clock_.now(),
      [this](llm::Outcome outcome) { outcomes_.push_back(std::move(outcome)); });
  EXPECT_EQ(rows.at(0).text_begin, 2) << "characters, not bytes";
  EXPECT_EQ(rows.at(1).text_begin, 4);
  ScriptedRunner runner(kLimits);
  StepLoop loop(runner, vocabulary_, clock_);
  for (EngineRequest& row : rows)
    loop.add(std::move(row));
  while (loop.step()) {
  }
  const llm::Answer answer = std::get<llm::Answer>(outcomes_.at(0));
  EXPECT_EQ(answer.choices.at(0).text_begin, 2);
  EXPECT_EQ(answer.choices.at(1).text_begin, 4);
  // Of tokens it is the text that they are.
  EXPECT_EQ(rows_of(request({{'a', 'b', ByteVocabulary::kTurn}}, 1)).at(0).text_begin, 14);
}

}  // namespace
}  // namespace windrow::engine
