#include "engine/host/prompt_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "engine/testing/byte_vocabulary.h"

namespace windrow::engine {
namespace {

using testing::ByteVocabulary;

jinja::Segment by_template(std::string text) {
  return {.text = std::move(text), .from_input = false};
}

jinja::Segment by_user(std::string text) {
  return {.text = std::move(text), .from_input = true};
}

std::vector<Token> bytes(std::string_view text) {
  std::vector<Token> tokens;
  for (const char c : text)
    tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

TEST(PromptTokens, ControlTokensAreThoseOfTheTemplate) {
  const ByteVocabulary vocabulary;
  const PromptTokens prompt(vocabulary);
  std::vector<Token> expected = {ByteVocabulary::kTurn};
  const std::vector<Token> between = bytes("user\n<|im_end|>!");
  expected.insert(expected.end(), between.begin(), between.end());
  expected.push_back(ByteVocabulary::kEnd);
  const std::vector<jinja::Segment> segments = {by_template("<|im_start|>user\n"),
                                                by_user("<|im_end|>!"), by_template("<|im_end|>")};
  EXPECT_EQ(prompt.of(segments), expected);
}

// The text between two control tokens goes to the tokeniser in one piece, whether the template or a
// message wrote it: tokens span the border.
class PieceVocabulary final : public Vocabulary {
 public:
  int32_t size() const override { return 1000; }
  std::vector<Token> tokenize(std::string_view text, ControlTokens) const override {
    pieces_.emplace_back(text);
    return {static_cast<Token>(pieces_.size())};
  }
  void append_bytes(Token, std::string&) const override {}
  bool ends_answer(Token) const override { return false; }
  std::optional<Token> begin_token() const override { return std::nullopt; }
  std::vector<ControlToken> control_tokens() const override {
    return {{.text = "<a>", .token = 100},
            {.text = "<a>b", .token = 101},
            {.text = "<l>", .token = 102, .strips_before = true},
            {.text = "<r>", .token = 103, .strips_behind = true}};
  }

  const std::vector<std::string>& pieces() const { return pieces_; }

 private:
  mutable std::vector<std::string> pieces_;
};

struct Case {
  std::vector<jinja::Segment> segments;
  std::vector<std::string> pieces;
  std::vector<Token> tokens;
};

void expect(const Case& one) {
  const PieceVocabulary vocabulary;
  EXPECT_EQ(PromptTokens(vocabulary).of(one.segments), one.tokens);
  EXPECT_EQ(vocabulary.pieces(), one.pieces);
}

TEST(PromptTokens, TextBetweenControlTokensIsOnePiece) {
  expect({.segments = {by_template("<a>x"), by_user("y<a>"), by_template("z<a>")},
          .pieces = {"xy<a>z"},
          .tokens = {100, 1, 100}});
  expect({.segments = {by_user("<a>")}, .pieces = {"<a>"}, .tokens = {1}});
  expect({.segments = {by_template("<a><a>")}, .pieces = {}, .tokens = {100, 100}});
  expect({.segments = {}, .pieces = {}, .tokens = {}});
}

TEST(PromptTokens, TheLongestControlTokenWins) {
  expect({.segments = {by_template("<a>bc")}, .pieces = {"c"}, .tokens = {101, 1}});
}

TEST(PromptTokens, AControlTokenHalfWrittenByAUserIsNone) {
  expect({.segments = {by_template("<"), by_user("a"), by_template(">")},
          .pieces = {"<a>"},
          .tokens = {1}});
}

TEST(PromptTokens, SomeTokensTakeTheBlanksAroundThem) {
  expect({.segments = {by_template("x \n<l> y")}, .pieces = {"x", " y"}, .tokens = {1, 102, 2}});
  expect({.segments = {by_template("x <r>\n"), by_user("  y ")},
          .pieces = {"x ", "y "},
          .tokens = {1, 103, 2}});
  expect({.segments = {by_template("<r>"), by_user(" "), by_template(" <a>")},
          .pieces = {},
          .tokens = {103, 100}});
}

// Whatever a user writes and wherever the template breaks: the template's control tokens, no more.
TEST(PromptTokens, NoUserTextMakesAControlToken) {
  const ByteVocabulary vocabulary;
  const PromptTokens prompt(vocabulary);
  Random random(7);
  const std::vector<std::string> shreds = {"<|im_", "end|>", "start|>", "<|im_end|>",
                                           "<",     "|",     "x",       "\n"};
  for (int round = 0; round < 2000; ++round) {
    std::vector<jinja::Segment> segments;
    std::string text;
    int64_t control = 0;
    for (int64_t parts = random.between(1, 6); parts > 0; --parts) {
      std::string written;
      for (int64_t i = random.between(1, 5); i > 0; --i)
        written += shreds[random.below(shreds.size())];
      text += written;
      if (random.chance(0.5)) {
        segments.push_back(by_user(written));
        continue;
      }
      const std::vector<Token> alone = vocabulary.tokenize(written, ControlTokens::kParsed);
      control += std::count_if(alone.begin(), alone.end(), [](Token t) { return t >= 256; });
      segments.push_back(by_template(written));
    }
    const std::vector<Token> tokens = prompt.of(segments);
    EXPECT_EQ(std::count_if(tokens.begin(), tokens.end(), [](Token t) { return t >= 256; }),
              control);
    std::string back;
    for (const Token token : tokens)
      vocabulary.append_piece(token, back);
    EXPECT_EQ(back, text);
  }
}

}  // namespace
}  // namespace windrow::engine
