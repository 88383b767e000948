// Tool calls through the whole GenerationBackend: the deltas are the answer, with calls beside
// text, and a mark that is a control token is recognised although it has no text.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <future>

#include "base/random.h"
#include "base/testing/manual_clock.h"
#include "base/testing/rounds.h"
#include "engine/generate/generation_backend.h"
#include "engine/testing/recording_listener.h"
#include "engine/testing/scripted_runner.h"
#include "engine/testing/word_vocabulary.h"

namespace windrow::engine {
namespace {

using testing::RecordingListener;
using testing::ScriptedRunner;
using testing::WordVocabulary;

// The first is a control token: it has text only where marks are looked for.
const std::vector<std::string> kWords = {
    "[TOOL_CALLS]", "add", "now", "[ARGS]", "{\"a\":", "1", "}", "{}", " ", "Hm.", "[", "\xC3\xA4"};

class MarkedVocabulary final : public Vocabulary {
 public:
  static constexpr Token kMark = WordVocabulary::kFirstWord;

  int32_t size() const override { return words_.size(); }
  std::vector<Token> tokenize(std::string_view text, ControlTokens control) const override {
    return words_.tokenize(text, control);
  }
  void append_bytes(Token token, std::string& text) const override {
    if (token != kMark) words_.append_bytes(token, text);
  }
  void append_piece(Token token, std::string& text) const override {
    words_.append_bytes(token, text);
  }
  bool ends_answer(Token token) const override { return words_.ends_answer(token); }
  std::optional<Token> begin_token() const override { return std::nullopt; }
  std::vector<ControlToken> control_tokens() const override {
    return {{.text = "[TOOL_CALLS]", .token = kMark}};
  }

 private:
  WordVocabulary words_{kWords};
};

const boost::json::array kTools =
    boost::json::parse(R"([{"type": "function", "function": {"name": "add"}},
                           {"type": "function", "function": {"name": "now"}}])")
        .as_array();

constexpr std::string_view kTemplate =
    "{{ tools }}{{ messages[0].content }}{# [TOOL_CALLS] [ARGS] </think> #}";

class ToolCallsTest : public ::testing::Test {
 protected:
  std::unique_ptr<GenerationBackend> backend(int32_t rows = 4) {
    const RunnerLimits limits{.cells_max = 2000,
                              .rows_max = rows,
                              .sequences_max = rows + 2,
                              .step_tokens_max = 400,
                              .step_outputs_max = rows,
                              .row_tokens_max = 400,
                              .vocabulary_size = vocabulary_.size(),
                              .sharing = Sharing::kAnyRange};
    return std::make_unique<GenerationBackend>(std::make_unique<ScriptedRunner>(limits),
                                               vocabulary_, chat::ChatTemplate::make(kTemplate, {}),
                                               clock_, GenerationOptions{});
  }

  llm::Request request(uint64_t seed, bool with_tools = true) const {
    llm::Request request;
    request.chat = {.messages = {{{"role", "user"}, {"content", "hi"}}}};
    if (with_tools) request.chat.tools = kTools;
    request.choices = 2;
    request.output_tokens_max = 40;
    request.sampling.seed = seed;
    for (Token word = WordVocabulary::kFirstWord; word < vocabulary_.size(); ++word)
      request.sampling.logit_bias.push_back({.token = word, .bias = 12});
    return request;
  }

  static llm::Answer ask(GenerationBackend& model, llm::Request request) {
    std::promise<llm::Outcome> outcome;
    model.submit(llm::plain_call(std::move(request)),
                 [&](llm::Outcome made) { outcome.set_value(std::move(made)); });
    return std::get<llm::Answer>(outcome.get_future().get());
  }

  windrow::testing::ManualClock clock_;
  MarkedVocabulary vocabulary_;
};

TEST_F(ToolCallsTest, WhatIsHeardIsTheAnswerWithItsCalls) {
  const std::unique_ptr<GenerationBackend> model = backend();
  int calls = 0;
  int several = 0;
  for (uint64_t seed = 0; seed < windrow::testing::rounds(100U, 400U); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    llm::Request asked = request(seed);
    if (seed % 3 == 0) asked.logprobs_top = 1;
    if (seed % 4 == 0) asked.stop = {"1}", "Hm.["};
    const llm::Answer alone = ask(*model, asked);
    const auto listener = std::make_shared<RecordingListener>();
    llm::BackendCall call = llm::plain_call(std::move(asked));
    call.listener = listener;
    std::promise<llm::Outcome> outcome;
    model->submit(std::move(call), [&](llm::Outcome made) {
      listener->expect_emitted(made);
      outcome.set_value(std::move(made));
    });
    ASSERT_EQ(std::get<llm::Answer>(outcome.get_future().get()).choices, alone.choices);
    for (const llm::Choice& choice : alone.choices) {
      calls += static_cast<int>(choice.tool_calls.size());
      several += choice.tool_calls.size() > 1 ? 1 : 0;
      for (const llm::ToolCall& tool_call : choice.tool_calls)
        EXPECT_TRUE(tool_call.name == "add" || tool_call.name == "now");
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(calls, windrow::testing::rounds(2, 20));
  EXPECT_GT(several, 0);
}

TEST_F(ToolCallsTest, WithoutToolsTheMarkIsNoText) {
  const std::unique_ptr<GenerationBackend> model = backend();
  for (uint64_t seed = 0; seed < 30; ++seed) {
    for (const llm::Choice& choice : ask(*model, request(seed, false)).choices) {
      EXPECT_TRUE(choice.tool_calls.empty());
      EXPECT_EQ(choice.text.find("[TOOL_CALLS]"), std::string::npos);
    }
  }
}

// The answer ends with the token that completes the call: no step is spent on more.
TEST_F(ToolCallsTest, AnAnswerThatMayCallOnceIsOverBehindItsCall) {
  const std::unique_ptr<GenerationBackend> model = backend();
  int shorter = 0;
  for (uint64_t seed = 0; seed < windrow::testing::rounds(100U, 400U); ++seed) {
    llm::Request asked = request(seed);
    asked.choices = 1;
    const llm::Answer several = ask(*model, asked);
    asked.chat.tool_choice.parallel = false;
    const llm::Answer one = ask(*model, asked);
    const llm::Choice& choice = one.choices[0];
    ASSERT_LE(choice.tool_calls.size(), 1U);
    const std::vector<llm::ToolCall>& all = several.choices[0].tool_calls;
    ASSERT_EQ(choice.tool_calls.empty(), all.empty());
    if (all.empty()) continue;
    EXPECT_EQ(choice.tool_calls[0], all[0]);
    if (one.usage.completion_tokens == several.usage.completion_tokens) continue;
    EXPECT_EQ(choice.finish_reason, llm::FinishReason::kToolCalls);
    ++shorter;
  }
  EXPECT_GT(shorter, windrow::testing::rounds(0, 5));
}

TEST_F(ToolCallsTest, UnderAStructureNoCallIsLookedForWithoutTools) {
  const std::unique_ptr<GenerationBackend> model = backend();
  llm::Request asked = request(1, false);
  asked.structured = llm::StructureSpec{
      .kind = llm::StructureSpec::Kind::kRegex, .text = "now\\{\\}", .param = "guided_regex"};
  const llm::Choice choice = ask(*model, asked).choices[0];
  EXPECT_EQ(choice.text, "now{}");
  EXPECT_TRUE(choice.tool_calls.empty());
}

}  // namespace
}  // namespace windrow::engine
