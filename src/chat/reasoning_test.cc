#include "chat/reasoning.h"

#include <gtest/gtest.h>

namespace windrow::chat {
namespace {

const ReasoningFormat kThink = recognise_reasoning("{{ '<think>' }}..{{ '</think>' }}");
const ReasoningFormat kHarmony = recognise_reasoning("<|channel|>analysis<|message|>");

SplitAnswer split(const ReasoningFormat& format, std::string_view answer,
                  std::string_view prompt = "<|im_start|>assistant\n") {
  return split_reasoning(format, prompt, answer);
}

SplitAnswer both(std::string_view reasoning, std::string_view content) {
  return {.reasoning = std::string(reasoning), .content = std::string(content)};
}

SplitAnswer only(std::string_view content) {
  return {.reasoning = std::nullopt, .content = std::string(content)};
}

TEST(RecogniseReasoning, ByTheMarksInTheTemplate) {
  EXPECT_EQ(recognise_reasoning("{{ message.content }}").kind, ReasoningFormat::Kind::kNone);
  EXPECT_EQ(kThink.kind, ReasoningFormat::Kind::kTags);
  EXPECT_EQ(kThink.open, "<think>");
  EXPECT_EQ(recognise_reasoning("content.split('</think>')[-1]").open, "<think>")
      << "a template may only look for the end";
  EXPECT_EQ(recognise_reasoning("[THINK]{{ t }}[/THINK]").close, "[/THINK]");
  EXPECT_EQ(kHarmony.kind, ReasoningFormat::Kind::kChannels);
  EXPECT_EQ(kThink.marks(), (std::vector<std::string>{"<think>", "</think>"}));
  EXPECT_EQ(kHarmony.marks().size(), 7U);
  EXPECT_EQ(ReasoningFormat{}.marks().size(), 0U);
}

TEST(SplitReasoning, AModelThatDoesNotThinkSaysEverything) {
  EXPECT_EQ(split({}, "a <think> b </think> c"), only("a <think> b </think> c"));
}

TEST(SplitReasoning, ThoughtsBetweenTags) {
  EXPECT_EQ(split(kThink, "<think>\nhm\nyes\n</think>\n\nIt is 4."), both("hm\nyes", "It is 4."));
  EXPECT_EQ(split(kThink, "\n<think>hm</think>4"), both("hm", "4"));
  EXPECT_EQ(split(kThink, "It is 4."), only("It is 4."));
}

TEST(SplitReasoning, AThoughtOfNothingIsNone) {
  EXPECT_EQ(split(kThink, "<think>\n\n</think>\n\nIt is 4."), only("It is 4."));
}

TEST(SplitReasoning, TheTemplateMayHaveOpenedTheThoughts) {
  const std::string_view prompt = "<|im_start|>assistant\n<think>\n";
  EXPECT_EQ(split(kThink, "hm</think>4", prompt), both("hm", "4"));
  EXPECT_EQ(split(kThink, "hm, cut sho", prompt), both("hm, cut sho", ""));
  EXPECT_EQ(split(kThink, "<think>hm</think>4", prompt), both("hm", "4"))
      << "the model opens them again";
}

TEST(SplitReasoning, TheTemplateMayHaveClosedThem) {
  EXPECT_EQ(split(kThink, "It is 4.", "assistant\n<think>\n\n</think>\n\n"), only("It is 4."));
  EXPECT_EQ(split(kThink, "Use `</think>` to close.", "assistant\n<think>\n\n</think>\n\n"),
            only("Use `</think>` to close."))
      << "a mark that is said";
  EXPECT_EQ(split(kThink, "<think>a</think>b", "Assistant:</think>"), only("<think>a</think>b"));
}

TEST(SplitReasoning, AnAnswerCutWhileThinkingHasNoContent) {
  EXPECT_EQ(split(kThink, "<think>\nhm, cut"), both("hm, cut", ""));
  EXPECT_EQ(split(kThink, "<think>"), only(""));
}

// A stream has sent "hm" as content and cannot make it reasoning later.
TEST(SplitReasoning, WithoutAnOpeningTagNothingIsThought) {
  EXPECT_EQ(split(kThink, "hm</think>4"), only("hm</think>4"));
}

TEST(SplitReasoning, WhatIsIndentedInTheAnswerStaysSo) {
  EXPECT_EQ(split(kThink, "<think>x</think>\n\n  - a\n"), both("x", "  - a\n"));
}

TEST(SplitReasoning, ChannelsOfHarmony) {
  EXPECT_EQ(split(kHarmony,
                  "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final"
                  "<|message|>It is 4."),
            both("hm", "It is 4."));
  EXPECT_EQ(split(kHarmony, "<|channel|>final<|message|>It is 4.<|return|>"), only("It is 4."));
  EXPECT_EQ(split(kHarmony, "<|channel|>analysis<|message|>hm, cut"), both("hm, cut", ""));
  EXPECT_EQ(split(kHarmony, "<|channel|>analysis<|message|>hm<|end|><|start|>assist"),
            both("hm", ""))
      << "cut within a header";
  EXPECT_EQ(split(kHarmony, "no format at all"), only("no format at all"));
}

TEST(SplitReasoning, WhatIsSaidOnTheCommentaryChannelIsContent) {
  EXPECT_EQ(split(kHarmony,
                  "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>analysis"
                  "<|message|>b<|end|><|start|>assistant<|channel|>commentary<|message|>c<|end|>"
                  "<|start|>assistant<|channel|>final<|message|>d"),
            both("a\nb", "c\nd"));
}

TEST(SplitReasoning, CallsOfToolsAreSaidInOneWay) {
  for (const char* header :
       {"<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json",
        "<|start|>assistant to=functions.get_weather<|channel|>commentary json",
        "<|start|>assistant<|channel|>analysis to=functions.get_weather code"}) {
    EXPECT_EQ(split(kHarmony, std::string("<|channel|>analysis<|message|>hm<|end|>") + header +
                                  "<|message|>{\"city\":\"Bern\"}<|call|>"),
              both("hm",
                   "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
                   "{\"city\":\"Bern\"}<|call|>"))
        << header;
  }
  EXPECT_EQ(split(kHarmony, "<|channel|>commentary to=functions.now<|message|>{"),
            only("<|channel|>commentary to=functions.now <|constrain|>json<|message|>{"))
      << "it has not ended";
}

TEST(ThoughtsIn, AreThePartsOfTheAnswerThatWereThought) {
  using Parts = std::vector<std::string_view>;
  const std::string_view tags = "<think>\n hm hm \n</think>\n\nhm";
  const Parts parts = reasoning_parts(kThink, "", tags);
  EXPECT_EQ(parts, Parts{"hm hm"});
  EXPECT_EQ(parts[0].data(), tags.data() + 9) << "where it stands, not where it is said again";
  EXPECT_EQ(reasoning_parts(kThink, "", "<think>\n\n</think>hm"), Parts{});
  EXPECT_EQ(reasoning_parts(kThink, "", "hm"), Parts{});
  EXPECT_EQ(reasoning_parts(kHarmony, "",
                            "<|channel|>analysis<|message|> a <|end|><|start|>assistant<|channel|>"
                            "commentary<|message|>c<|end|><|start|>assistant<|channel|>analysis"
                            "<|message|> b <|end|>"),
            (Parts{"a ", " b"}));
}

TEST(SplitReasoning, ACallOfAnotherToolKeepsItsHeader) {
  EXPECT_EQ(split(kHarmony, "<|channel|>analysis to=python<|message|>1+1<|call|>"),
            only("<|channel|>analysis to=python<|message|>1+1"))
      << "no thought, though it is on their channel";
}

}  // namespace
}  // namespace windrow::chat
