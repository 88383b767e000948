#include "session/samples/mismatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <vector>

#include "llm/testing/chatml_tokenizer.h"
#include "session/testing/turn_builder.h"

namespace windrow::session {
namespace {

using llm::testing::ChatmlTokenizer;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TurnBuilder;

const ChatmlTokenizer kTokenizer;

llm::Chat chat_of(std::string_view messages) {
  llm::Chat chat;
  chat.messages = boost::json::parse(messages).as_array();
  return chat;
}

std::vector<Mismatch> compare(std::string_view expected, std::string_view actual,
                              std::vector<AnswerSpan> sampled = {}) {
  return compare_tokens(kTokenizer.tokens_of(expected), kTokenizer.tokens_of(actual), sampled,
                        kTokenizer);
}

// A conversation of these turns, as a session has it: each prompt is what is appended.
TurnPath conversation(std::vector<std::pair<std::string, std::vector<int32_t>>> turns) {
  std::vector<TurnPtr> path;
  size_t tokens = 0;
  for (auto& [prompt, sampled] : turns) {
    TurnBuilder turn{.id = path.size() + 1, .parent = path.size(), .kept = tokens};
    turn.prompt = kTokenizer.tokens_of(prompt);
    turn.sampled = std::move(sampled);
    tokens += turn.prompt.size() + turn.sampled.size();
    path.push_back(turn.build());
  }
  return TurnPath(std::move(path));
}

constexpr std::string_view kMessages = R"([{"role":"user","content":"q"},
    {"role":"assistant","content":"buzz"},{"role":"tool","content":"r"},
    {"role":"assistant","content":"end"}])";

TEST(Mismatch, ASessionThatIsWhatTheTemplateGivesHasNone) {
  const TurnPath path = conversation(
      {{"<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n",
        kTokenizer.tokens_of("buzz<|im_end|>")},
       {"\n<|im_start|>tool\nr<|im_end|>\n<|im_start|>assistant\n", kTokenizer.tokens_of("end")}});
  EXPECT_THAT(find_mismatches(path, chat_of(kMessages), kTokenizer).value(), IsEmpty());
}

TEST(Mismatch, WhatTheModelTokenisedOtherwiseIsNone) {
  const TurnPath path = conversation({{"<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n",
                                       {'b', 'u', 'z', 'z', ChatmlTokenizer::kEnd}},
                                      {"\n<|im_start|>tool\nr<|im_end|>\n<|im_start|>assistant\n",
                                       kTokenizer.tokens_of("end<|im_end|>")}});
  EXPECT_THAT(find_mismatches(path, chat_of(kMessages), kTokenizer).value(), IsEmpty());
}

TEST(Mismatch, TextThatTheModelSampledIsTheAssistants) {
  const TurnPath path = conversation(
      {{"<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n",
        kTokenizer.tokens_of("thoughts buzz<|im_end|>")},
       {"\n<|im_start|>tool\nr<|im_end|>\n<|im_start|>assistant\n", kTokenizer.tokens_of("end")}});
  EXPECT_THAT(find_mismatches(path, chat_of(kMessages), kTokenizer).value(),
              ElementsAre(Mismatch{.kind = MismatchKind::kNonAssistantText,
                                   .segment = 1,
                                   .expected = "user\nq",
                                   .actual = "user\nQ",
                                   .detail = ""},
                          Mismatch{.kind = MismatchKind::kAssistantText,
                                   .segment = 5,
                                   .expected = "assistant\nbuzz",
                                   .actual = "assistant\nthoughts buzz",
                                   .detail = ""}));
}

TEST(Mismatch, AnAssistantsMessageThatTheClientWroteIsNotSampled) {
  const std::vector<Mismatch> found =
      compare("<|im_start|>assistant\na<|im_end|>\n<|im_start|>assistant\nb",
              "<|im_start|>assistant\nA<|im_end|>\n<|im_start|>assistant\nB", {{25, 26}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].kind, MismatchKind::kNonAssistantText);
  EXPECT_EQ(found[1].kind, MismatchKind::kAssistantText);
}

TEST(Mismatch, AMissingMessageIsADifferenceOfStructure) {
  const std::vector<Mismatch> found =
      compare("<|im_start|>user\nq<|im_end|>\n<|im_start|>tool\nr", "<|im_start|>user\nq");
  EXPECT_THAT(found,
              ElementsAre(Mismatch{.kind = MismatchKind::kSpecialTokenCount,
                                   .segment = -1,
                                   .expected = "[<|im_start|>] (6 tokens) [<|im_end|>] (1 tokens) "
                                               "[<|im_start|>] (6 tokens)",
                                   .actual = "[<|im_start|>] (6 tokens)",
                                   .detail = "segment count differs: expected 6, got 2"}));
}

TEST(Mismatch, TextInPlaceOfAControlTokenIsADifferenceOfStructure) {
  const std::vector<Mismatch> found =
      compare("<|im_start|>a<|im_end|>b", "c<|im_end|>d<|im_end|>e");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, MismatchKind::kSpecialTokenCount);

  const std::vector<Mismatch> pattern = compare("<|im_end|>a", "a<|im_end|>b<|im_end|>");
  ASSERT_EQ(pattern.size(), 1U);
  EXPECT_EQ(pattern[0].detail, "segment count differs: expected 2, got 3");

  EXPECT_EQ(compare("<|im_end|><|im_end|>a", "a<|im_end|>b").at(0).detail,
            "segment structure (special/content pattern) differs");
}

TEST(Mismatch, AnotherControlTokenIsOfAnotherType) {
  EXPECT_THAT(compare("a<|im_end|>b<|im_start|>c", "a<|endoftext|>b<|im_start|>c"),
              ElementsAre(Mismatch{.kind = MismatchKind::kSpecialTokenType,
                                   .segment = 1,
                                   .expected = "<|im_end|>",
                                   .actual = "<|endoftext|>",
                                   .detail = ""}));
}

TEST(Mismatch, WhatIsBehindTheLastTextDoesNotMatter) {
  for (const std::string_view end : {"", "<|im_end|>", "<|im_end|>\n", "<|endoftext|>", " \n"})
    EXPECT_THAT(compare("<|im_start|>assistant\na<|im_end|>\n",
                        "<|im_start|>assistant\na" + std::string(end)),
                IsEmpty());
  // In the middle it does.
  EXPECT_THAT(compare("a<|im_end|>\nb", "a\nb"), ::testing::SizeIs(1));
  EXPECT_THAT(compare("a <|im_end|>\nb", "a<|im_end|>\nb"), ::testing::SizeIs(1));
}

TEST(Mismatch, NothingIsToldOfAConversationThatCannotBeRendered) {
  EXPECT_EQ(find_mismatches(TurnPath(), chat_of(kMessages), kTokenizer), std::nullopt);
  EXPECT_EQ(find_mismatches(conversation({{"q", {1}}}),
                            chat_of(R"([{"role":"developer","content":"q"}])"), kTokenizer),
            std::nullopt);
}

TEST(Mismatch, IsToldAsTheReferenceServerDoes) {
  const std::vector<Mismatch> found = {{.kind = MismatchKind::kAssistantText,
                                        .segment = 3,
                                        .expected = "e",
                                        .actual = "a",
                                        .detail = "d"},
                                       {.kind = MismatchKind::kSpecialTokenType}};
  EXPECT_EQ(boost::json::serialize(to_json(found)),
            R"([{"type":"assistant_text","segment_index":3,"expected_text":"e",)"
            R"("actual_text":"a","detail":"d"},{"type":"special_token_type","segment_index":-1,)"
            R"("expected_text":"","actual_text":"","detail":""}])");
}

}  // namespace
}  // namespace windrow::session
