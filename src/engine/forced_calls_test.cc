// Calls of tools that have to come, or that begin when the model wants them, through the whole
// GenerationBackend: on a model whose logits are noise they are of tools there are, with arguments
// that the validator takes, which shares nothing with what makes them; whole or streamed, of one
// choice or several.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <fstream>
#include <future>
#include <iterator>
#include <map>

#include "base/testing/manual_clock.h"
#include "engine/generation_backend.h"
#include "engine/structure/answer_check.h"
#include "engine/testing/recording_listener.h"
#include "engine/testing/scripted_runner.h"
#include "engine/testing/word_vocabulary.h"
#include "schema/validator.h"

namespace windrow::engine {
namespace {

namespace json = boost::json;

using llm::ToolUse;
using testing::RecordingListener;
using testing::ScriptedRunner;
using testing::WordVocabulary;

// Control tokens: no text, but where marks are looked for. The last of them ends an answer.
const std::vector<std::string> kMarks = {"[TOOL_CALLS]",   "[ARGS]",      "<｜tool▁calls▁begin｜>",
                                         "<｜tool▁sep｜>", "<|channel|>", "<|message|>",
                                         "<|start|>",      "<|end|>",     "<|constrain|>",
                                         "<|call|>"};

const std::vector<std::string> kWords = {
    "<tool_call>",   "</tool_call>", "add",      "now",       "{\"",  "\"}",
    "\": ",          "\": \"",       ">\n",      "{\"name\"", "true", "12",
    "<think>",       "</think>",     "\xFF[",    "a\": ",     "</",   "_call>",
    " to=functions", "commentary",   "analysis", "assistant", "."};

class MarkedVocabulary final : public Vocabulary {
 public:
  MarkedVocabulary() {
    std::vector<std::string> words = kMarks;
    words.insert(words.end(), kWords.begin(), kWords.end());
    words_ = std::make_unique<WordVocabulary>(words);
    plain_ = std::make_unique<WordVocabulary>(kWords);
  }

  int32_t size() const override { return words_->size(); }
  std::vector<Token> tokenize(std::string_view text, ControlTokens control) const override {
    if (control == ControlTokens::kParsed) return words_->tokenize(text, control);
    std::vector<Token> tokens = plain_->tokenize(text, control);
    for (Token& token : tokens) {
      if (token >= WordVocabulary::kFirstWord) token += static_cast<Token>(kMarks.size());
    }
    return tokens;
  }
  void append_bytes(Token token, std::string& text) const override {
    if (!is_mark(token)) words_->append_bytes(token, text);
  }
  void append_piece(Token token, std::string& text) const override {
    words_->append_bytes(token, text);
  }
  bool ends_answer(Token token) const override {
    return words_->ends_answer(token) || token == mark(kMarks.back());
  }
  std::optional<Token> begin_token() const override { return std::nullopt; }
  std::vector<ControlToken> control_tokens() const override {
    std::vector<ControlToken> tokens;
    tokens.reserve(kMarks.size());
    for (const std::string& text : kMarks)
      tokens.push_back({.text = text, .token = mark(text)});
    return tokens;
  }

  Token mark(std::string_view text) const { return words_->word(text); }

 private:
  static bool is_mark(Token token) {
    return token >= WordVocabulary::kFirstWord &&
           token < WordVocabulary::kFirstWord + static_cast<Token>(kMarks.size());
  }

  std::unique_ptr<WordVocabulary> words_;
  std::unique_ptr<WordVocabulary> plain_;
};

const json::array kTools = json::parse(R"([
  {"type": "function", "function": {"name": "add", "parameters": {"type": "object",
    "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 999},
                   "b": {"type": "string", "maxLength": 4}, "c": {"type": "boolean"},
                   "d": {"enum": ["x", "yy"]}},
    "required": ["a", "b"]}}},
  {"type": "function", "function": {"name": "now"}}])")
                               .as_array();

class ForcedCallsTest : public ::testing::Test {
 protected:
  ForcedCallsTest() {
    for (const json::value& tool : kTools) {
      const json::object& function = tool.at("function").as_object();
      const json::value* parameters = function.if_contains("parameters");
      const json::value none = {{"type", "object"}, {"properties", json::object()}};
      auto validator = schema::Validator::compile(parameters == nullptr ? none : *parameters,
                                                  {.closed_by_default = true});
      validators_.emplace(function.at("name").as_string(), *std::move(validator));
    }
  }

  // `marks`: what of a template counts; none: it knows nothing of tools.
  std::unique_ptr<GenerationBackend> backend(std::string_view marks, std::string_view end = "") {
    const RunnerLimits limits{.cells_max = 4000,
                              .rows_max = 4,
                              .sequences_max = 6,
                              .step_tokens_max = 400,
                              .step_outputs_max = 4,
                              .row_tokens_max = 900,
                              .vocabulary_size = vocabulary_.size(),
                              .sharing = Sharing::kAnyRange};
    const std::string source = fmt::format(
        "{}{{% for m in messages %}}{{{{ m.role }}}}{{{{ m.content }}}}{{% endfor %}}{}{{# {} #}}",
        marks.empty() ? "" : "{{ tools }}", end, marks);
    return std::make_unique<GenerationBackend>(std::make_unique<ScriptedRunner>(limits),
                                               vocabulary_, chat::ChatTemplate::make(source, {}),
                                               clock_, GenerationOptions{});
  }

  llm::Request request(uint64_t seed, const llm::ToolChoice& choice) const {
    llm::Request request;
    request.chat = {.messages = {{{"role", "user"}, {"content", "hi"}}},
                    .tools = kTools,
                    .tool_choice = choice};
    request.output_tokens_max = 300;
    request.sampling.seed = seed;
    // Ends are drawn more often, or noise goes on for ever.
    request.sampling.logit_bias = {{.token = WordVocabulary::kEnd, .bias = 6}};
    return request;
  }

  void favour(llm::Request& request, const std::vector<std::string_view>& texts) const {
    for (const std::string_view text : texts) {
      const std::vector<Token> tokens = vocabulary_.tokenize(text, ControlTokens::kParsed);
      ASSERT_EQ(tokens.size(), 1U) << text;
      request.sampling.logit_bias.push_back({.token = tokens[0], .bias = 6});
    }
  }

  static llm::Outcome outcome_of(GenerationBackend& model, llm::Request request) {
    std::promise<llm::Outcome> outcome;
    model.submit(std::move(request),
                 [&](llm::Outcome made) { outcome.set_value(std::move(made)); });
    return outcome.get_future().get();
  }

  static llm::Answer ask(GenerationBackend& model, llm::Request request) {
    llm::Outcome outcome = outcome_of(model, std::move(request));
    if (const auto* failure = std::get_if<llm::Failure>(&outcome)) {
      ADD_FAILURE() << failure->message;
      return {};
    }
    return std::get<llm::Answer>(std::move(outcome));
  }

  void expect_calls(const llm::Choice& choice) {
    if (choice.finish_reason == llm::FinishReason::kLength) {
      EXPECT_EQ(choice.structure, llm::StructureLabel::kTruncated) << "a call had to come";
      return;
    }
    EXPECT_EQ(choice.structure, llm::StructureLabel::kValid);
    EXPECT_EQ(choice.text, "");
    ++whole_;
    EXPECT_EQ(choice.finish_reason, llm::FinishReason::kToolCalls);
    EXPECT_FALSE(choice.tool_calls.empty());
    if (choice.tool_calls.size() > 1) ++several_;
    for (const llm::ToolCall& call : choice.tool_calls)
      expect_valid(call);
  }

  void expect_valid(const llm::ToolCall& call) const {
    const auto validator = validators_.find(call.name);
    ASSERT_NE(validator, validators_.end()) << call.name;
    const auto violation = validator->second.check(call.arguments);
    EXPECT_FALSE(violation) << call.arguments << ": " << violation->message;
  }

  windrow::testing::ManualClock clock_;
  MarkedVocabulary vocabulary_;
  std::map<std::string, schema::Validator, std::less<>> validators_;
  int whole_ = 0;
  int several_ = 0;
};

constexpr std::string_view kHarmony = "<|channel|> analysis functions.";
constexpr std::string_view kTurn = "<|start|>assistant";

struct Family {
  std::string_view marks;
  bool several = true;
  std::string_view end;  // of the prompt
};

const std::vector<Family> kFamilies = {
    {"<tool_call> tools"},
    {"[TOOL_CALLS]"},
    {"[TOOL_CALLS] [ARGS]"},
    {"<｜tool▁calls▁begin｜>"},
    {"<｜tool▁calls▁begin｜> ```"},
    {"<function= </function>"},
    {"<|start_header_id|> \"parameters\"", false},
    {kHarmony, false, kTurn},
    {"<tool_call> <function= </function>"},
    {"<seed:tool_call>"},
    {"<minimax:tool_call>"},
    {"<tool_call> <arg_key>"},
    {""},
};

TEST_F(ForcedCallsTest, EveryAnswerIsCalls) {
  for (const Family& family : kFamilies) {
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
      asked.listener = listener;
      const llm::Outcome streamed = outcome_of(*model, asked);
      listener->expect_said(streamed);
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

// Nothing of it is chosen: one pass for the prompt, and the answer is there.
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
  const auto model = backend(kHarmony, kTurn);
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

// A model that may call and has to keep to a form begins with the one or with the other.
TEST_F(ForcedCallsTest, BesideAFormAnAnswerIsThatOrCalls) {
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
  for (const Family& family : kFamilies) {
    SCOPED_TRACE(family.marks);
    const auto model = backend(family.marks, family.end);
    int called = 0;
    int formed = 0;
    for (uint64_t seed = 0; seed < 60; ++seed) {
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
      asked.listener = listener;
      const llm::Outcome outcome = outcome_of(*model, asked);
      if (const auto* failure = std::get_if<llm::Failure>(&outcome)) FAIL() << failure->message;
      listener->expect_said(outcome);
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
  }
  EXPECT_GT(all_called, 60);
  EXPECT_GT(all_formed, 200);
}

TEST_F(ForcedCallsTest, BesideAFormWhatIsWrongIsSaidWithItsField) {
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
  odd.chat.tools[0].at("function").as_object()["parameters"] = {{"minProperties", 2}};
  EXPECT_EQ(model->structure_fault(odd), std::nullopt) << "no tool is strict";
  odd.chat.tools[0].at("function").as_object()["strict"] = true;
  EXPECT_EQ(model->structure_fault(odd)->param, "tools[0].function.parameters");
}

// Noise never writes the closing mark, so the answer would be thoughts and nothing else.
TEST_F(ForcedCallsTest, ThoughtsBeforeACallThatHasToComeAreBounded) {
  const std::vector<Family> families = {{"<tool_call> tools <think> </think>", true, "<think>"},
                                        {kHarmony, false, kTurn}};
  for (const Family& family : families) {
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
      asked.listener = listener;
      const llm::Outcome outcome = outcome_of(*model, asked);
      ASSERT_TRUE(std::holds_alternative<llm::Answer>(outcome));
      listener->expect_said(outcome);
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

// What an answer says before it calls is free, and a call that has begun is one of those there are.
TEST_F(ForcedCallsTest, ACallThatNeedNotComeIsHeldToItsSchemaOnceItHasBegun) {
  struct Begun {
    Family family;
    std::vector<std::string_view> by;
  };
  const std::vector<Begun> families = {
      {{"<tool_call> tools"}, {"<tool_call>"}},
      {{"<tool_call> tools <think> </think>"}, {"<tool_call>", "<think>", "</think>"}},
      {{"<tool_call> <function= </function>"}, {"<tool_call>"}},
      {{"[TOOL_CALLS] [ARGS]"}, {"[TOOL_CALLS]"}},
      {{"<｜tool▁calls▁begin｜> ```"}, {"<｜tool▁calls▁begin｜>"}},
      {{kHarmony, false, kTurn},
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
      asked.listener = listener;
      const llm::Outcome outcome = outcome_of(*model, asked);
      listener->expect_said(outcome);
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

TEST_F(ForcedCallsTest, WhatNobodyInsistsOnIsNotRefused) {
  const auto model = backend("<tool_call> tools");
  llm::Request odd = request(1, {});
  favour(odd, {"<tool_call>"});
  odd.chat.tools[0].at("function").as_object()["parameters"] = {{"minProperties", 2}};
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
  odd.chat.tools[1].at("function").as_object()["parameters"] = {{"uniqueItems", true},
                                                                {"minProperties", 2}};
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
    asked.listener = listener;
    const llm::Outcome outcome = outcome_of(*model, asked);
    listener->expect_said(outcome);
    const llm::Choice& choice = std::get<llm::Answer>(outcome).choices.at(0);
    EXPECT_NE(choice.finish_reason, llm::FinishReason::kToolCalls);
    EXPECT_EQ(choice.tool_calls.at(0).name, "add");
  }
}

}  // namespace
}  // namespace windrow::engine
