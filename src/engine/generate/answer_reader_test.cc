// An answer that is read from its tokens, in pieces of any size, is the engine's own: reasoning,
// content, calls with their ids, how it ended; whole and as deltas.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/testing/rounds.h"
#include "engine/testing/call_rig.h"
#include "engine/testing/recording_listener.h"
#include "engine/testing/template_corpus.h"

namespace windrow::engine {
namespace {

using llm::FinishReason;
using llm::ToolUse;
using testing::CallFamily;
using testing::CorpusTemplate;
using testing::kCallFamilies;
using testing::kHarmonyMarks;
using testing::RecordingListener;
using testing::ScriptedRunner;
using testing::WordVocabulary;

// Families of models that call tools, and some that also think.
std::vector<CallFamily> families_read() {
  std::vector<CallFamily> all = kCallFamilies;
  all.push_back({"<tool_call> tools <think> </think>", true, "<think>"});
  all.push_back({"<tool_call> tools <think> </think>"});
  all.push_back({"[TOOL_CALLS] [ARGS] <think> </think>"});
  return all;
}

const std::vector<llm::ToolChoice> kToolChoices = {
    {},
    {.parallel = false},
    {.use = ToolUse::kRequired},
    {.use = ToolUse::kRequired, .parallel = false},
    {.use = ToolUse::kNamed, .name = "add"},
    {.use = ToolUse::kNamed, .name = "now", .parallel = false}};

class AnswerReaderTest : public testing::CallRig {
 protected:
  std::unique_ptr<GenerationBackend> backend_of(std::string_view source) {
    const RunnerLimits limits{.cells_max = 20'000,
                              .rows_max = 2,
                              .sequences_max = 6,
                              .step_tokens_max = 8000,
                              .step_outputs_max = 8000,
                              .row_tokens_max = 8000,
                              .vocabulary_size = vocabulary_.size(),
                              .sharing = Sharing::kAnyRange};
    return std::make_unique<GenerationBackend>(
        std::make_unique<ScriptedRunner>(limits), vocabulary_,
        chat::ChatTemplate::make(source, {.begin = "<s>", .end = "</s>"}), clock_,
        GenerationOptions{});
  }

  struct Read {
    llm::AnswerReader::End end;
    std::shared_ptr<RecordingListener> listener = std::make_shared<RecordingListener>();
  };

  // Pieces of one token at least; whole: one piece.
  static Read read(llm::AnswerReader& reader, std::span<const Token> tokens, FinishReason reason,
                   Random& random) {
    Read read;
    const auto longest = static_cast<int64_t>(random.chance(0.3) ? 1 : random.between(1, 40));
    while (!tokens.empty()) {
      const auto count = std::min(tokens.size(), static_cast<size_t>(random.between(1, longest)));
      for (llm::Delta& delta : reader.take(tokens.first(count)))
        read.listener->on_delta(std::move(delta));
      tokens = tokens.subspan(count);
    }
    read.end = reader.end(reason);
    read.listener->on_delta(read.end.last);
    read.listener->expect_emitted(llm::Answer{.choices = {read.end.choice}});
    return read;
  }

  // Asks for an answer and reads its tokens. Returns the answer; nothing if there is none.
  std::optional<llm::Choice> expect_read(GenerationBackend& model, llm::Request request,
                                         Random& random) {
    request.return_token_ids = true;
    const auto listener = random.chance(0.5) ? std::make_shared<RecordingListener>() : nullptr;
    const llm::Outcome outcome = outcome_of(model, request, listener);
    if (std::holds_alternative<llm::Failure>(outcome)) return std::nullopt;
    const auto& answer = std::get<llm::Answer>(outcome);
    llm::Choice expected = answer.choices.at(0);
    const std::vector<Token> tokens = std::exchange(expected.token_ids, {});
    // Known only where it was sampled.
    expected.tokens.clear();
    expected.structure = std::nullopt;
    const FinishReason reason = expected.finish_reason == FinishReason::kLength
                                    ? FinishReason::kLength
                                    : FinishReason::kStop;
    const std::unique_ptr<llm::AnswerReader> reader =
        model.tokenizer().read_answer(request.chat, answer.prompt_token_ids.at(0),
                                      {.stop = request.stop,
                                       .stop_tokens = request.stop_tokens,
                                       .structured = request.structured.has_value(),
                                       .seed = request.sampling.seed});
    Read made = read(*reader, tokens, reason, random);
    EXPECT_EQ(made.end.choice.text, expected.text);
    EXPECT_EQ(made.end.choice.reasoning, expected.reasoning);
    EXPECT_EQ(made.end.choice.tool_calls, expected.tool_calls);
    EXPECT_EQ(made.end.choice.finish_reason, expected.finish_reason);
    EXPECT_TRUE(made.end.choice == expected) << "in something else";
    EXPECT_EQ(made.end.last.stopped_by, expected.stopped_by);
    EXPECT_EQ(made.end.reasoning_tokens, answer.usage.reasoning_tokens);
    count(expected);
    return expected;
  }

  // What happened to the answers, so that a test knows that it happened.
  void count(const llm::Choice& choice) {
    const bool cut = choice.finish_reason == FinishReason::kLength;
    if (choice.cut_character) ++cut_characters_;
    if (choice.reasoning && choice.text.empty() && cut) ++cut_thoughts_;
    if (cut && !choice.tool_calls.empty() && !is_json(choice.tool_calls.back().arguments))
      ++cut_calls_;
    if (choice.finish_reason == FinishReason::kToolCalls) ++called_;
    if (choice.tool_calls.size() > 1) ++several_calls_;
    if (choice.stopped_by) ++stopped_;
    if (choice.stopped_by_token) ++stopped_by_tokens_;
    if (choice.reasoning) ++thought_;
  }

  static bool is_json(std::string_view text) {
    boost::system::error_code error;
    boost::json::parse(text, error);
    return !error;
  }

  // Words and marks instead of single bytes.
  void favour_words(llm::Request& request, float bias) const {
    for (Token word = WordVocabulary::kFirstWord; word < vocabulary_.size(); ++word)
      request.sampling.logit_bias.push_back({.token = word, .bias = bias});
  }

  llm::Request any_request(Random& random, const llm::ToolChoice& choice) const {
    llm::Request asked = request(random.next(), choice);
    asked.output_tokens_max = static_cast<int32_t>(random.between(1, 120));
    if (random.chance(0.4)) favour_words(asked, 4);
    if (random.chance(0.3)) asked.stop = {"add", "\": ", "\xC3\xA4", "</th"};
    if (random.chance(0.2)) asked.stop_tokens = {'a', vocabulary_.mark("<|end|>"), 256};
    if (random.chance(0.2)) asked.logprobs_top = 1;
    return asked;
  }

  int cut_characters_ = 0;
  int cut_thoughts_ = 0;
  int cut_calls_ = 0;
  int called_ = 0;
  int several_calls_ = 0;
  int stopped_ = 0;
  int stopped_by_tokens_ = 0;
  int thought_ = 0;
};

TEST_F(AnswerReaderTest, ReadsWhatTheEngineAnswersForEachFamilyAndToolChoice) {
  for (const CallFamily& family : families_read()) {
    SCOPED_TRACE(family.marks);
    const auto model = backend(family.marks, family.end);
    for (uint64_t seed = 0; seed < windrow::testing::rounds(24U, 72U); ++seed) {
      SCOPED_TRACE(fmt::format("seed {}", seed));
      Random random(seed);
      const llm::ToolChoice& choice = kToolChoices[seed % kToolChoices.size()];
      ASSERT_TRUE(expect_read(*model, any_request(random, choice), random));
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(cut_characters_, windrow::testing::rounds(0, 10));
  EXPECT_GT(cut_thoughts_, windrow::testing::rounds(0, 10));
  EXPECT_GT(cut_calls_, windrow::testing::rounds(2, 20));
  EXPECT_GT(called_, windrow::testing::rounds(15, 100));
  EXPECT_GT(several_calls_, windrow::testing::rounds(0, 5));
  EXPECT_GT(stopped_, windrow::testing::rounds(4, 30));
  EXPECT_GT(stopped_by_tokens_, windrow::testing::rounds(0, 10));
  EXPECT_GT(thought_, windrow::testing::rounds(6, 50));
}

// Requests that may go on behind an end token have no grammar for calls.
TEST_F(AnswerReaderTest, ReadsOnBehindAnEndToken) {
  for (const CallFamily& family : families_read()) {
    SCOPED_TRACE(family.marks);
    const auto model = backend(family.marks, family.end);
    for (uint64_t seed = 0; seed < windrow::testing::rounds(6U, 16U); ++seed) {
      SCOPED_TRACE(fmt::format("seed {}", seed));
      Random random(seed);
      llm::Request asked = any_request(random, kToolChoices[seed % 2]);
      asked.ignore_eos = true;
      std::erase(asked.stop_tokens, 256);
      favour_words(asked, 6);
      ASSERT_TRUE(expect_read(*model, asked, random));
      if (HasFailure()) return;
    }
  }
}

TEST_F(AnswerReaderTest, ReadsAStructureBesideCalls) {
  int formed = 0;
  for (const CallFamily& family : families_read()) {
    SCOPED_TRACE(family.marks);
    const auto model = backend(family.marks, family.end);
    for (uint64_t seed = 0; seed < windrow::testing::rounds(12U, 40U); ++seed) {
      SCOPED_TRACE(fmt::format("seed {}", seed));
      Random random(seed);
      llm::Request asked = any_request(random, {});
      // In channels a grammar takes the header of a call for that of the structure.
      if (seed % 4 == 0 && family.marks != kHarmonyMarks) asked.chat.tools.clear();
      asked.structured =
          llm::StructureSpec{.kind = llm::StructureSpec::Kind::kJsonObject, .param = "form"};
      const std::optional<llm::Choice> choice = expect_read(*model, asked, random);
      ASSERT_TRUE(choice);
      if (choice->finish_reason == FinishReason::kStop) ++formed;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(formed, windrow::testing::rounds(6, 50));
}

TEST_F(AnswerReaderTest, ReadsWhatTheEngineAnswersForEachTemplateOfTheCorpus) {
  int read = 0;
  for (const CorpusTemplate& from : testing::template_corpus()) {
    SCOPED_TRACE(from.name);
    const auto model = backend_of(from.source);
    for (uint64_t seed = 0; seed < 12; seed += windrow::testing::rounds(3U, 1U)) {
      SCOPED_TRACE(fmt::format("seed {}", seed));
      Random random(seed);
      llm::Request asked = any_request(random, kToolChoices[seed % kToolChoices.size()]);
      if (seed >= 8) {
        asked.chat.tools.clear();
        asked.chat.tool_choice = {};
      }
      if (expect_read(*model, asked, random)) ++read;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(read, windrow::testing::rounds(80, 400));
  EXPECT_GT(called_, windrow::testing::rounds(5, 50));
  EXPECT_GT(thought_, windrow::testing::rounds(6, 50));
}

// A server elsewhere has its own opinion of where an answer ends, and may have sampled anything.
TEST_F(AnswerReaderTest, ReadsAnyTokensAlikeInAnyPieces) {
  for (const CallFamily& family : families_read()) {
    SCOPED_TRACE(family.marks);
    const auto model = backend(family.marks, family.end);
    for (uint64_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(fmt::format("seed {}", seed));
      Random random(seed);
      const llm::Request asked = any_request(random, kToolChoices[seed % kToolChoices.size()]);
      const std::vector<Token> prompt = vocabulary_.tokenize(family.end, ControlTokens::kParsed);
      std::vector<Token> tokens;
      for (int64_t left = random.between(0, 200); left > 0; --left) {
        const int64_t first = random.chance(0.7) ? WordVocabulary::kFirstWord - 1 : -2;
        tokens.push_back(static_cast<Token>(random.between(first, vocabulary_.size() + 1)));
      }
      const auto reader = [&] {
        return model->tokenizer().read_answer(
            asked.chat, prompt, {.stop = asked.stop, .stop_tokens = asked.stop_tokens, .seed = 5});
      };
      const FinishReason reason = seed % 2 == 0 ? FinishReason::kLength : FinishReason::kStop;
      const Read one = read(*reader(), tokens, reason, random);
      const Read other = read(*reader(), tokens, reason, random);
      EXPECT_TRUE(one.end.choice == other.end.choice);
      if (HasFailure()) return;
    }
  }
}

TEST_F(AnswerReaderTest, WhatIsBehindTheEndOfAnAnswerIsNotRead) {
  const auto model = backend("<tool_call> tools");
  const auto tokens_of = [&](std::string_view text) {
    return vocabulary_.tokenize(text, ControlTokens::kParsed);
  };
  const std::vector<Token> prompt = tokens_of("hi");
  Random random(1);
  llm::Chat chat = request(1, {.parallel = false}).chat;

  const auto stopped = model->tokenizer().read_answer(chat, prompt, {.stop = {"ST"}});
  const Read text = read(*stopped, tokens_of("one STtwo"), FinishReason::kLength, random);
  EXPECT_EQ(text.end.choice.text, "one ");
  EXPECT_EQ(text.end.choice.finish_reason, FinishReason::kStop);
  EXPECT_EQ(text.end.last.stopped_by, "ST");

  const std::string call = R"(<tool_call>{"name": "now", "arguments": {}}</tool_call>)";
  const auto calls = model->tokenizer().read_answer(chat, prompt, {});
  const Read one = read(*calls, tokens_of(call + call), FinishReason::kLength, random);
  EXPECT_EQ(one.end.choice.tool_calls.size(), 1U);
  EXPECT_EQ(one.end.choice.text, "");
  EXPECT_EQ(one.end.choice.finish_reason, FinishReason::kToolCalls);

  chat.tool_choice.parallel = true;
  const auto several = model->tokenizer().read_answer(chat, prompt, {});
  const Read two = read(*several, tokens_of(call + call), FinishReason::kStop, random);
  EXPECT_EQ(two.end.choice.tool_calls.size(), 2U);
}

TEST_F(AnswerReaderTest, ATokenIsControlIfItHasANameAndNoText) {
  const auto model = backend("[TOOL_CALLS]");
  const llm::Tokenizer& tokenizer = model->tokenizer();
  EXPECT_TRUE(tokenizer.is_control(WordVocabulary::kEnd));
  EXPECT_TRUE(tokenizer.is_control(vocabulary_.mark("[TOOL_CALLS]")));
  EXPECT_TRUE(tokenizer.is_control(vocabulary_.mark("<|call|>")));
  EXPECT_FALSE(tokenizer.is_control('a'));
  EXPECT_FALSE(tokenizer.is_control(vocabulary_.mark("add")));
}

}  // namespace
}  // namespace windrow::engine
