// Streamed requests through the whole GenerationBackend: the deltas joined are the answer, and
// streaming does not change it.
#include <gtest/gtest.h>

#include <future>

#include "base/random.h"
#include "base/testing/manual_clock.h"
#include "engine/generate/generation_backend.h"
#include "engine/testing/recording_listener.h"
#include "engine/testing/scripted_runner.h"
#include "engine/testing/word_vocabulary.h"

namespace windrow::engine {
namespace {

using testing::RecordingListener;
using testing::ScriptedRunner;
using testing::WordVocabulary;
using Kind = llm::StructureSpec::Kind;

// Marks as one word and in pieces, and characters that take several bytes to write.
const std::vector<std::string> kWords = {
    "<think>",  "</think>",    "<th",     "ink>",      "</",        "<|channel|>", "analysis",
    "final",    "<|message|>", "<|end|>", "<|start|>", "assistant", "\xC3\xA4",    "\xF0\x9F",
    "\x98\x80", "{\"",         "\":",     "name",      "yes",       "on",          "abc"};

const std::vector<std::string> kTemplates = {
    "{{ messages[0].content }}", "{{ '</think>' }}{{ messages[0].content }}<think>\n",
    "{{ '</think>' }}{{ messages[0].content }}", "{{ messages[0].content }}<think></think>",
    "{{ messages[0].content }}{# <|channel|>analysis #}<|start|>assistant"};

class StreamedRequestsTest : public ::testing::Test {
 protected:
  std::unique_ptr<GenerationBackend> backend(Random& random) {
    const auto rows = static_cast<int32_t>(random.between(1, 5));
    const auto pick = [&](auto... of) {
      return std::array{of...}[static_cast<size_t>(random.below(sizeof...(of)))];
    };
    const RunnerLimits limits{
        .cells_max = static_cast<int32_t>(random.between(70, 200)),
        .rows_max = rows,
        .sequences_max = rows + 2,
        .step_tokens_max = static_cast<int32_t>(random.between(rows, 60)),
        .step_outputs_max = static_cast<int32_t>(random.between(rows, 20)),
        .row_tokens_max = 70,
        .vocabulary_size = vocabulary_.size(),
        .sharing = pick(Sharing::kNothing, Sharing::kExactEnd, Sharing::kAnyRange)};
    return std::make_unique<GenerationBackend>(
        std::make_unique<ScriptedRunner>(limits), vocabulary_,
        chat::ChatTemplate::make(kTemplates[static_cast<size_t>(random.below(kTemplates.size()))],
                                 {}),
        clock_,
        GenerationOptions{.mask_filling = {.threads = static_cast<int32_t>(random.below(2)),
                                           .nodes_a_slice = 20,
                                           .slices_a_step = 1}});
  }

  llm::Request request(Random& random) const {
    llm::Request request;
    if (random.chance(0.5)) {
      request.chat = {.messages = {{{"role", "user"}, {"content", "hi"}}}};
    } else {
      request.endpoint = llm::Endpoint::kCompletions;
      for (int64_t left = random.between(1, 3); left > 0; --left) {
        request.inputs.emplace_back();
        for (int64_t tokens = random.between(1, 12); tokens > 0; --tokens)
          request.inputs.back().tokens.push_back(static_cast<Token>(random.below(256)));
      }
      request.echo = random.chance(0.4);
    }
    request.choices = static_cast<int32_t>(random.between(1, 3));
    request.output_tokens_max = static_cast<int32_t>(random.between(1, 40));
    request.sampling.seed = random.next();
    // Words are said more often than bytes, which are many.
    for (Token word = WordVocabulary::kFirstWord; word < vocabulary_.size(); ++word)
      request.sampling.logit_bias.push_back({.token = word, .bias = 4});
    if (random.chance(0.5)) request.logprobs_top = static_cast<int32_t>(random.below(3));
    if (random.chance(0.4)) request.stop = {"final", "\xC3\xA4yes", "ab"};
    request.ignore_eos = random.chance(0.3);
    if (random.chance(0.3)) {
      request.ignore_eos = false;
      request.structured = llm::StructureSpec{.kind = Kind::kRegex,
                                              .text = "(yes|on|abc){1,3}(name){2,9}[a-z]{0,9}"};
      request.structured->param = "guided_regex";
    } else if (request.echo && random.chance(0.5)) {
      request.output_tokens_max = 0;
    }
    return request;
  }

  windrow::testing::ManualClock clock_;
  WordVocabulary vocabulary_{kWords};
};

TEST_F(StreamedRequestsTest, WhatIsHeardIsTheAnswerAndHearingChangesNothing) {
  int heard_in_parts = 0;
  int thought = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const std::unique_ptr<GenerationBackend> model = backend(random);
    struct Asked {
      std::promise<llm::Outcome> alone;
      std::promise<llm::Outcome> heard;
      std::shared_ptr<RecordingListener> listener = std::make_shared<RecordingListener>();
    };
    std::vector<Asked> all(10);
    for (Asked& asked : all) {
      llm::BackendCall one = llm::plain_call(request(random));
      model->submit(one, [&](llm::Outcome outcome) { asked.alone.set_value(std::move(outcome)); });
      one.listener = asked.listener;
      model->submit(std::move(one), [&](llm::Outcome outcome) {
        asked.listener->expect_emitted(outcome);
        asked.heard.set_value(std::move(outcome));
      });
    }
    for (Asked& asked : all) {
      const llm::Outcome alone = asked.alone.get_future().get();
      const llm::Outcome heard = asked.heard.get_future().get();
      ASSERT_TRUE(std::holds_alternative<llm::Answer>(heard))
          << std::get<llm::Failure>(heard).message;
      ASSERT_EQ(std::get<llm::Answer>(heard).choices, std::get<llm::Answer>(alone).choices);
      if (asked.listener->deltas() > 3) ++heard_in_parts;
      if (std::get<llm::Answer>(heard).choices[0].reasoning) ++thought;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(heard_in_parts, 100);
  EXPECT_GT(thought, 30);
}

}  // namespace
}  // namespace windrow::engine
