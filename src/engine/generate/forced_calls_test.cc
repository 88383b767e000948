// Required tool calls through the whole GenerationBackend: they name existing tools and have
// arguments that the validator accepts; whole or streamed, in one choice or several.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/testing/call_rig.h"
#include "engine/testing/recording_listener.h"

namespace windrow::engine {
namespace {

using llm::ToolUse;
using testing::CallFamily;
using testing::kCallFamilies;
using testing::kHarmonyMarks;
using testing::kHarmonyTurn;
using testing::kNotEnforceable;
using testing::RecordingListener;

class ForcedCallsTest : public testing::CallRig {};

TEST_F(ForcedCallsTest, EveryAnswerIsCalls) {
  for (const CallFamily& family : kCallFamilies) {
    SCOPED_TRACE(family.marks);
    whole_ = several_ = 0;
    const auto model = backend(family.marks, family.end);
    for (uint64_t seed = 0; seed < 25; ++seed) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed);
      llm::Request asked = request(seed, {.use = ToolUse::kRequired});
      asked.choices = 2;
      favour(asked, {"<|end|>"});
      // Ends are favoured, so what stands between two calls has to be, too.
      if (family.marks.empty()) favour(asked, {"\n"});
      if (seed % 3 == 0) asked.logprobs_top = 1;
      const llm::Answer alone = ask(*model, asked);
      for (const llm::Choice& choice : alone.choices)
        expect_calls(choice);
      const auto listener = std::make_shared<RecordingListener>();
      const llm::Outcome streamed = outcome_of(*model, asked, listener);
      listener->expect_emitted(streamed);
      EXPECT_EQ(std::get<llm::Answer>(streamed).choices, alone.choices);
      if (HasFailure()) return;
    }
    EXPECT_GT(whole_, 20);
    EXPECT_EQ(several_ > 0, family.several);
    EXPECT_GT(model->stats().forced_tokens, 0);
  }
}

TEST_F(ForcedCallsTest, OneCallWhereOneIsWantedAndOfTheToolThatIsNamed) {
  const auto model = backend("<tool_call> tools");
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const llm::Choice one =
        ask(*model, request(seed, {.use = ToolUse::kRequired, .parallel = false})).choices.at(0);
    expect_calls(one);
    EXPECT_LE(one.tool_calls.size(), 1U);
    const llm::Choice named =
        ask(*model, request(seed, {.use = ToolUse::kNamed, .name = "add"})).choices.at(0);
    expect_calls(named);
    for (const llm::ToolCall& call : named.tool_calls)
      EXPECT_EQ(call.name, "add");
  }
  EXPECT_GT(whole_, 60);
}

// The grammar leaves no choice: after one pass for the prompt the answer is complete.
TEST_F(ForcedCallsTest, WhatLeavesNoChoiceCostsNoStep) {
  const auto model = backend("[TOOL_CALLS] [ARGS]");
  const llm::Answer answer =
      ask(*model, request(1, {.use = ToolUse::kNamed, .name = "now", .parallel = false}));
  expect_calls(answer.choices.at(0));
  EXPECT_EQ(model->stats().forced_tokens, answer.usage.completion_tokens);
  EXPECT_EQ(answer.choices.at(0).tool_calls.at(0).arguments, "{}");
}

TEST_F(ForcedCallsTest, ThoughtsComeFirstAndAreFree) {
  const auto model = backend("<tool_call> tools <think> </think>", "<think>");
  int thoughts = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    llm::Request asked = request(seed, {.use = ToolUse::kRequired});
    favour(asked, {"</think>"});
    const llm::Choice choice = ask(*model, asked).choices.at(0);
    expect_calls(choice);
    if (choice.reasoning) ++thoughts;
  }
  EXPECT_GT(whole_, 15);
  EXPECT_GT(thoughts, 15);
}

TEST_F(ForcedCallsTest, AMessageOfThoughtsMayStandBeforeTheOneThatCalls) {
  const auto model = backend(kHarmonyMarks, kHarmonyTurn);
  int thoughts = 0;
  int without = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    llm::Request asked = request(seed, {.use = ToolUse::kRequired});
    favour(asked, {"<|end|>", "analysis", " to=functions"});
    const llm::Choice choice = ask(*model, asked).choices.at(0);
    expect_calls(choice);
    if (choice.finish_reason != llm::FinishReason::kToolCalls) continue;
    (choice.reasoning ? thoughts : without) += 1;
  }
  EXPECT_GT(thoughts, 2);
  EXPECT_GT(without, 5);
}

// Noise never writes the closing mark, so the answer would be all reasoning.
TEST_F(ForcedCallsTest, ThoughtsBeforeACallThatHasToComeAreBounded) {
  const std::vector<CallFamily> families = {{"<tool_call> tools <think> </think>", true, "<think>"},
                                            {kHarmonyMarks, false, kHarmonyTurn}};
  for (const CallFamily& family : families) {
    SCOPED_TRACE(family.marks);
    const auto model = backend(family.marks, family.end);
    whole_ = 0;
    int thought = 0;
    for (uint64_t seed = 0; seed < 24; ++seed) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed);
      llm::Request asked = request(seed, {.use = ToolUse::kRequired, .parallel = false});
      favour(asked, {"<|channel|>", "analysis"});
      int32_t bound = 150;
      if (seed % 3 != 0) bound = asked.reasoning_tokens_max.emplace(seed % 3 == 1 ? 7 : 0);
      const auto listener = std::make_shared<RecordingListener>();
      const llm::Outcome outcome = outcome_of(*model, asked, listener);
      ASSERT_TRUE(std::holds_alternative<llm::Answer>(outcome));
      listener->expect_emitted(outcome);
      const llm::Answer& answer = std::get<llm::Answer>(outcome);
      EXPECT_LE(answer.usage.reasoning_tokens, bound);
      if (answer.usage.reasoning_tokens == bound) ++thought;
      const llm::Choice& choice = answer.choices.at(0);
      expect_calls(choice);
      EXPECT_EQ(choice.tool_calls.size(), 1U) << "the call has come, or begun";
    }
    EXPECT_GT(whole_, 12);
    EXPECT_GT(thought, 3);
  }
}

TEST_F(ForcedCallsTest, ACallThatDidNotComeInTimeIsSaid) {
  const auto model = backend("<tool_call> tools <think> </think>", "<think>");
  llm::Request asked = request(1, {.use = ToolUse::kNamed, .name = "add"});
  asked.reasoning_tokens_max = 100;
  asked.output_tokens_max = 12;
  const llm::Answer answer = ask(*model, asked);
  EXPECT_EQ(answer.choices.at(0).finish_reason, llm::FinishReason::kLength);
  EXPECT_EQ(answer.choices.at(0).structure, llm::StructureLabel::kTruncated);
  EXPECT_TRUE(answer.truncated);
}

TEST_F(ForcedCallsTest, WordsOfAToolsSchemaThatAreNotKnownAreToldOrRefused) {
  const auto model = backend("<tool_call> tools");
  llm::Request asked = request(1, {.use = ToolUse::kRequired});
  asked.chat.tools[0].at("function").at("parameters").as_object()["unit"] = "m";
  EXPECT_EQ(ask(*model, asked).structure_warnings,
            std::vector<std::string>{"tools[0].function.parameters: at #/unit: this is no keyword "
                                     "of JSON Schema, and has no effect"});
  asked.schema_unknown = llm::UnknownWords::kRefuse;
  const llm::Outcome refused = outcome_of(*model, asked);
  ASSERT_TRUE(std::holds_alternative<llm::Failure>(refused));
  EXPECT_EQ(std::get<llm::Failure>(refused).param, "tools[0].function.parameters");
}

TEST_F(ForcedCallsTest, WhatCannotBeEnforcedIsRefused) {
  const auto unknown = backend("tools");
  const llm::Outcome outcome = outcome_of(*unknown, request(1, {.use = ToolUse::kRequired}));
  ASSERT_TRUE(std::holds_alternative<llm::Failure>(outcome));
  EXPECT_EQ(std::get<llm::Failure>(outcome).code, "unsupported_by_model");
  EXPECT_EQ(std::get<llm::Failure>(outcome).param, "tool_choice");

  const auto model = backend("<tool_call> tools");
  llm::Request odd = request(1, {.use = ToolUse::kRequired});
  odd.chat.tools[1].at("function").as_object()["parameters"] =
      boost::json::parse(kNotEnforceable).as_object();
  const llm::Outcome refused = outcome_of(*model, odd);
  ASSERT_TRUE(std::holds_alternative<llm::Failure>(refused));
  EXPECT_EQ(std::get<llm::Failure>(refused).status, 400);
  EXPECT_EQ(std::get<llm::Failure>(refused).param, "tools[1].function.parameters");
  EXPECT_EQ(model->structure_fault(odd)->param, "tools[1].function.parameters");
  EXPECT_EQ(model->structure_fault(request(1, {.use = ToolUse::kRequired})), std::nullopt);
}

TEST_F(ForcedCallsTest, UnderAStopTextOrALimitWhatCameIsTold) {
  const auto model = backend("<tool_call> tools");
  for (uint64_t seed = 0; seed < 20; ++seed) {
    llm::Request asked = request(seed, {.use = ToolUse::kNamed, .name = "add"});
    asked.stop = {"\"b\""};
    asked.output_tokens_max = 60;
    const auto listener = std::make_shared<RecordingListener>();
    const llm::Outcome outcome = outcome_of(*model, asked, listener);
    listener->expect_emitted(outcome);
    const llm::Choice& choice = std::get<llm::Answer>(outcome).choices.at(0);
    EXPECT_NE(choice.finish_reason, llm::FinishReason::kToolCalls);
    EXPECT_EQ(choice.tool_calls.at(0).name, "add");
  }
}

}  // namespace
}  // namespace windrow::engine
