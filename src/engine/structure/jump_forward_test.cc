#include "engine/structure/jump_forward.h"

#include <gtest/gtest.h>

#include "engine/structure/structure.h"
#include "engine/testing/word_vocabulary.h"

namespace windrow::engine {
namespace {

using testing::WordVocabulary;

class JumpForwardTest : public ::testing::Test {
 protected:
  std::vector<std::string> run(const std::vector<Token>& before, std::string_view text,
                               bool is_end = false, bool crosses = true) const {
    std::vector<std::string> run;
    for (const Token token : jump_forward_tokens(
             before,
             {.text = text, .is_end = is_end, .may_cross_end = [&](size_t) { return crosses; }},
             vocabulary_, *tables_.tokens))
      vocabulary_.append_bytes(token, run.emplace_back());
    return run;
  }

  Token word(std::string_view text) const { return vocabulary_.word(text); }

  using Words = std::vector<std::string>;
  WordVocabulary vocabulary_{{"{\"", "\":", "\":\"", "order", "orderId", "or", "Id"}};
  VocabularyTables tables_ = make_tables(vocabulary_, {}, {});
};

TEST_F(JumpForwardTest, IsCutAsTheTokeniserCutsIt) {
  EXPECT_EQ(run({}, "{\"order!"), (Words{"{\"", "order", "!"}));
  EXPECT_EQ(run({}, ""), Words{});
}

// "order" is how "orderId" begins, `":` how `":"` does, and "{" how `{"` does.
TEST_F(JumpForwardTest, WhatALongerTokenCouldSpanIsLeftToTheModel) {
  EXPECT_EQ(run({}, "{\"order"), Words{"{\""});
  EXPECT_EQ(run({}, "{\"orderId"), (Words{"{\"", "orderId"}));
  EXPECT_EQ(run({}, "{\"Id\":"), (Words{"{\"", "Id"}));
  EXPECT_EQ(run({}, "{"), Words{});
  EXPECT_EQ(run({}, "{\"ord"), Words{"{\""});
  EXPECT_EQ(run({}, "{\"order", true), (Words{"{\"", "order"})) << "nothing comes behind it";
}

TEST_F(JumpForwardTest, UnlessTheLongerTokenMayNotCome) {
  EXPECT_EQ(run({}, "{\"Id\":", false, false), (Words{"{\"", "Id", "\":"}));
}

TEST_F(JumpForwardTest, TheTokensBeforeItMustStayWhatTheyAre) {
  EXPECT_EQ(run({word("order")}, "!"), Words{"!"});
  EXPECT_EQ(run({word("order")}, "Id!"), Words{}) << "it would have been orderId";
  EXPECT_EQ(run({'{'}, "\"Id!"), Words{});
  EXPECT_EQ(run({word("order"), WordVocabulary::kEnd}, "Id!"), (Words{"Id", "!"}))
      << "a control token is a border";
  EXPECT_EQ(run({word("order"), 'a', 'b', 'c', 'd'}, "Id!"), (Words{"Id", "!"}));
}

}  // namespace
}  // namespace windrow::engine
