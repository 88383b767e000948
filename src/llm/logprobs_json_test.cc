#include "llm/logprobs_json.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace windrow::llm {
namespace {

using Offsets = std::vector<int32_t>;

Offsets offsets(const std::string& text, const std::vector<std::string>& tokens,
                int32_t text_begin = 0) {
  Choice choice{.text = text, .text_begin = text_begin};
  for (const std::string& token : tokens)
    choice.tokens.push_back({.chosen = {.token = 1, .bytes = token, .logprob = -1}});
  return text_offsets(choice);
}

TEST(TextOffsets, TokensFollowEachOther) {
  EXPECT_EQ(offsets("one two", {"one", " two"}), (Offsets{0, 3}));
  EXPECT_EQ(offsets("", {}), Offsets{});
}

// The beginning of a real answer of OpenAI's to a prompt of 5 characters.
TEST(TextOffsets, AreCountedInCharactersFromTheStartOfThePrompt) {
  EXPECT_EQ(offsets("，适合出门旅行",
                    {"，", "\xE9\x80", "\x82", "合", "出", "门", "\xE6\x97", "\x85", "行"}, 5),
            (Offsets{5, 6, 6, 7, 8, 9, 10, 10, 11}));
}

TEST(TextOffsets, WhatIsNotInTheTextTakesNoRoom) {
  EXPECT_EQ(offsets("ab", {"", "a", "", "b", ""}), (Offsets{0, 0, 1, 1, 2}));  // control tokens
  EXPECT_EQ(offsets("ab", {"a", "b###", "#"}), (Offsets{0, 1, 1}));            // cut at a stop text
}

TEST(TextOffsets, ATextMayLackTheBlankOfItsFirstToken) {
  EXPECT_EQ(offsets("Once upon", {" Once", " upon"}), (Offsets{0, 4}));
}

TEST(TextOffsets, IllFormedBytesStandAsOneReplacement) {
  EXPECT_EQ(offsets("a\uFFFDb", {"a", "\xF0\x9F", "b"}), (Offsets{0, 1, 2}));
  EXPECT_EQ(offsets("a\uFFFDbc", {"a",
                                  "\xF0\x9F"
                                  "b",
                                  "c"}),
            (Offsets{0, 1, 3}));
  EXPECT_EQ(offsets("a\uFFFDbc", {"a", "\xF0", "\x9F", "b", "c"}), (Offsets{0, 1, 2, 2, 3}));
}

// Each token with the text it made, as an engine tells them.
TEST(TextOffsets, AreTheSameInPieces) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> pieces = {
      {"，", {"，"}}, {"", {}}, {"适", {"\xE9\x80", "\x82"}}, {" a", {" a"}}, {"b", {"b###", "#"}}};
  std::string text;
  std::vector<std::string> tokens;
  Offsets streamed;
  TextOffsets stream(5);
  for (const auto& [said, listed] : pieces) {
    text += said;
    stream.add_text(said);
    for (const std::string& token : listed) {
      tokens.push_back(token);
      streamed.push_back(stream.next(token));
    }
  }
  EXPECT_EQ(streamed, offsets(text, tokens, 5));
}

}  // namespace
}  // namespace windrow::llm
