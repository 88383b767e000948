// CallRig: a whole GenerationBackend on a model whose logits are noise, asked with two tools. The
// arguments of its calls are checked by a validator that shares no code with what generates them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/testing/manual_clock.h"
#include "engine/generate/generation_backend.h"
#include "engine/testing/marked_vocabulary.h"
#include "engine/testing/scripted_runner.h"
#include "schema/validator.h"

namespace windrow::engine::testing {

inline constexpr std::string_view kHarmonyMarks = "<|channel|> analysis functions.";
// Parameters of a tool: items of any kind cannot be compared.
inline constexpr std::string_view kNotEnforceable =
    R"({"properties":{"a":{"type":"array","uniqueItems":true}}})";

inline constexpr std::string_view kHarmonyTurn = "<|start|>assistant";

// How a family of models writes calls.
struct CallFamily {
  std::string_view marks;  // by which its template is recognised; empty: it has no tools
  bool several = true;     // calls in an answer
  std::string_view end;    // of the prompt
};

inline const std::vector<CallFamily> kCallFamilies = {
    {"<tool_call> tools"},
    {"[TOOL_CALLS]"},
    {"[TOOL_CALLS] [ARGS]"},
    {"<｜tool▁calls▁begin｜>"},
    {"<｜tool▁calls▁begin｜> ```"},
    {"<function= </function>"},
    {"<|start_header_id|> \"parameters\"", false},
    {kHarmonyMarks, false, kHarmonyTurn},
    {"<tool_call> <function= </function>"},
    {"<seed:tool_call>"},
    {"<minimax:tool_call>"},
    {"<tool_call> <arg_key>"},
    {""},
};

class CallRig : public ::testing::Test {
 protected:
  CallRig() {
    for (const boost::json::value& tool : tools_) {
      const boost::json::object& function = tool.at("function").as_object();
      const boost::json::value* parameters = function.if_contains("parameters");
      const boost::json::value none = {{"type", "object"}, {"properties", boost::json::object()}};
      auto validator = schema::Validator::compile(parameters == nullptr ? none : *parameters,
                                                  {.closed_by_default = true});
      validators_.emplace(function.at("name").as_string(), *std::move(validator));
    }
  }

  // The template has these marks, and prompts end so.
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
                    .tools = tools_,
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

  static llm::Outcome outcome_of(GenerationBackend& model, llm::Request request,
                                 std::shared_ptr<llm::StreamSink> listener = nullptr) {
    std::promise<llm::Outcome> outcome;
    llm::BackendCall call = llm::plain_call(std::move(request));
    call.listener = std::move(listener);
    model.submit(std::move(call), [&](llm::Outcome made) { outcome.set_value(std::move(made)); });
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

  const boost::json::array tools_ = boost::json::parse(R"([
  {"type": "function", "function": {"name": "add", "parameters": {"type": "object",
    "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 999},
                   "b": {"type": "string", "maxLength": 4}, "c": {"type": "boolean"},
                   "d": {"enum": ["x", "yy"]}},
    "required": ["a", "b"]}}},
  {"type": "function", "function": {"name": "now"}}])")
                                        .as_array();
  windrow::testing::ManualClock clock_;
  MarkedVocabulary vocabulary_;
  std::map<std::string, schema::Validator, std::less<>> validators_;
  int whole_ = 0;
  int several_ = 0;
};

}  // namespace windrow::engine::testing
