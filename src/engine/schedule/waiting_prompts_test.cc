#include "engine/schedule/waiting_prompts.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/random.h"

namespace windrow::engine {
namespace {

using Tokens = std::vector<Token>;

TEST(WaitingPrompts, SayHowMuchOfSomeTokensIsWanted) {
  WaitingPrompts prompts;
  EXPECT_EQ(prompts.longest_common(Tokens{1, 2, 3}), 0);
  const Tokens a{1, 2, 3, 4};
  const Tokens b{1, 2, 9};
  prompts.add(RowId(1), a);
  prompts.add(RowId(2), b);
  EXPECT_EQ(prompts.longest_common(Tokens{1, 2, 3, 7, 7}), 3);
  EXPECT_EQ(prompts.longest_common(Tokens{1, 2, 9, 9}), 3);
  EXPECT_EQ(prompts.longest_common(Tokens{1, 7}), 1);
  EXPECT_EQ(prompts.longest_common(Tokens{2}), 0);
  EXPECT_EQ(prompts.longest_common(Tokens{}), 0);
  prompts.remove(RowId(1), a);
  EXPECT_EQ(prompts.longest_common(Tokens{1, 2, 3, 7, 7}), 2);
}

TEST(WaitingPrompts, TheSameTokensMayWaitTwice) {
  WaitingPrompts prompts;
  const Tokens a{5, 6};
  prompts.add(RowId(1), a);
  prompts.add(RowId(2), a);
  prompts.remove(RowId(1), a);
  EXPECT_EQ(prompts.longest_common(Tokens{5, 6, 7}), 2);
  prompts.remove(RowId(2), a);
  EXPECT_EQ(prompts.longest_common(Tokens{5, 6, 7}), 0);
}

TEST(CommonBeginning, IsFoundWhereverItEnds) {
  Tokens a(300);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<Token>(i * i);
  for (size_t differs = 0; differs < a.size(); ++differs) {
    Tokens b = a;
    b[differs] = -1;
    ASSERT_EQ(common_beginning(a, b), static_cast<int32_t>(differs));
    ASSERT_EQ(common_beginning(std::span(a).first(differs), a), static_cast<int32_t>(differs));
  }
  EXPECT_EQ(common_beginning(a, a), 300);
}

TEST(WaitingPrompts, AgreeWithLookingAtEachOfThem) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const auto some_tokens = [&] {
      Tokens tokens(static_cast<size_t>(random.below(8)));
      for (Token& token : tokens)
        token = static_cast<Token>(random.below(3));
      return tokens;
    };
    WaitingPrompts prompts;
    std::map<uint64_t, Tokens> all;
    for (uint64_t row = 0; row < 200; ++row) {
      if (!all.empty() && random.chance(0.4)) {
        const auto found = all.begin();
        prompts.remove(RowId(found->first), found->second);
        all.erase(found);
      } else {
        prompts.add(RowId(row), all.emplace(row, some_tokens()).first->second);
      }
      const Tokens asked = some_tokens();
      int32_t longest = 0;
      for (const auto& [id, tokens] : all)
        longest = std::max(longest, common_beginning(asked, tokens));
      ASSERT_EQ(prompts.longest_common(asked), longest);
    }
  }
}

}  // namespace
}  // namespace windrow::engine
