#include "engine/structure/mask_filler.h"

#include <gtest/gtest.h>

#include "engine/structure/structure.h"
#include "engine/testing/word_vocabulary.h"

namespace windrow::engine {
namespace {

using testing::WordVocabulary;

class MaskFillerTest : public ::testing::Test {
 protected:
  std::shared_ptr<AnswerGuide> guide() const {
    // Several parts, so that it is walked: what stays within one lexeme is found in one go.
    const auto structure = make_structure(
        {.kind = llm::StructureSpec::Kind::kGrammar, .text = "root ::= [a-z] [a-z]? [a-z]?"},
        tables_, {});
    return std::make_shared<AnswerGuide>(
        std::make_shared<const AnswerForm>(AnswerForm{.grammar = (*structure)->grammar}));
  }

  static int slices_until_there(MaskFiller& filler, const std::shared_ptr<WantedMask>& wanted) {
    int waits = 0;
    while (!filler.mask(*wanted) && waits < 100'000) {
      filler.wait({&wanted, 1});
      ++waits;
    }
    return waits;
  }

  WordVocabulary vocabulary_{{"ab", "abc", "abcd", "no"}};
  VocabularyTables tables_ = make_tables(vocabulary_, {}, {});
};

TEST_F(MaskFillerTest, AStepWaitsForItsSlicesAndNoLonger) {
  MaskFiller slow({.threads = 0, .nodes_a_slice = 1, .slices_a_step = 1});
  const auto one = slow.want(guide());
  EXPECT_FALSE(slow.mask(*one));
  const int waits = slices_until_there(slow, one);
  EXPECT_GT(waits, 3);
  MaskFiller patient({.threads = 0, .nodes_a_slice = 1, .slices_a_step = waits});
  const auto other = patient.want(guide());
  EXPECT_EQ(slices_until_there(patient, other), 1);
  EXPECT_EQ(*patient.mask(*other), *slow.mask(*one));
  EXPECT_TRUE(patient.mask(*other)->allows(vocabulary_.word("abc")));
  EXPECT_FALSE(patient.mask(*other)->allows(vocabulary_.word("abcd")));
}

TEST_F(MaskFillerTest, WhatIsRememberedIsThereAtOnce) {
  MaskFiller filler({.threads = 0});
  const std::shared_ptr<AnswerGuide> once = guide();
  const auto first = filler.want(once);
  slices_until_there(filler, first);
  const auto again = filler.want(std::make_shared<AnswerGuide>(*once));
  EXPECT_TRUE(filler.mask(*again));
}

TEST_F(MaskFillerTest, ThreadsFindTheSame) {
  MaskFiller filler({.threads = 3, .nodes_a_slice = 1, .slices_a_step = 100'000});
  std::vector<std::shared_ptr<WantedMask>> wanted;
  for (int i = 0; i < 20; ++i)
    wanted.push_back(filler.want(guide()));
  filler.drop(*wanted.back());
  wanted.pop_back();
  filler.wait(wanted);
  for (const auto& one : wanted) {
    ASSERT_TRUE(filler.mask(*one));
    EXPECT_EQ(*filler.mask(*one), *filler.mask(*wanted.front()));
  }
}

}  // namespace
}  // namespace windrow::engine
