#include "engine/structure/call_detector.h"

#include <gtest/gtest.h>

namespace windrow::engine {
namespace {

const chat::ReasoningFormat kThinks = {
    .kind = chat::ReasoningFormat::Kind::kTags, .open = "<think>", .close = "</think>"};

// Tokens: pieces, of which some reach beyond the mark.
const std::vector<std::string> kTexts = {"<call>", "<ca", "ll>", "ll>{", "ll>x", "a<call>{",
                                         "<",      ">",   "a",   "",     ">",    "b>"};

std::shared_ptr<const CallTriggers> marks(bool in_speech = true, std::string before = "") {
  return std::make_shared<const CallTriggers>(
      std::vector<CallTriggers::Trigger>{{.text = "<call>", .next = "{\"", .begun = "<call>"}},
      in_speech, std::move(before), kTexts);
}

std::optional<std::string> rest(CallDetector& gate, std::string_view text) {
  const auto reached = gate.take(text, text);
  return reached ? std::optional(reached->rest) : std::nullopt;
}

TEST(CallDetector, AMarkIsFoundHoweverItIsCut) {
  for (const bool whole : {true, false}) {
    CallDetector gate(marks(), {}, "");
    EXPECT_EQ(rest(gate, "I call <ca"), std::nullopt);
    EXPECT_EQ(rest(gate, "t> and <<c"), std::nullopt);
    EXPECT_EQ(rest(gate, whole ? "all>" : "all>{"), whole ? "" : "{");
  }
}

TEST(CallDetector, AMarkInThoughtsIsNone) {
  CallDetector gate(marks(), kThinks, "");
  EXPECT_EQ(rest(gate, "<thi"), std::nullopt);
  EXPECT_EQ(rest(gate, "nk>so <call> it</th"), std::nullopt);
  EXPECT_EQ(rest(gate, "ink>\n<call"), std::nullopt);
  EXPECT_EQ(rest(gate, ">"), "");

  CallDetector opened(marks(), kThinks, "<think>");
  EXPECT_EQ(rest(opened, "<call>"), std::nullopt);
}

// What might have become the opening mark was said after all.
TEST(CallDetector, WhatTurnsOutToBeSaidCounts) {
  CallDetector gate(marks(), kThinks, "");
  EXPECT_EQ(rest(gate, "<"), std::nullopt);
  EXPECT_EQ(rest(gate, "call>{"), "{");
}

TEST(CallDetector, AMarkOfControlTokensMayBeginInThePrompt) {
  CallDetector gate(marks(false, "x<ca"), kThinks, "<think>");
  EXPECT_EQ(gate.take("shown otherwise", "ll>")->rest, "");
}

TEST(CallDetector, TokensThatGoOnWithWhatIsNoCallMayNotCompleteTheMark) {
  const auto allowed = [](const std::shared_ptr<const grammar::TokenMask>& mask) {
    std::vector<std::string> not_allowed;
    for (size_t i = 0; mask && i < kTexts.size(); ++i) {
      if (!mask->allows(static_cast<int32_t>(i))) not_allowed.push_back(kTexts[i]);
    }
    return not_allowed;
  };
  CallDetector gate(marks(), {}, "");
  EXPECT_EQ(gate.mask(), nullptr);  // "a<call>{" goes on as a call does
  gate.take("<ca", "");
  EXPECT_EQ(allowed(gate.mask()), std::vector<std::string>{"ll>x"});
  gate.take("ll", "");
  EXPECT_EQ(gate.mask(), nullptr);
}

}  // namespace
}  // namespace windrow::engine
