#include "engine/generate/answer_stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <memory>

#include "base/random.h"
#include "base/utf8.h"

namespace windrow::engine {
namespace {

llm::ScoredToken scored(int32_t token) {
  return {.chosen = {.token = token, .bytes = {}, .logprob = -1}, .top = {}};
}

TEST(AnswerStream, TellsWhatIsSettledAndNothingTwice) {
  AnswerText text({"STOP"});
  AnswerStream stream({.choice = 3});
  EXPECT_TRUE(stream.next(text, {}).empty());
  text.append("one S");
  stream.append_token(5, std::nullopt);
  EXPECT_EQ(stream.next(text, {}), (std::vector{llm::Delta{.choice = 3, .text = "one "}}));
  EXPECT_TRUE(stream.next(text, {}).empty());
  text.append("O\xC3");
  stream.append_token(7, std::nullopt);
  EXPECT_EQ(stream.next(text, {}).at(0).text, "SO");
  text.append("\xA4");
  stream.append_token(8, std::nullopt);
  EXPECT_EQ(stream.next(text, {}).at(0).text, "\xC3\xA4");
  EXPECT_EQ(stream.last({.text = "one SO\xC3\xA4!", .finish_reason = llm::FinishReason::kLength}),
            (llm::Delta{.choice = 3, .text = "!", .finish_reason = llm::FinishReason::kLength}));
}

TEST(AnswerStream, WhatStandsBeforeTheAnswerIsInTheFirstPiece) {
  AnswerText text({});
  AnswerStream echo({.text_before = "ab\xC3"});
  EXPECT_EQ(echo.next(text, {}).at(0).text, "ab");
  text.append("\xA4x");
  echo.append_token(2, std::nullopt);
  EXPECT_EQ(echo.next(text, {}).at(0).text, "\xC3\xA4x") << "a character begins in the prompt";
  EXPECT_EQ(AnswerStream({.text_before = "ab"}).last({.text = "ab"}).text, "ab");
}

TEST(AnswerStream, TokensComeWithTheLastOfTheirText) {
  AnswerText text({"STOP"});
  AnswerStream stream({.lists_tokens = true, .prompt_tokens = 2});
  std::vector<llm::ScoredToken> tokens = {scored(1), scored(2)};
  EXPECT_EQ(stream.next(text, tokens).at(0).tokens.size(), 2U) << "the prompt's";
  text.append("ab S");
  stream.append_token(4, std::nullopt);
  EXPECT_TRUE(stream.next(text, tokens).empty()) << "it has no scores yet";
  tokens.push_back(scored(3));
  const llm::Delta half = stream.next(text, tokens).at(0);
  EXPECT_EQ(half.text, "ab ");
  EXPECT_TRUE(half.tokens.empty()) << "some of its text is held back";
  text.append("o");
  stream.append_token(5, std::nullopt);
  tokens.push_back(scored(4));
  const llm::Delta rest = stream.next(text, tokens).at(0);
  EXPECT_EQ(rest.text, "So");
  EXPECT_EQ(rest.tokens, (std::vector{scored(3), scored(4)}));
}

TEST(AnswerStream, WhatIsSaidBehindACallComesBehindIt) {
  const auto tools = std::make_shared<const chat::ToolContext>(chat::ToolContext{
      .syntax = chat::generic_tool_syntax(),
      .tools = chat::ToolTable(
          boost::json::parse(R"([{"type": "function", "function": {"name": "now"}}])")
              .as_array())});
  const std::string_view call = R"(<tool_call>{"name": "now", "arguments": {}}</tool_call>)";
  AnswerText text({});
  AnswerStream stream({.choice = 1, .tools = tools});
  text.append(fmt::format("a {0} b {0}", call));
  stream.append_token(text.bytes().size(), std::nullopt);
  const std::vector<llm::Delta> deltas = stream.next(text, {});
  ASSERT_EQ(deltas.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(deltas[i].choice, 1);
    EXPECT_EQ(deltas[i].text, i == 0 ? "a" : "  b");
    ASSERT_EQ(deltas[i].tool_calls.size(), 1U);
    EXPECT_EQ(deltas[i].tool_calls[0].index, static_cast<int32_t>(i));
  }
}

TEST(AnswerStream, OfAGuidedAnswerNothingIsToldBeforeItIsKnownWhatItIs) {
  const chat::ReasoningFormat think = chat::recognise_reasoning("<think></think>");
  AnswerText text({});
  AnswerStream stream({.reasoning = think, .guided = true});
  const auto said = [&](std::string_view bytes, std::optional<size_t> content_begin) {
    text.append(bytes);
    stream.append_token(text.bytes().size(), content_begin);
    const auto deltas = stream.next(text, {});
    return deltas.empty() ? "" : deltas[0].reasoning + "|" + deltas[0].text;
  };
  EXPECT_EQ(said("<think", std::nullopt), "");
  EXPECT_EQ(said(">hm", 9), "hm|");
  EXPECT_EQ(said("</think>\n", 18), "");
  EXPECT_EQ(said("{<think>", 18), "|{<think>") << "said, whatever it looks like";
}

// Rows of any kind, against the choice made of the whole text: the deltas joined are a prefix of it
// at every moment, and with the last delta all of it.
TEST(AnswerStream, PiecesJoinedAreTheChoice) {
  const std::vector<chat::ReasoningFormat> formats = {
      {},
      chat::recognise_reasoning("<think></think>"),
      chat::recognise_reasoning("<|channel|>analysis")};
  const std::vector<std::string> parts = {"a",
                                          "b",
                                          " ",
                                          "\n",
                                          "\xC3",
                                          "\xA4",
                                          "\xF0\x9F",
                                          "\x98\x80",
                                          "<think>",
                                          "</think>",
                                          "<th",
                                          "ink>",
                                          "<|channel|>analysis<|mes",
                                          "sage|>",
                                          "<|end|><|start|>x<|channel|>final",
                                          "<|message|>",
                                          "st",
                                          "stop",
                                          "op"};
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const chat::ReasoningFormat& format =
        formats[static_cast<size_t>(random.below(formats.size()))];
    const std::string prompt_end = random.chance(0.3) ? format.open + "\n" : "";
    const bool echoes = format.kind == chat::ReasoningFormat::Kind::kNone && random.chance(0.5);
    const std::string before = echoes ? "pr\xC3" : "";
    const bool lists = random.chance(0.5);
    AnswerText text(random.chance(0.5) ? std::vector<std::string>{"stop"}
                                       : std::vector<std::string>{"\xA4o", "ba"});
    AnswerStream stream({.text_before = before,
                         .lists_tokens = lists,
                         .prompt_tokens = lists && echoes ? size_t{2} : 0,
                         .reasoning = format,
                         .prompt_end = prompt_end});
    std::vector<llm::ScoredToken> tokens;
    if (lists && echoes) tokens = {scored(-1), scored(-2)};
    llm::Delta joined;
    const auto add = [&](const llm::Delta& piece) {
      joined.text += piece.text;
      joined.reasoning += piece.reasoning;
      joined.tokens.insert(joined.tokens.end(), piece.tokens.begin(), piece.tokens.end());
    };
    const auto whole = [&] {
      const chat::SplitAnswer split = chat::split_reasoning(format, prompt_end, text.bytes());
      llm::Choice choice{.text = utf8_repair(before + split.content), .tokens = tokens};
      if (split.reasoning) choice.reasoning = utf8_repair(*split.reasoning);
      return choice;
    };
    bool stopped = false;
    int32_t unscored = 0;
    for (int32_t token = 0; token < 20 && !stopped; ++token) {
      stopped = text.append(parts[static_cast<size_t>(random.below(parts.size()))]);
      stream.append_token(text.bytes().size(), std::nullopt);
      ++unscored;
      while (lists && unscored > 0 && random.chance(0.7)) {
        tokens.push_back(scored(static_cast<int32_t>(tokens.size())));
        --unscored;
      }
      if (random.chance(0.3)) continue;
      for (const llm::Delta& piece : stream.next(text, tokens)) {
        ASSERT_FALSE(piece.text.empty() && piece.reasoning.empty() && piece.tokens.empty());
        ASSERT_EQ(piece.finish_reason, std::nullopt);
        ASSERT_EQ(utf8_repair(piece.text), piece.text);
        add(piece);
      }
      const llm::Choice now = whole();
      ASSERT_TRUE(now.text.starts_with(joined.text)) << now.text << " was told as " << joined.text;
      ASSERT_TRUE(now.reasoning.value_or("").starts_with(joined.reasoning));
    }
    for (; lists && unscored > 0; --unscored)
      tokens.push_back(scored(static_cast<int32_t>(tokens.size())));
    const llm::Choice choice = whole();
    add(stream.last(choice));
    ASSERT_EQ(joined.text, choice.text);
    ASSERT_EQ(joined.reasoning, choice.reasoning.value_or(""));
    ASSERT_EQ(joined.tokens, choice.tokens);
  }
}

}  // namespace
}  // namespace windrow::engine
