#include "chat/reasoning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "base/utf8.h"

namespace windrow::chat {
namespace {

const ReasoningFormat kThink = recognise_reasoning("{{ '<think>' }}..{{ '</think>' }}");
const ReasoningFormat kKimi =
    recognise_reasoning("\xE2\x97\x81think\xE2\x96\xB7 \xE2\x97\x81/think\xE2\x96\xB7");
const ReasoningFormat kHarmony = recognise_reasoning("<|channel|>analysis<|message|>");

// "reasoning|content", for each piece of the answer.
std::vector<std::string> streamed(const ReasoningFormat& format, std::string_view prompt,
                                  const std::vector<std::string>& pieces) {
  ReasoningStream stream(format, prompt);
  std::vector<std::string> result;
  for (const std::string& piece : pieces) {
    const auto more = stream.take(piece);
    result.push_back(more.reasoning + "|" + more.content);
  }
  return result;
}

using Deltas = std::vector<std::string>;

TEST(ReasoningStream, ReturnsAtOnceWhatCannotBecomeAnythingElse) {
  EXPECT_EQ(streamed({}, "", {"a", " <think>"}), (Deltas{"|a", "| <think>"}));
  EXPECT_EQ(streamed(kThink, "", {"It", " is"}), (Deltas{"|It", "| is"}));
  EXPECT_EQ(
      streamed(kThink, "", {"\n", "<th", "ink>", "\nhm", " so", "\n</", "think>\n", "\n4", " 5"}),
      (Deltas{"|", "|", "|", "hm|", " so|", "|", "|", "|4", "| 5"}));
  EXPECT_EQ(streamed(kThink, "<think>\n", {"hm <", "b", "</think>4 </think>"}),
            (Deltas{"hm|", " <b|", "|4 </think>"}));
  EXPECT_EQ(streamed(kThink, "<think></think>", {"<think>", "a"}), (Deltas{"|<think>", "|a"}));
}

TEST(ReasoningStream, WhatLooksLikeAMarkIsHeldNoLongerThanItDoes) {
  EXPECT_EQ(streamed(kThink, "", {"<", "thi", "n air"}), (Deltas{"|", "|", "|<thin air"}));
  ReasoningStream stream(kThink, "<think>");
  stream.take("so <");
  EXPECT_EQ(stream.held_bytes(), 2U) << "the space may end the thoughts";
  stream.take("/think>");
  EXPECT_EQ(stream.held_bytes(), 0U);
}

TEST(ReasoningStream, MessagesOfHarmonyAreToldOnceTheirChannelIsKnown) {
  EXPECT_EQ(streamed(kHarmony, "",
                     {"<|channel|>", "analysis<|mess", "age|>", "h", "m\n", "<|end|>",
                      "<|start|>assistant<|channel|>final<|message|>4", "!"}),
            (Deltas{"|", "|", "|", "h|", "m|", "|", "|4", "|!"}));
}

std::string of_parts(Random& random, const std::vector<std::string>& parts, int64_t count_max) {
  std::string text;
  for (int64_t left = random.between(0, count_max); left > 0; --left)
    text += parts[static_cast<size_t>(random.below(parts.size()))];
  return text;
}

// Whitespace between two messages of thoughts waits for the second.
ptrdiff_t letters(std::string_view text) {
  return std::ranges::count_if(
      text, [](char c) { return std::string_view(" \t\r\n").find(c) == std::string_view::npos; });
}

// Against the split of the whole answer: however it is cut, and wherever it ends, the deltas are
// a beginning of both, and only what is held is missing.
TEST(ReasoningStream, TellsTheBeginningsOfWhatTheWholeAnswerIsSplitInto) {
  struct Case {
    ReasoningFormat format;
    std::vector<std::string> prompts;
    std::vector<std::string> parts;
  };
  const std::vector<std::string> text = {"a",  "b",  " ",  "\n",           "\r\n",    "<",
                                         "<|", "</", "\t", "\xE2\x97\x81", "\xC3\xA4"};
  std::vector<Case> cases = {
      {kThink, {"", "<think>\n", "<think></think>"}, {"<think>", "</think>", "<thi", "nk>"}},
      {kKimi, {"", kKimi.open, kKimi.close + "\n"}, {kKimi.open, kKimi.close, "/think", "think"}},
      {kHarmony,
       {"", "<|start|>assistant"},
       {"<|channel|>", "analysis", "final", "<|message|>", "<|message|>", "<|end|>", "<|start|>",
        "<|return|>", "<|call|>", " to=x", " to=functions.f", "<|channel|>analysis<|message|>",
        "<|start|>assistant<|channel|>final<|message|>"}}};
  for (Case& one : cases)
    one.parts.insert(one.parts.end(), text.begin(), text.end());
  for (uint64_t seed = 0; seed < 30'000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const Case& one = cases[static_cast<size_t>(random.below(cases.size()))];
    const std::string& prompt = one.prompts[static_cast<size_t>(random.below(one.prompts.size()))];
    const std::string whole = of_parts(random, one.parts, 24);
    const SplitAnswer split = split_reasoning(one.format, prompt, whole);
    ReasoningStream stream(one.format, prompt);
    std::string reasoning;
    std::string content;
    for (size_t at = 0; at < whole.size();) {
      size_t size = std::min<size_t>(1 + random.below(12), whole.size() - at);
      while (utf8_incomplete_tail(whole.substr(0, at + size)) > 0)
        ++size;
      const auto more = stream.take(whole.substr(at, size));
      at += size;
      reasoning += more.reasoning;
      content += more.content;
      ASSERT_LE(stream.held_bytes(), at);
      // Wherever it ends: a limit may cut it here.
      const SplitAnswer here = split_reasoning(one.format, prompt, whole.substr(0, at));
      const std::string thought = here.reasoning.value_or("");
      ASSERT_TRUE(thought.starts_with(reasoning)) << whole;
      ASSERT_TRUE(here.content.starts_with(content)) << whole;
      ASSERT_LE(letters(thought + here.content),
                letters(reasoning + content) + static_cast<ptrdiff_t>(stream.held_bytes()))
          << "more is missing than is held: " << whole;
    }
    ASSERT_TRUE(split.reasoning.value_or("").starts_with(reasoning)) << whole;
    ASSERT_TRUE(split.content.starts_with(content)) << whole;
  }
}

}  // namespace
}  // namespace windrow::chat
