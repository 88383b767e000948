#include "engine/schedule/kv_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/random.h"

namespace windrow::engine {
namespace {

using Tokens = std::vector<Token>;

TEST(SortedPrompts, SayHowMuchOfSomeTokensIsWanted) {
  SortedPrompts prompts;
  EXPECT_EQ(prompts.longest_common(Tokens{1, 2, 3}), 0);
  const Tokens a{1, 2, 3, 4};
  const Tokens b{1, 2, 9};
  prompts.add(1, a);
  prompts.add(2, b);
  EXPECT_EQ(prompts.longest_common(Tokens{1, 2, 3, 7, 7}), 3);
  EXPECT_EQ(prompts.longest_common(Tokens{1, 2, 9, 9}), 3);
  EXPECT_EQ(prompts.longest_common(Tokens{1, 7}), 1);
  EXPECT_EQ(prompts.longest_common(Tokens{2}), 0);
  EXPECT_EQ(prompts.longest_common(Tokens{}), 0);
  prompts.remove(1, a);
  EXPECT_EQ(prompts.longest_common(Tokens{1, 2, 3, 7, 7}), 2);
}

TEST(SortedPrompts, TheSameTokensMayWaitTwice) {
  SortedPrompts prompts;
  const Tokens a{5, 6};
  prompts.add(1, a);
  prompts.add(2, a);
  prompts.remove(1, a);
  EXPECT_EQ(prompts.longest_common(Tokens{5, 6, 7}), 2);
  prompts.remove(2, a);
  EXPECT_EQ(prompts.longest_common(Tokens{5, 6, 7}), 0);
}

TEST(CommonPrefix, IsFoundWhereverItEnds) {
  Tokens a(300);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<Token>(i * i);
  for (size_t differs = 0; differs < a.size(); ++differs) {
    Tokens b = a;
    b[differs] = -1;
    ASSERT_EQ(common_prefix_size(a, b), static_cast<int32_t>(differs));
    ASSERT_EQ(common_prefix_size(std::span(a).first(differs), a), static_cast<int32_t>(differs));
  }
  EXPECT_EQ(common_prefix_size(a, a), 300);
}

TEST(SortedPrompts, AgreeWithLookingAtEachOfThem) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const auto some_tokens = [&] {
      Tokens tokens(static_cast<size_t>(random.below(8)));
      for (Token& token : tokens)
        token = static_cast<Token>(random.below(3));
      return tokens;
    };
    SortedPrompts prompts;
    std::map<uint64_t, Tokens> all;
    for (uint64_t row = 0; row < 200; ++row) {
      if (!all.empty() && random.chance(0.4)) {
        const auto found = all.begin();
        prompts.remove(found->first, found->second);
        all.erase(found);
      } else {
        prompts.add(row, all.emplace(row, some_tokens()).first->second);
      }
      const Tokens asked = some_tokens();
      int32_t longest = 0;
      for (const auto& [id, tokens] : all)
        longest = std::max(longest, common_prefix_size(asked, tokens));
      ASSERT_EQ(prompts.longest_common(asked), longest);
    }
  }
}

// Rows around a memory, without a scheduler: each is computed at once.
class KvMemoryTest : public ::testing::Test {
 protected:
  KvMemoryTest() : memory_({.cells_max = 100, .sequences_max = 4, .sharing = Sharing::kAnyRange}) {}

  ScheduledRow& add(uint64_t id, Token first, int32_t size) {
    Tokens& tokens = tokens_[id];
    for (int32_t i = 0; i < size; ++i)
      tokens.push_back(first + i);
    ScheduledRow& row = rows_[id];
    row.id = RowId(id);
    row.source = &tokens;
    row.tokens = row.prompt_tokens = size;
    row.outputs_from = size - 1;
    return row;
  }

  static Tokens tokens_of(Token first, int32_t size) {
    Tokens tokens;
    for (int32_t i = 0; i < size; ++i)
      tokens.push_back(first + i);
    return tokens;
  }

  SequenceId computed(Token first, int32_t size) {
    const ScheduledRow& row = add(next_++, first, size);
    const SequenceId sequence = memory_.open();
    memory_.extend(sequence, row.known());
    return sequence;
  }

  KvMemory memory_;
  std::map<uint64_t, Tokens> tokens_;
  std::map<uint64_t, ScheduledRow> rows_;
  uint64_t next_ = 0;
};

TEST_F(KvMemoryTest, AnEndedRowLeavesWhatAWaitingRowBeginsWith) {
  const ScheduledRow& waiting = add(50, 7, 31);
  memory_.add_waiting(waiting);
  memory_.release_or_cache(computed(7, 60), false);
  EXPECT_EQ(memory_.cells_cached(), 30) << "the last token of the waiting row is its own";
  EXPECT_EQ(memory_.match(waiting).tokens, 30);
  memory_.remove_waiting(waiting);
  memory_.evict_unwanted(1);
  EXPECT_EQ(memory_.cells(), 0);
}

TEST_F(KvMemoryTest, APrefixThatIsKeptStaysWhole) {
  memory_.release_or_cache(computed(7, 60), true);
  memory_.evict_unwanted(1);
  EXPECT_EQ(memory_.cells_cached(), 60);
  memory_.evict_all();
  EXPECT_EQ(memory_.cells(), 0);
}

TEST_F(KvMemoryTest, TheLeastRecentlyUsedPrefixIsEvictedButNoneThatIsWanted) {
  const ScheduledRow& waiting = add(50, 1000, 21);
  memory_.add_waiting(waiting);
  memory_.release_or_cache(computed(1000, 30), true);
  memory_.release_or_cache(computed(2000, 30), true);
  memory_.release_or_cache(computed(3000, 30), true);
  EXPECT_TRUE(memory_.make_room(30));
  EXPECT_EQ(memory_.cells_free(), 40);
  EXPECT_EQ(memory_.match(add(51, 2000, 30)).tokens, 0);
  EXPECT_EQ(memory_.match(add(52, 3000, 30)).tokens, 29);
  EXPECT_EQ(memory_.match(waiting).tokens, 20);
  EXPECT_TRUE(memory_.evict_one(true));
  EXPECT_FALSE(memory_.evict_one(true));
  EXPECT_TRUE(memory_.evict_one());
  EXPECT_FALSE(memory_.evict_one());
  EXPECT_FALSE(memory_.make_room(101));
}

TEST_F(KvMemoryTest, AHeldPrefixStaysAndIsEvictedLast) {
  memory_.hold(HoldId(1), tokens_of(1000, 25));
  memory_.release_or_cache(computed(1000, 30), false);
  EXPECT_EQ(memory_.cells_cached(), 25) << "what is held of the row that ended";
  EXPECT_EQ(memory_.cells_held(), 25);
  const ScheduledRow& waiting = add(50, 2000, 21);
  memory_.add_waiting(waiting);
  memory_.release_or_cache(computed(2000, 30), false);
  memory_.release_or_cache(computed(3000, 30), true);
  memory_.evict_unwanted(8);
  EXPECT_EQ(memory_.match(add(51, 1000, 40)).tokens, 25);

  EXPECT_TRUE(memory_.evict_one());
  EXPECT_EQ(memory_.match(add(52, 3000, 30)).tokens, 0) << "neither wanted nor held";
  EXPECT_TRUE(memory_.evict_one());
  EXPECT_EQ(memory_.match(waiting).tokens, 0) << "wanted, not held";
  EXPECT_EQ(memory_.cells_held(), 25);
  EXPECT_TRUE(memory_.make_room(100)) << "a held prefix does go";
  EXPECT_EQ(memory_.cells_held(), 0);
  memory_.release_hold(HoldId(1));
  memory_.remove_waiting(waiting);
}

TEST_F(KvMemoryTest, WhatSeveralHoldIsThereOnce) {
  memory_.hold(HoldId(1), tokens_of(1000, 40));
  memory_.hold(HoldId(2), tokens_of(1000, 60));
  memory_.hold(HoldId(3), tokens_of(1000, 60));
  memory_.release_or_cache(computed(1000, 50), false);
  EXPECT_EQ(memory_.cells_held(), 50) << "as far as it is computed";
  memory_.release_hold(HoldId(2));
  memory_.evict_unwanted(1);
  EXPECT_EQ(memory_.cells_held(), 50);
  memory_.release_hold(HoldId(3));
  memory_.evict_unwanted(1);
  EXPECT_EQ(memory_.cells_held(), 40);
  memory_.release_hold(HoldId(1));
  memory_.evict_unwanted(1);
  EXPECT_EQ(memory_.cells(), 0);
}

}  // namespace
}  // namespace windrow::engine
