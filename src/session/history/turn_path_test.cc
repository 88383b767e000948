#include "session/history/turn_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/random.h"

namespace windrow::session {
namespace {

constexpr RowKind kExperts = RowKind::kRoutedExperts;

using Tokens = std::vector<int32_t>;

std::shared_ptr<Turn> turn(size_t kept, Tokens prompt, Tokens sampled) {
  auto made = std::make_shared<Turn>();
  made->kept_tokens = kept;
  made->prompt = std::move(prompt);
  made->sampled = std::move(sampled);
  return made;
}

// Rows [first, end) of two numbers each: the number of the row, and that of the turn that owns it.
std::shared_ptr<TokenRows> rows(size_t first, size_t end, int32_t owner) {
  auto made = std::make_shared<TokenRows>();
  made->first_row = first;
  made->values_per_row = 2;
  for (size_t row = first; row < end; ++row)
    made->values.append(Tokens{static_cast<int32_t>(row), owner});
  return made;
}

std::shared_ptr<Turn> with_rows(std::shared_ptr<Turn> turn, std::shared_ptr<TokenRows> rows) {
  turn->rows[static_cast<size_t>(kExperts)] = std::move(rows);
  return turn;
}

// For each covered row, the number of the turn that owns it.
std::vector<int32_t> owners(const TurnPath& path) {
  const size_t count = path.rows_covered(kExperts);
  Tokens values(count * 2);
  path.read_rows(kExperts, 0, count, values);
  std::vector<int32_t> owners;
  for (size_t row = 0; row < count; ++row) {
    EXPECT_EQ(values[2 * row], static_cast<int32_t>(row));
    owners.push_back(values[2 * row + 1]);
  }
  return owners;
}

TEST(TurnPath, AnEmptyOneHasNothing) {
  const TurnPath path;
  EXPECT_TRUE(path.empty());
  EXPECT_EQ(path.tokens(), 0U);
  EXPECT_EQ(path.messages(), 0U);
  EXPECT_EQ(path.all_tokens(), Tokens{});
  EXPECT_EQ(path.rows_covered(kExperts), 0U);
  EXPECT_EQ(path.values_per_row(kExperts), 0U);
}

TEST(TurnPath, TokensOfAllTurnsInTheirOrder) {
  const TurnPath path({turn(0, {1, 2, 3}, {10, 11}), turn(5, {20, 21}, {30, 31}), turn(9, {}, {40}),
                       turn(10, {50}, {})});
  EXPECT_EQ(path.all_tokens(), (Tokens{1, 2, 3, 10, 11, 20, 21, 30, 31, 40, 50}));
  EXPECT_EQ(path.tokens_after(0), 5U);
  EXPECT_EQ(path.tokens_before(1), 7U);
  EXPECT_EQ(path.tokens_after(1), 9U);
  EXPECT_EQ(path.tokens_before(2), 9U);
  EXPECT_EQ(path.tokens(), 11U);
  Tokens found = {-1};
  path.append_tokens(4, 4, found);
  EXPECT_EQ(found, (Tokens{-1, 11, 20, 21, 30}));
}

TEST(TurnPath, TokensThatALaterTurnDidNotKeepAreGone) {
  const TurnPath one({turn(0, {1, 2, 3}, {10, 99}), turn(4, {5}, {20, 99}), turn(6, {6}, {30})});
  EXPECT_EQ(one.all_tokens(), (Tokens{1, 2, 3, 10, 5, 20, 6, 30}));
  EXPECT_EQ(one.tokens_after(0), 5U) << "that turn itself sampled the end token";

  const TurnPath across({turn(0, {1, 2, 3}, {10, 99}), turn(4, {5}, {}), turn(2, {6}, {30})});
  EXPECT_EQ(across.all_tokens(), (Tokens{1, 2, 6, 30})) << "more than the turn before had";
}

TEST(TurnPath, MessagesCountAnswers) {
  auto first = turn(0, {1}, {2});
  first->appended.resize(2);
  auto second = turn(2, {3}, {4});
  second->appended.resize(1);
  EXPECT_EQ(TurnPath({first, second}).messages(), 5U);
}

TEST(TurnPath, RowsGoOnFromTurnToTurn) {
  const TurnPath path({with_rows(turn(0, {1, 2, 3}, {4}), rows(0, 3, 1)),
                       with_rows(turn(4, {5}, {6, 7}), rows(3, 6, 2))});
  EXPECT_EQ(path.values_per_row(kExperts), 2U);
  EXPECT_EQ(path.values_per_row(RowKind::kIndexerTopk), 0U);
  EXPECT_EQ(path.rows_covered(RowKind::kIndexerTopk), 0U);
  EXPECT_EQ(owners(path), (Tokens{1, 1, 1, 2, 2, 2}));
  Tokens values(4);
  path.read_rows(kExperts, 2, 2, values);
  EXPECT_EQ(values, (Tokens{2, 1, 3, 2}));
}

TEST(TurnPath, RowsEndAtAGap) {
  const auto first = with_rows(turn(0, {1, 2, 3}, {4}), rows(0, 3, 1));
  const TurnPath behind({first, turn(4, {5}, {6}), with_rows(turn(6, {}, {7}), rows(5, 6, 3))});
  EXPECT_EQ(behind.rows_covered(kExperts), 3U);
  const TurnPath before({with_rows(turn(0, {1, 2, 3}, {4}), rows(1, 3, 1))});
  EXPECT_EQ(before.rows_covered(kExperts), 0U);
  EXPECT_EQ(before.values_per_row(kExperts), 2U);
}

TEST(TurnPath, ALaterTurnClosesAGap) {
  const auto first = with_rows(turn(0, {1, 2, 3}, {4}), rows(0, 2, 1));
  const auto second = with_rows(turn(4, {5}, {6}), rows(4, 5, 2));
  const auto third = with_rows(turn(6, {7}, {8}), rows(1, 7, 3));
  EXPECT_EQ(owners(TurnPath({first, second})), (Tokens{1, 1}));
  EXPECT_EQ(owners(TurnPath({first, second, third})), (Tokens{1, 1, 3, 3, 2, 3, 3}));
  const auto beginning = with_rows(turn(6, {}, {8}), rows(0, 4, 3));
  EXPECT_EQ(owners(TurnPath({turn(0, {1, 2, 3}, {4}), second, beginning})),
            (Tokens{3, 3, 3, 3, 2}));
}

TEST(TurnPath, TheFirstTurnsRowsCountWhereSeveralHaveThem) {
  const TurnPath path({with_rows(turn(0, {1, 2, 3}, {4}), rows(0, 3, 1)),
                       with_rows(turn(4, {5}, {6}), rows(0, 5, 2)),
                       with_rows(turn(6, {7}, {8}), rows(2, 7, 3))});
  EXPECT_EQ(owners(path), (Tokens{1, 1, 1, 2, 2, 3, 3}));
}

TEST(TurnPath, RowsOfTokensThatAreGoneDoNotCount) {
  // The parent has rows of 5 tokens; 3 of them are kept, so row 3 is another token's.
  const auto parent = with_rows(turn(0, {1, 2, 3}, {4, 98, 99}), rows(0, 5, 1));
  EXPECT_EQ(owners(TurnPath({parent})), (Tokens{1, 1, 1, 1, 1}));
  EXPECT_EQ(owners(TurnPath({parent, turn(3, {5}, {6})})), (Tokens{1, 1, 1}));
  EXPECT_EQ(owners(TurnPath({parent, with_rows(turn(3, {5}, {6}), rows(3, 4, 2))})),
            (Tokens{1, 1, 1, 2}));
  EXPECT_EQ(owners(TurnPath({parent, with_rows(turn(3, {5}, {6}), rows(5, 6, 2))})),
            (Tokens{1, 1, 1}))
      << "rows 3 and 4 are missing";
}

TEST(TurnPath, RowsOfAnotherWidthDoNotCount) {
  auto wide = std::make_shared<TokenRows>();
  wide->first_row = 3;
  wide->values_per_row = 3;
  wide->values.append(Tokens(6, 7));
  const TurnPath path(
      {with_rows(turn(0, {1, 2, 3}, {4}), rows(0, 3, 1)), with_rows(turn(4, {5}, {6}), wide)});
  EXPECT_EQ(path.rows_covered(kExperts), 3U);
}

TEST(TurnPath, NoRowsTellNothingOfTheirWidth) {
  auto none = std::make_shared<TokenRows>();
  none->values_per_row = 1;
  const TurnPath path(
      {with_rows(turn(0, {1}, {}), none), with_rows(turn(1, {2, 3}, {4}), rows(0, 3, 2))});
  EXPECT_EQ(path.values_per_row(kExperts), 2U);
  EXPECT_EQ(owners(path), (Tokens{2, 2, 2}));
}

// Against tokens and rows that are kept whole for each conversation.
TEST(TurnPath, AnyConversationEqualsOneThatKeepsEverything) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<TurnPtr> turns;
    Tokens tokens;
    std::map<size_t, int32_t> owner_of_row;
    int32_t next_token = 0;
    for (int32_t i = 1; i <= 8; ++i) {
      const size_t kept = tokens.size() - std::min<size_t>(tokens.size(), random.below(3));
      Tokens prompt(random.below(4));
      Tokens sampled(random.below(4));
      std::iota(prompt.begin(), prompt.end(), next_token);
      std::iota(sampled.begin(), sampled.end(), next_token + 10);
      next_token += 20;
      tokens.resize(kept);
      tokens.insert(tokens.end(), prompt.begin(), prompt.end());
      tokens.insert(tokens.end(), sampled.begin(), sampled.end());
      owner_of_row.erase(owner_of_row.lower_bound(kept), owner_of_row.end());
      auto made = turn(kept, prompt, sampled);
      if (!tokens.empty() && random.chance(0.7)) {
        const size_t first = random.below(tokens.size());
        const size_t end = first + random.below(tokens.size() - first + 1);
        made = with_rows(made, rows(first, end, i));
        for (size_t row = first; row < end; ++row)
          owner_of_row.emplace(row, i);
      }
      turns.push_back(std::move(made));

      const TurnPath path(turns);
      ASSERT_EQ(path.all_tokens(), tokens);
      const size_t begin = random.below(tokens.size() + 1);
      const size_t count = random.below(tokens.size() - begin + 1);
      Tokens some;
      path.append_tokens(begin, count, some);
      ASSERT_TRUE(std::ranges::equal(some, std::span(tokens).subspan(begin, count)));
      std::vector<int32_t> expected;
      while (owner_of_row.contains(expected.size()))
        expected.push_back(owner_of_row.at(expected.size()));
      ASSERT_EQ(owners(path), expected);
    }
  }
}

TEST(Turn, ItsBytesAreThoseOfAllItHas) {
  auto made = turn(0, Tokens(1000, 1), Tokens(500, 2));
  const size_t before = bytes_of(*made);
  EXPECT_GE(before, sizeof(Turn) + 1500 * 4);
  EXPECT_LT(before, sizeof(Turn) + 1500 * 4 + 100);
  made->answer.text = std::string(10'000, 'a');
  made->appended.push_back({.key = {}, .text = std::string(20'000, 'b')});
  made->logprobs.assign(500, -0.5);
  made->reply_members = std::make_shared<std::string>(3000, ' ');
  made = with_rows(made, rows(0, 1000, 1));
  const size_t more = 30'000 + 500 * 8 + 3000 + made->rows[0]->values.bytes();
  EXPECT_GE(bytes_of(*made), before + more);
  EXPECT_LT(bytes_of(*made), before + more + 500);
}

TEST(RowKind, IsNamedAsServersDo) {
  EXPECT_EQ(to_string(RowKind::kRoutedExperts), "routed_experts");
  EXPECT_EQ(to_string(RowKind::kIndexerTopk), "indexer_topk");
}

}  // namespace
}  // namespace windrow::session
