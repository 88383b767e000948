// The number of reasoning tokens, against a count of the listed tokens one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/testing/manual_clock.h"
#include "engine/generate/generation_backend.h"
#include "engine/testing/scripted_runner.h"
#include "engine/testing/word_vocabulary.h"

namespace windrow::engine {
namespace {

using testing::ScriptedRunner;
using testing::WordVocabulary;

// Reasoning that repeats itself, and tokens that cross its ends.
const std::vector<std::string> kThoughtWords = {"</think>", "<think>", "hm",    "hm hm", " ",
                                                "\n",       ". ",      "m</th", "ink>y", "yes"};

// The plain way: each byte of the answer is marked, then each token is looked at.
int32_t count_thought_tokens(const std::vector<llm::ScoredToken>& tokens) {
  constexpr std::string_view kOpen = "<think>";
  constexpr std::string_view kBlanks = " \n";
  std::string text;
  for (const llm::ScoredToken& token : tokens)
    text += token.chosen.bytes;
  size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string::npos) return 0;
  if (text.compare(begin, kOpen.size(), kOpen) == 0) begin += kOpen.size();
  const size_t close = std::min(text.find("</think>", begin), text.size());
  std::vector<bool> thought(text.size());
  for (size_t i = begin; i < close; ++i)
    thought[i] = true;
  for (size_t i = begin; i < close && kBlanks.find(text[i]) != std::string_view::npos; ++i)
    thought[i] = false;
  for (size_t i = close; i-- > begin && kBlanks.find(text[i]) != std::string_view::npos;)
    thought[i] = false;
  int32_t count = 0;
  size_t at = 0;
  for (const llm::ScoredToken& token : tokens) {
    bool any = false;
    for (size_t i = 0; i < token.chosen.bytes.size(); ++i)
      any = any || thought[at + i];
    at += token.chosen.bytes.size();
    count += any ? 1 : 0;
  }
  return count;
}

llm::Answer answer_to(GenerationBackend& model, llm::Request request) {
  std::promise<llm::Outcome> outcome;
  model.submit(llm::plain_call(std::move(request)),
               [&](llm::Outcome made) { outcome.set_value(std::move(made)); });
  return std::get<llm::Answer>(outcome.get_future().get());
}

TEST(ThoughtTokens, AreThoseWithSomethingThoughtInThem) {
  windrow::testing::ManualClock clock;
  const WordVocabulary vocabulary(kThoughtWords);
  const RunnerLimits limits{.cells_max = 2000,
                            .rows_max = 4,
                            .sequences_max = 6,
                            .step_tokens_max = 400,
                            .step_outputs_max = 4,
                            .row_tokens_max = 400,
                            .vocabulary_size = vocabulary.size(),
                            .sharing = Sharing::kAnyRange};
  GenerationBackend model(
      std::make_unique<ScriptedRunner>(limits), vocabulary,
      chat::ChatTemplate::make("{{ messages[0].content }}<think>\n{# </think> #}", {}), clock,
      GenerationOptions{});
  int32_t counted = 0;
  int32_t ended = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    llm::Request request;
    request.chat = {.messages = {{{"role", "user"}, {"content", "hi"}}}};
    request.output_tokens_max = 120;
    request.logprobs_top = 0;
    request.sampling.seed = seed;
    for (Token word = WordVocabulary::kFirstWord; word < vocabulary.size(); ++word)
      request.sampling.logit_bias.push_back({.token = word, .bias = 12});
    // Some think for long, so that they say the same things again and again.
    if (seed % 2 == 0) request.sampling.logit_bias.front().bias = 7;
    if (seed % 3 == 0)
      request.structured = llm::StructureSpec{.kind = llm::StructureSpec::Kind::kRegex,
                                              .text = "(yes|y|hm| )+",
                                              .param = "response_format"};
    const llm::Answer answer = answer_to(model, std::move(request));
    const llm::Choice& choice = answer.choices.at(0);
    ASSERT_EQ(answer.usage.reasoning_tokens, count_thought_tokens(choice.tokens))
        << choice.reasoning.value_or("(nothing)");
    counted += answer.usage.reasoning_tokens;
    ended += choice.text.empty() ? 0 : 1;
  }
  EXPECT_GT(counted, 1000);
  EXPECT_GT(ended, 50);
}

}  // namespace
}  // namespace windrow::engine
