#include "program/context/answer_tokens.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

#include "llm/testing/chatml_tokenizer.h"

namespace windrow::program {
namespace {

using llm::testing::ChatmlTokenizer;

llm::Choice choice_of(std::string_view sampled, std::optional<std::string> stop = std::nullopt) {
  llm::Choice choice;
  choice.token_ids = ChatmlTokenizer().tokens_of(sampled);
  choice.stopped_by = std::move(stop);
  return choice;
}

TEST(AnswerTokens, AreThoseThatWereSampled) {
  const ChatmlTokenizer tokenizer;
  const llm::Choice choice = choice_of("yes<|im_end|>");
  EXPECT_EQ(tokens_said(tokenizer, choice), choice.token_ids);
  EXPECT_EQ(tokens_said_raw(tokenizer, choice), tokenizer.tokens_of("yes"));
}

TEST(AnswerTokens, EndBeforeTheStopText) {
  const ChatmlTokenizer tokenizer;
  EXPECT_EQ(tokens_said(tokenizer, choice_of("one\ntwo\n", "\n")), tokenizer.tokens_of("one\ntwo"));
  EXPECT_EQ(tokens_said(tokenizer, choice_of("one END", " END")), tokenizer.tokens_of("one"));
  EXPECT_TRUE(tokens_said(tokenizer, choice_of("END", "END")).empty());
}

// "zz" is one token, and the stop text begins or ends within it.
TEST(AnswerTokens, AreTokenisedAnewWhereAStopTextBeginsWithinAToken) {
  const ChatmlTokenizer tokenizer;
  EXPECT_EQ(tokens_said(tokenizer, choice_of("azza", "za")), tokenizer.tokens_of("az"));
  EXPECT_EQ(tokens_said(tokenizer, choice_of("azz", "az")), std::vector<int32_t>());
  EXPECT_EQ(tokens_said(tokenizer, choice_of("azz", "z")), tokenizer.tokens_of("a"));
}

TEST(AnswerTokens, KeepWhatDoesNotHaveTheStopText) {
  const ChatmlTokenizer tokenizer;
  const llm::Choice choice = choice_of("abc", "x");
  EXPECT_EQ(tokens_said(tokenizer, choice), choice.token_ids);
}

TEST(AnswerTokens, EndBeforeTheStopToken) {
  const ChatmlTokenizer tokenizer;
  llm::Choice choice = choice_of("abx");
  choice.stopped_by_token = 'x';
  EXPECT_EQ(tokens_said(tokenizer, choice), tokenizer.tokens_of("ab"));
}

}  // namespace
}  // namespace windrow::program
