// Optional tool calls, beside free text or a form: a call that has begun names an existing tool and
// has arguments that the validator accepts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/testing/rounds.h"
#include "engine/structure/answer_check.h"
#include "engine/testing/call_rig.h"
#include "engine/testing/recording_listener.h"

namespace windrow::engine {
namespace {

namespace json = boost::json;

using testing::CallFamily;
using testing::kCallFamilies;
using testing::kHarmonyMarks;
using testing::kHarmonyTurn;
using testing::kNotEnforceable;
using testing::RecordingListener;

class OptionalCallsTest : public testing::CallRig {};

// A model that may call a tool and has a form begins with one of the two.
TEST_F(OptionalCallsTest, BesideAFormAnAnswerIsThatOrCalls) {
  const std::vector<llm::StructureSpec> forms = {
      {.kind = llm::StructureSpec::Kind::kJsonSchema,
       .text = R"({"type":"object","properties":{"ok":{"type":"boolean"},)"
               R"("why":{"type":"string","maxLength":3}},"required":["ok"]})",
       .param = "response_format"},
      {.kind = llm::StructureSpec::Kind::kRegex, .text = "[0-9]{1,3}", .param = "guided_regex"},
      {.kind = llm::StructureSpec::Kind::kChoice, .choices = {"yes", "[no]"}, .param = "choice"},
      {.kind = llm::StructureSpec::Kind::kGrammar, .text = "root ::= [a-c]+", .param = "grammar"},
      {.kind = llm::StructureSpec::Kind::kJsonObject, .param = "response_format"}};
  int all_called = 0;
  int all_formed = 0;
  for (const CallFamily& family : kCallFamilies) {
    SCOPED_TRACE(family.marks);
    const auto model = backend(family.marks, family.end);
    int called = 0;
    int formed = 0;
    for (uint64_t seed = 0; seed < windrow::testing::rounds(20U, 60U); ++seed) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed);
      const llm::StructureSpec& form = forms[seed % forms.size()];
      llm::Request asked = request(seed, {.parallel = seed % 2 == 0});
      asked.structured = form;
      favour(asked, {"<|end|>", "analysis"});
      // By chance alone few answers would begin with a call. Llama's calls have no mark.
      const bool bare = family.marks.empty() || family.marks.starts_with("<|start_header_id|>");
      if (seed % 4 == 0) {
        const auto begin = vocabulary_.tokenize(bare ? "{" : family.marks, ControlTokens::kParsed);
        asked.sampling.logit_bias.push_back({.token = begin[0], .bias = 30});
      }
      if (seed % 3 == 0) asked.logprobs_top = 1;
      const auto listener = std::make_shared<RecordingListener>();
      const llm::Outcome outcome = outcome_of(*model, asked, listener);
      if (const auto* failure = std::get_if<llm::Failure>(&outcome)) FAIL() << failure->message;
      listener->expect_emitted(outcome);
      const llm::Choice& choice = std::get<llm::Answer>(outcome).choices.at(0);
      if (choice.finish_reason == llm::FinishReason::kLength) {
        EXPECT_EQ(choice.structure, llm::StructureLabel::kTruncated);
        EXPECT_TRUE(std::get<llm::Answer>(outcome).truncated);
        continue;
      }
      EXPECT_EQ(choice.structure, llm::StructureLabel::kValid);
      if (choice.finish_reason == llm::FinishReason::kToolCalls) {
        ++called;
        EXPECT_EQ(choice.text, "");
        ASSERT_FALSE(choice.tool_calls.empty());
        if (seed % 2 == 1) {
          EXPECT_EQ(choice.tool_calls.size(), 1U);
        }
        for (const llm::ToolCall& call : choice.tool_calls)
          expect_valid(call);
      } else {
        ++formed;
        EXPECT_TRUE(choice.tool_calls.empty());
        EXPECT_EQ((*make_check(form))->fault(choice.text), std::nullopt) << choice.text;
      }
    }
    // Some families' random calls seldom end within the limit, so these are counted together.
    all_called += called;
    all_formed += formed;
    RecordProperty(fmt::format("called_{}", &family - kCallFamilies.data()), called);
  }
  EXPECT_GT(all_called, windrow::testing::rounds(10, 60));
  EXPECT_GT(all_formed, windrow::testing::rounds(30, 200));
}

TEST_F(OptionalCallsTest, BesideAFormWhatIsWrongIsSaidWithItsField) {
  const auto model = backend("<tool_call> tools");
  llm::Request odd = request(1, {});
  odd.structured = llm::StructureSpec{
      .kind = llm::StructureSpec::Kind::kRegex, .text = "(", .param = "guided_regex"};
  const std::optional<llm::Failure> form = model->structure_fault(odd);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->param, "guided_regex");
  EXPECT_TRUE(form->message.starts_with("guided_regex: ")) << form->message;
  odd.structured->param = "response_format";
  EXPECT_EQ(model->structure_fault(odd)->param, "response_format") << "the same in another field";
  odd.structured->text = "a";
  EXPECT_EQ(model->structure_fault(odd), std::nullopt);
  odd.chat.tools[0].at("function").as_object()["parameters"] =
      json::parse(kNotEnforceable).as_object();
  EXPECT_EQ(model->structure_fault(odd), std::nullopt) << "no tool is strict";
  odd.chat.tools[0].at("function").as_object()["strict"] = true;
  EXPECT_EQ(model->structure_fault(odd)->param, "tools[0].function.parameters");
}

// The text before a call is free, and a call that has begun names an existing tool.
TEST_F(OptionalCallsTest, ACallThatNeedNotComeIsHeldToItsSchemaOnceItHasBegun) {
  struct Begun {
    CallFamily family;
    std::vector<std::string_view> by;
  };
  const std::vector<Begun> families = {
      {{"<tool_call> tools"}, {"<tool_call>"}},
      {{"<tool_call> tools <think> </think>"}, {"<tool_call>", "<think>", "</think>"}},
      {{"<tool_call> <function= </function>"}, {"<tool_call>"}},
      {{"[TOOL_CALLS] [ARGS]"}, {"[TOOL_CALLS]"}},
      {{"<｜tool▁calls▁begin｜> ```"}, {"<｜tool▁calls▁begin｜>"}},
      {{kHarmonyMarks, false, kHarmonyTurn},
       {"<|channel|>", "commentary", " to=functions", "<|end|>", "<|start|>", "assistant"}}};
  for (const Begun& begun : families) {
    SCOPED_TRACE(begun.family.marks);
    const auto model = backend(begun.family.marks, begun.family.end);
    int calls = 0;
    int said = 0;
    int only_said = 0;
    for (uint64_t seed = 0; seed < 120; ++seed) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed);
      llm::Request asked = request(seed, {});
      favour(asked, begun.by);
      asked.choices = 2;
      const auto listener = std::make_shared<RecordingListener>();
      const llm::Outcome outcome = outcome_of(*model, asked, listener);
      listener->expect_emitted(outcome);
      for (const llm::Choice& choice : std::get<llm::Answer>(outcome).choices) {
        EXPECT_EQ(choice.structure, std::nullopt);
        if (choice.finish_reason == llm::FinishReason::kLength) continue;
        for (const llm::ToolCall& call : choice.tool_calls)
          expect_valid(call);
        if (choice.tool_calls.empty()) {
          ++only_said;
          EXPECT_EQ(choice.finish_reason, llm::FinishReason::kStop);
        } else {
          ++calls;
          said += choice.text.empty() ? 0 : 1;
          EXPECT_EQ(choice.finish_reason, llm::FinishReason::kToolCalls);
        }
      }
      if (HasFailure()) return;
    }
    EXPECT_GT(calls, 3);
    EXPECT_GT(only_said, 5);
    EXPECT_GT(said + (begun.family.end.empty() ? 0 : 1), 0);
  }
}

TEST_F(OptionalCallsTest, WhatNobodyInsistsOnIsNotRefused) {
  const auto model = backend("<tool_call> tools");
  llm::Request odd = request(1, {});
  favour(odd, {"<tool_call>"});
  odd.chat.tools[0].at("function").as_object()["parameters"] =
      json::parse(kNotEnforceable).as_object();
  EXPECT_EQ(model->structure_fault(odd), std::nullopt);
  int calls = 0;
  for (odd.sampling.seed = 0; odd.sampling.seed < 30; ++odd.sampling.seed) {
    const llm::Choice choice = ask(*model, odd).choices.at(0);
    if (choice.finish_reason != llm::FinishReason::kToolCalls) continue;
    for (const llm::ToolCall& call : choice.tool_calls) {
      ++calls;
      EXPECT_TRUE(json::parse(call.arguments).is_object()) << call.arguments;
    }
  }
  EXPECT_GT(calls, 5);
  odd.chat.tools[0].at("function").as_object()["strict"] = true;
  const llm::Outcome refused = outcome_of(*model, odd);
  ASSERT_TRUE(std::holds_alternative<llm::Failure>(refused));
  EXPECT_EQ(std::get<llm::Failure>(refused).param, "tools[0].function.parameters");
}

}  // namespace
}  // namespace windrow::engine
