#include "engine/structure/answer_guide.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "engine/structure/structure.h"
#include "engine/testing/word_vocabulary.h"

namespace windrow::engine {
namespace {

using testing::WordVocabulary;
using Kind = llm::StructureSpec::Kind;

const chat::ReasoningFormat kThink{
    .kind = chat::ReasoningFormat::Kind::kTags, .open = "<think>", .close = "</think>"};
const chat::ReasoningFormat kHarmony{
    .kind = chat::ReasoningFormat::Kind::kChannels, .open = {}, .close = {}};

class AnswerGuideTest : public ::testing::Test {
 protected:
  explicit AnswerGuideTest(std::vector<std::string> words = {"<think>", "</think>", "</think>\n",
                                                             "</think>yes", "ink>", "<th", "\n\n",
                                                             "yes", "no", "\nyes", "<b", "<p>"})
      : vocabulary_(std::move(words)) {}

  AnswerGuide guide(std::string prompt, llm::StructureSpec spec,
                    const chat::ReasoningFormat& format = kThink) const {
    const VocabularyTables tables = make_tables(vocabulary_, format, {});
    const auto structure = make_structure(spec, tables, {});
    EXPECT_TRUE(structure) << structure.error().message;
    return AnswerGuide(
        std::make_shared<const AnswerForm>(AnswerForm{.grammar = (*structure)->grammar,
                                                      .reasoning_masks = tables.reasoning_masks,
                                                      .reasoning = format,
                                                      .prompt_end = std::move(prompt)}));
  }

  AnswerGuide yes_or_no(std::string prompt) const {
    return guide(std::move(prompt), {.kind = Kind::kChoice, .choices = {"yes", "no"}});
  }

  // Takes the tokens one after the other where the mask has them; the first that it has not.
  std::string refused(AnswerGuide& guide, const std::vector<std::string>& texts) const {
    for (const std::string& text : texts) {
      const Token token = token_of(text);
      const bool allowed = guide.mask_within(1'000'000)->allows(token);
      EXPECT_EQ(AnswerGuide(guide).accept(token, text), allowed) << text;
      if (!allowed) return text;
      guide.accept(token, text);
      text_ += text;
    }
    return "";
  }

  Token token_of(const std::string& text) const {
    return text.size() == 1 ? static_cast<unsigned char>(text[0]) : vocabulary_.word(text);
  }

  bool may_end(AnswerGuide& guide) const {
    return guide.mask_within(1'000'000)->allows(WordVocabulary::kEnd);
  }

  WordVocabulary vocabulary_;
  mutable std::string text_;
};

TEST_F(AnswerGuideTest, AModelMayThinkFirstOrSpeakAtOnce) {
  AnswerGuide thinks = yes_or_no("assistant\n");
  EXPECT_EQ(refused(thinks, {"<think>", "a", "<b", "no", "</think>", "\n\n", "yes"}), "");
  EXPECT_TRUE(thinks.must_end());
  EXPECT_EQ(thinks.split(text_).reasoning, "a<bno");
  EXPECT_EQ(thinks.split(text_).content, "yes");
  AnswerGuide speaks = yes_or_no("assistant\n");
  EXPECT_EQ(refused(speaks, {"n", "o"}), "");
  EXPECT_TRUE(speaks.must_end());
  AnswerGuide wrong = yes_or_no("assistant\n");
  EXPECT_EQ(refused(wrong, {"a"}), "a");
  EXPECT_EQ(refused(wrong, {"<b"}), "<b");
  EXPECT_EQ(refused(wrong, {"\n\n"}), "\n\n");
}

TEST_F(AnswerGuideTest, TheMarksMayComeInPieces) {
  AnswerGuide guide = yes_or_no("assistant\n");
  EXPECT_EQ(refused(guide, {"<th", "ink>", "x", "<", "/", "t", "h", "ink>", "\n", "no"}), "");
  EXPECT_TRUE(guide.must_end());
  AnswerGuide half = yes_or_no("assistant\n");
  EXPECT_EQ(refused(half, {"<th", "yes"}), "yes") << "only the mark can go on from here";
}

TEST_F(AnswerGuideTest, ThoughtsAreFreeButDoNotEndTheAnswer) {
  AnswerGuide guide = yes_or_no("assistant\n<think>\n");
  EXPECT_FALSE(may_end(guide));
  EXPECT_FALSE(guide.can_end());
  EXPECT_EQ(refused(guide, {"yes", "\n\n", "<think>", "</think>yes"}), "</think>yes")
      << "what is said begins with a token of its own";
  EXPECT_EQ(refused(guide, {"</think>\n"}), "");
  EXPECT_FALSE(may_end(guide));
}

TEST_F(AnswerGuideTest, LineBreaksBehindThoughtsAreFewAndNotSaid) {
  AnswerGuide guide = yes_or_no("<think>");
  EXPECT_EQ(refused(guide, {"</think>", "\nyes"}), "\nyes");
  EXPECT_EQ(refused(guide, {"\n\n", "\n\n", "\n\n", "\n", "\n", "\n"}), "\n");
  EXPECT_EQ(refused(guide, {"yes"}), "");
  // Line breaks of a structure cannot be distinguished from these, so it cannot begin with one.
  AnswerGuide broken = this->guide("<think>", {.kind = Kind::kRegex, .text = "\\n*no"});
  EXPECT_EQ(refused(broken, {"</think>", "\n", "n", "o"}), "");
  EXPECT_EQ(broken.split("</think>\nno").content, "no");
}

TEST_F(AnswerGuideTest, WhatLooksLikeTheMarkMayBeSaid) {
  AnswerGuide guide =
      this->guide("assistant\n", {.kind = Kind::kChoice, .choices = {"<p>", "<thin air>", "<"}});
  AnswerGuide thinks = guide;
  EXPECT_EQ(refused(guide, {"<th", "i", "n", " ", "a", "i", "r", ">"}), "");
  EXPECT_TRUE(guide.must_end());
  EXPECT_EQ(guide.split("<thin air>").content, "<thin air>");
  EXPECT_EQ(refused(thinks, {"<th", "ink>", "</think>", "<p>"}), "");
  EXPECT_TRUE(thinks.must_end());
  AnswerGuide angle = this->guide("assistant\n", {.kind = Kind::kChoice, .choices = {"<p>", "<"}});
  EXPECT_EQ(refused(angle, {"<"}), "");
  EXPECT_TRUE(angle.can_end());
  EXPECT_TRUE(may_end(angle));
  EXPECT_FALSE(angle.must_end()) << "it may still go on to think";
}

TEST_F(AnswerGuideTest, NothingIsForcedWhileTheModelMayThink) {
  const llm::StructureSpec only{.kind = Kind::kChoice, .choices = {"yes"}};
  EXPECT_EQ(guide("assistant\n", only).forced_text(100), "");
  EXPECT_EQ(guide("<think>", only).forced_text(100), "");
  AnswerGuide closed = guide("<think></think>", only);
  EXPECT_EQ(closed.forced_text(100), "yes");
  EXPECT_TRUE(closed.ends_behind("yes"));
}

TEST_F(AnswerGuideTest, AForkGoesOnByItself) {
  AnswerGuide guide = yes_or_no("<think></think>");
  AnswerGuide fork = guide;
  EXPECT_EQ(refused(guide, {"yes"}), "");
  EXPECT_TRUE(guide.must_end());
  EXPECT_FALSE(fork.must_end());
  EXPECT_EQ(refused(fork, {"no"}), "");
}

TEST_F(AnswerGuideTest, ThoughtsAreClosedWhenTheyHaveHadTheirTokens) {
  const AnswerGuide any = yes_or_no("assistant\n<think>\n");
  AnswerForm form = any.form();
  form.thought_tokens_max = 2;
  AnswerGuide guide(std::make_shared<const AnswerForm>(form));
  EXPECT_EQ(refused(guide, {"a"}), "");
  EXPECT_EQ(guide.closing_text(), "");
  EXPECT_EQ(refused(guide, {"b"}), "");
  EXPECT_EQ(guide.closing_text(), "</think>");
  EXPECT_EQ(refused(guide, {"</think>"}), "");
  EXPECT_EQ(guide.closing_text(), "");
  EXPECT_EQ(refused(guide, {"yes"}), "");
  EXPECT_TRUE(guide.must_end());

  form.thought_tokens_max = 0;
  EXPECT_EQ(AnswerGuide(std::make_shared<const AnswerForm>(form)).closing_text(), "</think>");
  form.prompt_end = "assistant\n";
  EXPECT_EQ(AnswerGuide(std::make_shared<const AnswerForm>(form)).closing_text(), "")
      << "nothing is thought yet";
}

class CrossingTest : public AnswerGuideTest {
 protected:
  CrossingTest()
      : AnswerGuideTest({"{\"", "\":", "\":\"",  "\",\"",  "\"}",  "e\":", "me",     "name",
                         "ye",  "yes", "s\"",    "s\",\"", "\":1", "10",   "1}",     "\":10}",
                         ",\"", "ag",  "age\":", "},{",    "}]",   "}\n",  "}]\n\n", "ge\r\n"}) {}

  // Every token tried on a matcher of its own.
  bool crosses(const AnswerGuide& guide, const std::string& said, std::string_view text,
               size_t at) const {
    const std::string_view rest = text.substr(at);
    for (Token token = 0; token < vocabulary_.size(); ++token) {
      std::string bytes;
      vocabulary_.append_bytes(token, bytes);
      if (bytes.size() <= rest.size() || !bytes.starts_with(rest)) continue;
      grammar::Matcher matcher(guide.form().grammar);
      EXPECT_TRUE(matcher.accept_bytes(said + std::string(text.substr(0, at))));
      if (matcher.accept(token)) return true;
    }
    return false;
  }
};

TEST_F(CrossingTest, ATokenMayReachBeyondAForcedTextWhereTheMaskHasIt) {
  const std::vector<llm::StructureSpec> specs = {
      {.kind = Kind::kJsonSchema,
       .text = R"({"type":"object","properties":{"name":{"enum":["yes","yet","me"]},)"
               R"("age":{"type":"integer","minimum":1,"maximum":10}},)"
               R"("required":["name","age"],"additionalProperties":false})"},
      {.kind = Kind::kJsonSchema,
       .text = R"({"type":"array","minItems":1,"maxItems":3,"items":{"type":"object",)"
               R"("properties":{"age":{"enum":[1,10]}},"required":["age"],)"
               R"("additionalProperties":false}})"},
      {.kind = Kind::kRegex, .text = "name(s|me){1,3}age"}};
  int asked = 0;
  int crossing = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    AnswerGuide guide =
        this->guide("<think></think>", specs[static_cast<size_t>(random.below(specs.size()))]);
    std::string said;
    while (!guide.must_end()) {
      const std::string text = guide.forced_text(64);
      for (size_t at = 0; at < text.size(); ++at) {
        const bool may = guide.may_cross_end(text, at);
        ASSERT_EQ(may, crosses(guide, said, text, at)) << said << " | " << text << " from " << at;
        ++asked;
        if (may) ++crossing;
      }
      for (const char byte : text)
        ASSERT_TRUE(guide.accept(static_cast<unsigned char>(byte), std::string(1, byte)));
      said += text;
      if (guide.must_end()) break;
      const auto mask = guide.mask_within(1'000'000);
      std::vector<Token> allowed;
      for (Token token = 0; token < vocabulary_.size(); ++token) {
        if (mask->allows(token) && token != WordVocabulary::kEnd) allowed.push_back(token);
      }
      const Token token = allowed.at(static_cast<size_t>(random.below(allowed.size())));
      std::string bytes;
      vocabulary_.append_bytes(token, bytes);
      ASSERT_TRUE(guide.accept(token, bytes));
      said += bytes;
    }
  }
  EXPECT_GT(asked, 500);
  EXPECT_GT(crossing, 20);
}

class HarmonyGuideTest : public AnswerGuideTest {
 protected:
  HarmonyGuideTest()
      : AnswerGuideTest({"<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|constrain|>",
                         "<|call|>", "analysis", "final", "assistant", "json", "yes", "no"}) {}
};

TEST_F(HarmonyGuideTest, OnlyWhatIsSaidHasAStructure) {
  const llm::StructureSpec spec{.kind = Kind::kChoice, .choices = {"yes", "no"}};
  AnswerGuide guide = this->guide("<|start|>assistant", spec, kHarmony);
  EXPECT_EQ(refused(guide, {"yes"}), "yes") << "a message has a header";
  EXPECT_EQ(refused(guide, {"<|channel|>", "analysis", "<|message|>", "json", "<|end|>",
                            "<|start|>", "assistant", "<|channel|>", "final", " ", "<|constrain|>",
                            "json", "<|message|>", "final"}),
            "final");
  EXPECT_EQ(refused(guide, {"yes"}), "");
  EXPECT_TRUE(guide.must_end());
  EXPECT_EQ(guide.split(text_).reasoning, "json");
  EXPECT_EQ(guide.split(text_).content, "yes");
  AnswerForm form = guide.form();
  form.thought_tokens_max = 1;
  AnswerGuide bounded(std::make_shared<const AnswerForm>(form));
  EXPECT_EQ(refused(bounded, {"<|channel|>", "analysis", "<|message|>"}), "");
  EXPECT_EQ(bounded.closing_text(), "");
  EXPECT_EQ(refused(bounded, {"json"}), "");
  EXPECT_EQ(bounded.closing_text(), "<|end|><|start|>assistant<|channel|>final<|message|>");
  EXPECT_EQ(refused(bounded, {"<|end|>", "<|start|>", "assistant", "<|channel|>", "final",
                              "<|message|>", "yes"}),
            "");
  EXPECT_TRUE(bounded.must_end());
  AnswerGuide header = this->guide("<|start|>assistant", spec, kHarmony);
  EXPECT_EQ(refused(header, {"<|channel|>", "final", "<|end|>"}), "<|end|>");
  const std::vector<std::string> long_header(100, "x");
  EXPECT_EQ(refused(header, long_header), "x") << "a header ends some time";
  EXPECT_EQ(refused(header, {"<|message|>", "no"}), "");
}

}  // namespace
}  // namespace windrow::engine
