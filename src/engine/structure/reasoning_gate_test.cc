#include "engine/structure/reasoning_gate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"

namespace windrow::engine {
namespace {

using Part = ReasoningGate::Part;
using Kind = chat::ReasoningFormat::Kind;

const chat::ReasoningFormat kThink{.kind = Kind::kTags, .open = "<think>", .close = "</think>"};
const chat::ReasoningFormat kHarmony{.kind = Kind::kChannels, .open = {}, .close = {}};

// The answer in pieces; what of it was said.
struct Said {
  std::string text;
  size_t begin = 0;
  Part part = Part::kSpeech;
};

Said take(ReasoningGate gate, const std::vector<std::string>& pieces) {
  Said said;
  std::string all;
  for (const std::string& piece : pieces) {
    all += piece;
    gate.take(piece);
  }
  said.part = gate.part();
  said.begin = gate.speech_begin();
  if (said.part == Part::kSpeech) said.text = all.substr(said.begin);
  return said;
}

TEST(ReasoningGate, WithoutThoughtsAllIsSaid) {
  ReasoningGate gate;
  EXPECT_EQ(gate.take("<think>"), "<think>");
  EXPECT_EQ(gate.part(), Part::kSpeech);
  EXPECT_EQ(ReasoningGate({}, "<think>").part(), Part::kSpeech);
}

TEST(ReasoningGate, ThePromptSaysWhatComesFirst) {
  EXPECT_EQ(ReasoningGate(kThink, "assistant\n").part(), Part::kOpening);
  EXPECT_EQ(ReasoningGate(kThink, "assistant\n<think>\n").part(), Part::kReasoning);
  EXPECT_EQ(ReasoningGate(kThink, "<think>\n\n</think>\n\n").part(), Part::kSpeech);
  EXPECT_EQ(ReasoningGate(kHarmony, "<|end|><|start|>assistant").part(), Part::kHeader);
  EXPECT_EQ(ReasoningGate(kHarmony, "<|start|>assistant<|channel|>analysis<|message|>So").part(),
            Part::kReasoning);
  EXPECT_EQ(ReasoningGate(kHarmony, "<|start|>assistant<|channel|>final<|message|>").part(),
            Part::kSpeech);
}

TEST(ReasoningGate, TagsInAnyPieces) {
  const ReasoningGate gate(kThink, "assistant\n");
  EXPECT_EQ(take(gate, {"<think>", "a", "</think>", "\n\n", "{}"}).text, "{}");
  EXPECT_EQ(take(gate, {"<th", "ink>a</", "think>\n\n{", "}"}).text, "{}");
  EXPECT_EQ(take(gate, {"<think><</thi</think>{}"}).text, "{}");
  EXPECT_EQ(take(gate, {"<think></think>", "\n", " {}\n"}).text, " {}\n") << "blanks are said";
  EXPECT_EQ(take(gate, {"{\"a\":\"<think></think>\"}"}).text, "{\"a\":\"<think></think>\"}");
  EXPECT_EQ(take(gate, {"<", "b>", "</think>"}).text, "<b></think>") << "it was no mark";
  EXPECT_EQ(take(gate, {"<think>", "thoughts </thin"}).part, Part::kReasoning);
  EXPECT_EQ(take(gate, {"<th"}).part, Part::kOpening);
  EXPECT_EQ(take(gate, {"<think>", "a", "</think>\n"}).part, Part::kBetween);
  EXPECT_EQ(take(ReasoningGate(kThink, "<think>"), {"a</think>", "b"}).text, "b");
}

TEST(ReasoningGate, MessagesOnChannels) {
  const ReasoningGate gate(kHarmony, "<|start|>assistant");
  EXPECT_EQ(take(gate, {"<|channel|>", "final", "<|message|>", "{}"}).text, "{}");
  EXPECT_EQ(take(gate, {"<|channel|>analysis<|message|>hm<|end|>", "<|start|>", "assistant",
                        "<|channel|>final <|constrain|>json<|message|>{}"})
                .text,
            "{}");
  EXPECT_EQ(take(gate, {"<|channel|>analysis<|message|>hm"}).part, Part::kReasoning);
  EXPECT_EQ(take(gate, {"<|channel|>analysis<|message|>hm<|end|>"}).part, Part::kEnded);
  EXPECT_EQ(take(gate, {"<|channel|>fin"}).part, Part::kHeader);
}

// Where it speaks, the text is divided as it is when the answer is whole.
TEST(ReasoningGate, AgreesWithTheSplitOfTheWholeAnswer) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const bool opened = random.chance(0.5);
    const std::string prompt = opened ? "assistant\n<think>\n" : "assistant\n";
    std::string thoughts;
    for (int64_t i = random.between(0, 12); i > 0; --i)
      thoughts += std::string("</thinkx> \n").at(static_cast<size_t>(random.below(11)));
    if (thoughts.find("</think>") != std::string::npos) continue;
    const std::string answer = (opened ? "" : "<think>") + thoughts + "</think>" +
                               std::string(static_cast<size_t>(random.below(3)), '\n') +
                               "{\"a\":1}";
    if (answer.find("</think>") < answer.rfind("</think>")) continue;
    std::vector<std::string> pieces;
    for (size_t at = 0; at < answer.size();) {
      const auto size = static_cast<size_t>(random.between(1, 6));
      pieces.push_back(answer.substr(at, size));
      at += size;
    }
    const Said said = take(ReasoningGate(kThink, prompt), pieces);
    EXPECT_EQ(said.text, chat::split_reasoning(kThink, prompt, answer).content) << answer;
    EXPECT_EQ(chat::split_reasoning(kThink, prompt, answer.substr(0, said.begin)).reasoning,
              chat::split_reasoning(kThink, prompt, answer).reasoning)
        << answer;
  }
}

}  // namespace
}  // namespace windrow::engine
