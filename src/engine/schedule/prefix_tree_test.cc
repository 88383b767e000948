#include "engine/schedule/prefix_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/random.h"
#include "base/testing/rounds.h"

namespace windrow::engine {
namespace {

using ::testing::ElementsAre;
using Tokens = std::vector<Token>;

MATCHER_P2(IsMatch, tokens, from, "") {
  return arg.tokens == tokens && (tokens == 0 || arg.from == SequenceId(from));
}

MATCHER_P3(Shares, sequence, from, tokens, "") {
  return arg.kind == MemoryChange::Kind::kShare && arg.sequence == sequence && arg.from == from &&
         arg.tokens == tokens;
}

MATCHER_P2(Cuts, sequence, tokens, "") {
  return arg.kind == MemoryChange::Kind::kTruncate && arg.sequence == sequence &&
         arg.tokens == tokens;
}

SequenceId path_of(PrefixTree& tree, const Tokens& tokens) {
  const SequenceId sequence = tree.open().value();
  tree.extend(sequence, tokens);
  return sequence;
}

TEST(PrefixTree, AForkTakesNoCells) {
  PrefixTree tree(4, Sharing::kAnyRange);
  const SequenceId a = path_of(tree, {1, 2, 3, 4});
  EXPECT_THAT(tree.longest_match(Tokens{1, 2, 3, 9}), IsMatch(3, a.value()));
  const SequenceId b = tree.open().value();
  tree.attach(b, tree.longest_match(Tokens{1, 2, 3, 9}));
  EXPECT_EQ(tree.cells(), 4);
  EXPECT_THAT(tree.take_changes(), ElementsAre(Shares(b, a, 3)));
  tree.extend(b, Tokens{9, 8});
  EXPECT_EQ(tree.cells(), 6);
  EXPECT_EQ(tree.tokens(a), (Tokens{1, 2, 3, 4}));
  EXPECT_EQ(tree.tokens(b), (Tokens{1, 2, 3, 9, 8}));
  EXPECT_EQ(tree.shared_size(b), 3);
}

TEST(PrefixTree, ARowThatRunsCanBeForkedWhereverItIs) {
  PrefixTree tree(4, Sharing::kAnyRange);
  const SequenceId a = path_of(tree, {1, 2});
  tree.extend(a, Tokens{3});
  tree.extend(a, Tokens{4});
  EXPECT_THAT(tree.longest_match(Tokens{1, 2, 3, 4, 5}), IsMatch(4, a.value()));
}

TEST(PrefixTree, WhatOthersHoldStaysWhenOneIsClosed) {
  PrefixTree tree(4, Sharing::kAnyRange);
  const SequenceId a = path_of(tree, {1, 2, 3, 4});
  const SequenceId b = tree.open().value();
  tree.attach(b, {.tokens = 2, .from = a});
  tree.release(a);
  EXPECT_EQ(tree.cells(), 2);
  EXPECT_EQ(tree.longest_match(Tokens{1, 2, 3, 4}).tokens, 2);
  tree.release(b);
  EXPECT_EQ(tree.cells(), 0);
  EXPECT_EQ(tree.sequences_free(), 4);
  EXPECT_THAT(tree.take_changes(), ElementsAre(Shares(b, a, 2), Cuts(a, 0), Cuts(b, 0)));
}

TEST(PrefixTree, APathCanBeCutInTheMiddleOfWhatItShares) {
  PrefixTree tree(4, Sharing::kAnyRange);
  const SequenceId a = path_of(tree, {1, 2, 3, 4, 5});
  const SequenceId b = tree.open().value();
  tree.attach(b, {.tokens = 4, .from = a});
  tree.truncate(b, 2);
  EXPECT_EQ(tree.tokens(b), (Tokens{1, 2}));
  EXPECT_EQ(tree.cells(), 5);
  tree.truncate(a, 3);
  EXPECT_EQ(tree.cells(), 3);
  EXPECT_EQ(tree.tokens(a), (Tokens{1, 2, 3}));
}

TEST(PrefixTree, CellsAtRestAreThoseThatNoRowNeeds) {
  PrefixTree tree(4, Sharing::kAnyRange);
  const SequenceId a = path_of(tree, {1, 2, 3, 4});
  const SequenceId b = tree.open().value();
  tree.attach(b, {.tokens = 3, .from = a});
  tree.cache(a);
  EXPECT_EQ(tree.cells_cached(), 1);
  tree.release(b);
  EXPECT_EQ(tree.cells_cached(), 4);
  const SequenceId c = tree.open().value();
  tree.attach(c, tree.longest_match(Tokens{1, 2, 3, 4, 5}));
  EXPECT_EQ(tree.cells_cached(), 0);
}

TEST(PrefixTree, TheLeastRecentlyUsedPathAtRestComesFirst) {
  PrefixTree tree(8, Sharing::kAnyRange);
  const SequenceId a = path_of(tree, {1, 1});
  const SequenceId b = path_of(tree, {2, 2});
  const SequenceId c = path_of(tree, {3, 3});
  for (const SequenceId sequence : {b, a, c})
    tree.cache(sequence);
  EXPECT_THAT(tree.cached(), ElementsAre(b, a, c));
  tree.attach(tree.open().value(), tree.longest_match(Tokens{2, 2}));
  EXPECT_THAT(tree.cached(), ElementsAre(a, c, b));
}

TEST(PrefixTree, SequencesEnd) {
  PrefixTree tree(2, Sharing::kAnyRange);
  const SequenceId a = tree.open().value();
  EXPECT_TRUE(tree.open().has_value());
  EXPECT_FALSE(tree.open().has_value());
  tree.release(a);
  EXPECT_EQ(tree.open().value(), a);
}

TEST(PrefixTree, WhereOnlyEndsCanBeSharedOnlyEndsMatch) {
  PrefixTree tree(4, Sharing::kExactEnd);
  const SequenceId a = path_of(tree, {1, 2, 3});
  EXPECT_EQ(tree.longest_match(Tokens{1, 2, 9}).tokens, 0);
  EXPECT_THAT(tree.longest_match(Tokens{1, 2, 3, 9}), IsMatch(3, a.value()));
  const SequenceId kept = tree.snapshot(a).value();
  tree.extend(a, Tokens{4});
  EXPECT_EQ(tree.cells_cached(), 0) << "the row needs them too";
  EXPECT_THAT(tree.longest_match(Tokens{1, 2, 3, 9}), IsMatch(3, kept.value()));
  EXPECT_THAT(tree.longest_match(Tokens{1, 2, 3, 4, 9}), IsMatch(4, a.value()));
}

TEST(PrefixTree, WhereNothingCanBeSharedNothingMatches) {
  PrefixTree tree(4, Sharing::kNothing);
  path_of(tree, {1, 2, 3});
  EXPECT_EQ(tree.longest_match(Tokens{1, 2, 3}).tokens, 0);
}

// Of two that computed the same, either may be shared from, and the longer one is found.
TEST(PrefixTree, TheSameTokensMayLieInTwoPlaces) {
  PrefixTree tree(4, Sharing::kAnyRange);
  const SequenceId a = path_of(tree, {1, 2, 3});
  const SequenceId b = path_of(tree, {1, 2, 3, 4});
  EXPECT_EQ(tree.cells(), 7);
  EXPECT_THAT(tree.longest_match(Tokens{1, 2, 3, 4}), IsMatch(4, b.value()));
  tree.release(b);
  EXPECT_THAT(tree.longest_match(Tokens{1, 2, 3, 4}), IsMatch(3, a.value()));
}

// The score of `next`, with so many alternatives.
KeptScore score_of(Token next, int32_t top = 0) {
  return {.next = next,
          .logprob = -1.0F - static_cast<float>(next),
          .top_asked = top,
          .top = std::vector<KeptAlternative>(static_cast<size_t>(top))};
}

// A path that was scored as its row went along; `behind` is the token that was scored last.
SequenceId scored_path(PrefixTree& tree, const Tokens& tokens, Token behind, int32_t top = 0) {
  const SequenceId sequence = path_of(tree, tokens);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token next = i + 1 < tokens.size() ? tokens[i + 1] : behind;
    tree.keep_score(sequence, static_cast<Position>(i), score_of(next, top));
  }
  return sequence;
}

TEST(PrefixTreeScores, ARowToBeScoredTakesWhatIsScoredUpToWhereItPartsFromIt) {
  PrefixTree tree(4, Sharing::kAnyRange);
  const SequenceId a = scored_path(tree, {1, 2, 3, 4}, 5);
  EXPECT_THAT(tree.longest_match(Tokens{1, 2, 3, 4, 5, 6}, ScoresWanted{}), IsMatch(4, a.value()));
  EXPECT_THAT(tree.longest_match(Tokens{1, 2, 3, 4, 9, 6}, ScoresWanted{}), IsMatch(3, a.value()))
      << "what follows the 4 is another token";
  EXPECT_THAT(tree.longest_match(Tokens{1, 2, 9}, ScoresWanted{}), IsMatch(1, a.value()));
  EXPECT_THAT(tree.longest_match(Tokens{1, 2, 3}, ScoresWanted{}), IsMatch(2, a.value()))
      << "nothing is known to follow the last";
  EXPECT_THAT(tree.longest_match(Tokens{1}, ScoresWanted{}), IsMatch(0, -1));
  EXPECT_EQ(tree.scores(a, 1, 4), (std::vector{score_of(3), score_of(4), score_of(5)}));
}

TEST(PrefixTreeScores, WithoutAScoreATokenIsTakenOnlyWhereNoneIsWanted) {
  PrefixTree tree(4, Sharing::kAnyRange);
  const SequenceId a = path_of(tree, {1, 2, 3, 4, 5});
  const Tokens wanted{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(tree.longest_match(wanted, ScoresWanted{}).tokens, 0);
  EXPECT_EQ(tree.longest_match(wanted, ScoresWanted{.from = 2}).tokens, 2);
  tree.keep_score(a, 2, score_of(4));
  EXPECT_EQ(tree.longest_match(wanted, ScoresWanted{.from = 2}).tokens, 3);
  EXPECT_EQ(tree.longest_match(wanted, ScoresWanted{.from = 9}).tokens, 5);
}

TEST(PrefixTreeScores, FewerAlternativesThanWantedAreNone) {
  PrefixTree tree(4, Sharing::kAnyRange);
  const SequenceId few = scored_path(tree, {1, 2, 3}, 4, 1);
  const Tokens wanted{1, 2, 3, 4, 5};
  EXPECT_THAT(tree.longest_match(wanted, {.top = 1}), IsMatch(3, few.value()));
  EXPECT_EQ(tree.longest_match(wanted, {.top = 2}).tokens, 0);
  // The same tokens, computed again with more of them.
  const SequenceId more = scored_path(tree, {1, 2}, 3, 5);
  EXPECT_THAT(tree.longest_match(wanted, {.top = 2}), IsMatch(2, more.value()));
  EXPECT_THAT(tree.longest_match(wanted, {.top = 1}), IsMatch(3, few.value()));
}

TEST(PrefixTreeScores, AreGoneWithTheirCellsAndStayWithThoseThatStay) {
  PrefixTree tree(4, Sharing::kAnyRange);
  const Tokens wanted{1, 2, 3, 4, 5, 6};
  const SequenceId a = scored_path(tree, {1, 2, 3, 4}, 5);
  const SequenceId b = tree.open().value();
  tree.attach(b, tree.longest_match(Tokens{1, 2, 3, 9}, ScoresWanted{}));
  EXPECT_EQ(tree.size(b), 2);
  tree.release(a);
  EXPECT_EQ(tree.longest_match(wanted, ScoresWanted{}).tokens, 2);
  tree.extend(b, Tokens{3, 4, 5});
  EXPECT_EQ(tree.longest_match(wanted, ScoresWanted{}).tokens, 2) << "computed, but not scored";
  tree.keep_score(b, 2, score_of(4));
  EXPECT_EQ(tree.longest_match(wanted, ScoresWanted{}).tokens, 3);
  tree.truncate(b, 1);
  tree.cache(b);
  EXPECT_EQ(tree.longest_match(wanted, ScoresWanted{}).tokens, 1);
  tree.release(b);
  EXPECT_EQ(tree.cells(), 0);
  path_of(tree, wanted);
  EXPECT_EQ(tree.longest_match(wanted, ScoresWanted{}).tokens, 0);
}

TEST(PrefixTreeScores, StayBesideCellsThatMove) {
  PrefixTree tree(4, Sharing::kAnyRange);
  const SequenceId low = path_of(tree, Tokens(10, 7));
  const SequenceId a = scored_path(tree, {1, 2, 3, 4}, 5);
  tree.release(low);
  tree.compact();
  EXPECT_EQ(tree.cells_end(), 4);
  EXPECT_THAT(tree.longest_match(Tokens{1, 2, 3, 4, 5, 6}, ScoresWanted{}), IsMatch(4, a.value()));
  EXPECT_EQ(tree.scores(a, 0, 2), (std::vector{score_of(2), score_of(3)}));
}

// A state is shared as a whole, so all of it has to be scored.
TEST(PrefixTreeScores, WhereOnlyEndsCanBeSharedOnlyScoredEndsMatch) {
  PrefixTree tree(4, Sharing::kExactEnd);
  const SequenceId a = scored_path(tree, {1, 2, 3}, 4);
  EXPECT_THAT(tree.longest_match(Tokens{1, 2, 3, 4, 5}, ScoresWanted{}), IsMatch(3, a.value()));
  EXPECT_EQ(tree.longest_match(Tokens{1, 2, 3, 9, 5}, ScoresWanted{}).tokens, 0);
  const SequenceId kept = tree.snapshot(a).value();
  tree.extend(a, Tokens{4});
  EXPECT_THAT(tree.longest_match(Tokens{1, 2, 3, 4, 5}, ScoresWanted{}), IsMatch(3, kept.value()));
}

TEST(PrefixTreeScores, TheScoredTextOfAPathEndsWithTheTokenThatWasScoredLast) {
  PrefixTree tree(4, Sharing::kAnyRange);
  const SequenceId a = scored_path(tree, {1, 2, 3}, 4);
  EXPECT_EQ(tree.scored_text(a), (Tokens{1, 2, 3, 4}));
  const SequenceId b = tree.open().value();
  tree.attach(b, {.tokens = 2, .from = a});
  tree.extend(b, Tokens{8, 9});
  EXPECT_EQ(tree.scored_text(b), (Tokens{1, 2, 3})) << "behind the 2 it was the 3 that was scored";
  tree.extend(a, Tokens{4, 5});
  EXPECT_EQ(tree.scored_text(a), (Tokens{1, 2, 3, 4}));
  EXPECT_EQ(tree.scored_text(path_of(tree, {1, 2})), Tokens());
}

// Paths as plain lists of cells, each cell with its token: nothing is a tree here.
class NaivePaths {
 public:
  struct Cell {
    int64_t id;
    Token token;
  };
  struct Path {
    std::vector<Cell> cells;
    bool live = true;
  };

  std::map<int32_t, Path> paths;
  std::map<int64_t, KeptScore> scores;  // by cell, of those that are gone, too

  void extend(int32_t id, const Tokens& tokens) {
    for (const Token token : tokens)
      paths.at(id).cells.push_back({next_cell_++, token});
  }

  int32_t cells(bool live_only) const {
    std::set<int64_t> cells;
    for (const auto& [id, path] : paths) {
      if (live_only && !path.live) continue;
      for (const Cell& cell : path.cells)
        cells.insert(cell.id);
    }
    return static_cast<int32_t>(cells.size());
  }

  Tokens tokens(int32_t id) const {
    Tokens tokens;
    for (const Cell& cell : paths.at(id).cells)
      tokens.push_back(cell.token);
    return tokens;
  }

  int32_t longest_match(const Tokens& wanted, Sharing sharing) const {
    int32_t longest = 0;
    for (const auto& [id, path] : paths) {
      const Tokens has = tokens(id);
      const auto common =
          static_cast<int32_t>(std::ranges::mismatch(has, wanted).in1 - has.begin());
      const bool whole = static_cast<size_t>(common) == has.size();
      if (sharing == Sharing::kAnyRange || whole) longest = std::max(longest, common);
    }
    return longest;
  }

  // Cell by cell, by what a row that scores its tokens may take over.
  int32_t longest_match(const Tokens& wanted, const ScoresWanted& asked, Sharing sharing) const {
    int32_t longest = 0;
    for (const auto& [id, path] : paths) {
      size_t count = 0;
      while (count < path.cells.size() && count + 1 < wanted.size() &&
             path.cells[count].token == wanted[count]) {
        const auto score = scores.find(path.cells[count].id);
        const bool scored = score != scores.end() && score->second.next == wanted[count + 1] &&
                            score->second.top_asked >= asked.top;
        if (std::cmp_greater_equal(count, asked.from) && !scored) break;
        ++count;
      }
      if (sharing == Sharing::kAnyRange || count == path.cells.size())
        longest = std::max(longest, static_cast<int32_t>(count));
    }
    return longest;
  }

  void keep_score(int32_t id, size_t position, const KeptScore& score) {
    const auto [there, is_new] = scores.emplace(paths.at(id).cells.at(position).id, score);
    if (!is_new && there->second.next == score.next && there->second.top_asked < score.top_asked)
      there->second = score;
  }

  Tokens scored_text(int32_t id) const {
    Tokens text;
    const std::vector<Cell>& cells = paths.at(id).cells;
    for (size_t i = 0; i < cells.size(); ++i) {
      const auto score = scores.find(cells[i].id);
      if (score == scores.end()) break;
      if (i == 0) text.push_back(cells[i].token);
      text.push_back(score->second.next);
      if (i + 1 < cells.size() && cells[i + 1].token != score->second.next) break;
    }
    return text;
  }

  int32_t shared_size(int32_t asked) const {
    std::set<int64_t> others;
    for (const auto& [id, path] : paths) {
      if (id == asked) continue;
      for (const Cell& cell : path.cells)
        others.insert(cell.id);
    }
    return static_cast<int32_t>(std::ranges::count_if(
        paths.at(asked).cells, [&](const Cell& cell) { return others.contains(cell.id); }));
  }

 private:
  int64_t next_cell_ = 0;
};

// Verbs at random on a tree and on plain lists; and on what the changes it writes down make of a
// memory.
TEST(PrefixTree, AgreesWithPathsThatShareNothing) {
  int64_t taken_over = 0;
  for (uint64_t seed = 0; seed < windrow::testing::rounds(100U, 400U); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const Sharing sharing = random.chance(0.6) ? Sharing::kAnyRange : Sharing::kExactEnd;
    const auto sequences_max = static_cast<int32_t>(random.between(1, 12));
    PrefixTree tree(sequences_max, sharing);
    NaivePaths naive;
    std::map<int32_t, Tokens> memory;
    const auto any = [&] {
      auto found = naive.paths.begin();
      std::advance(found, static_cast<std::ptrdiff_t>(random.below(naive.paths.size())));
      return found->first;
    };
    const auto some_tokens = [&](uint64_t most) {
      Tokens tokens(static_cast<size_t>(random.below(most + 1)));
      for (Token& token : tokens)
        token = static_cast<Token>(random.below(2));
      return tokens;
    };
    for (int verb = 0; verb < 120; ++verb) {
      if (naive.paths.empty() || random.chance(0.3)) {
        const auto opened = tree.open();
        ASSERT_EQ(opened.has_value(), naive.paths.size() < static_cast<size_t>(sequences_max));
        if (!opened) continue;
        const int32_t id = opened->value();
        ASSERT_FALSE(naive.paths.contains(id));
        // Often one that is there, so that more than a few cells match.
        Tokens wanted = some_tokens(12);
        if (!naive.paths.empty() && random.chance(0.5)) wanted = naive.tokens(any());
        PrefixTree::Match match;
        if (!wanted.empty() && random.chance(0.5)) {
          const ScoresWanted scores{.from = static_cast<Position>(random.below(4)),
                                    .top = static_cast<int32_t>(random.below(3))};
          match = tree.longest_match(wanted, scores);
          ASSERT_EQ(match.tokens, naive.longest_match(wanted, scores, sharing));
          taken_over += std::max(0, match.tokens - scores.from);
        } else {
          match = tree.longest_match(wanted);
          ASSERT_EQ(match.tokens, naive.longest_match(wanted, sharing));
        }
        naive.paths[id] = {};
        if (match.tokens > 0) {
          const auto& from = naive.paths.at(match.from.value()).cells;
          naive.paths.at(id).cells.assign(from.begin(), from.begin() + match.tokens);
          tree.attach(*opened, match);
        }
      } else if (const int32_t id = any(); random.chance(0.3)) {
        const size_t size = naive.paths.at(id).cells.size();
        for (size_t position = 0; position < size; ++position) {
          if (random.chance(0.05)) continue;
          // Mostly of the token that is there.
          const bool follows = position + 1 < size && random.chance(0.9);
          const Token next = follows ? naive.paths.at(id).cells[position + 1].token
                                     : static_cast<Token>(random.below(2));
          const KeptScore score = score_of(next, static_cast<int32_t>(random.below(3)));
          tree.keep_score(SequenceId(id), static_cast<Position>(position), score);
          naive.keep_score(id, position, score);
        }
      } else if (random.chance(0.5)) {
        if (!naive.paths.at(id).live) continue;
        const Tokens tokens = some_tokens(5);
        tree.extend(SequenceId(id), tokens);
        naive.extend(id, tokens);
        memory[id].insert(memory[id].end(), tokens.begin(), tokens.end());
      } else if (random.chance(0.3)) {
        const auto size = static_cast<int64_t>(naive.paths.at(id).cells.size());
        const auto kept =
            static_cast<int32_t>(sharing == Sharing::kAnyRange ? random.between(0, size)
                                 : random.chance(0.5)          ? size
                                                               : 0);
        tree.truncate(SequenceId(id), kept);
        naive.paths.at(id).cells.resize(static_cast<size_t>(kept));
      } else if (random.chance(0.3)) {
        if (!naive.paths.at(id).live) continue;
        tree.cache(SequenceId(id));
        naive.paths.at(id).live = false;
      } else if (random.chance(0.4)) {
        const auto copied = tree.snapshot(SequenceId(id));
        ASSERT_EQ(copied.has_value(), naive.paths.size() < static_cast<size_t>(sequences_max));
        if (copied) {
          naive.paths[copied->value()] = {.cells = naive.paths.at(id).cells, .live = false};
        }
      } else {
        tree.release(SequenceId(id));
        naive.paths.erase(id);
      }
      // The changes come before the tokens of the next step, which are already there for those
      // that were extended: they share and cut what was there before.
      for (const MemoryChange& change : tree.take_changes()) {
        Tokens& changed = memory[change.sequence.value()];
        if (change.kind == MemoryChange::Kind::kShare) {
          ASSERT_TRUE(changed.empty());
          changed = memory.at(change.from.value());
        }
        ASSERT_LE(static_cast<size_t>(change.tokens), changed.size());
        changed.resize(static_cast<size_t>(change.tokens));
      }
      ASSERT_EQ(tree.cells(), naive.cells(false));
      ASSERT_EQ(tree.cells_cached(), naive.cells(false) - naive.cells(true));
      for (const auto& [open, path] : naive.paths) {
        ASSERT_EQ(tree.tokens(SequenceId(open)), naive.tokens(open));
        ASSERT_EQ(memory[open], naive.tokens(open));
        ASSERT_EQ(tree.size(SequenceId(open)), static_cast<int32_t>(path.cells.size()));
        ASSERT_EQ(tree.shared_size(SequenceId(open)), naive.shared_size(open));
        const Tokens text = naive.scored_text(open);
        ASSERT_EQ(tree.scored_text(SequenceId(open)), text);
        const auto scored = static_cast<Position>(text.empty() ? 0 : text.size() - 1);
        const std::vector<KeptScore> scores = tree.scores(SequenceId(open), 0, scored);
        ASSERT_EQ(scores.size(), static_cast<size_t>(scored));
        for (size_t i = 0; i < scores.size(); ++i)
          ASSERT_EQ(scores[i], naive.scores.at(path.cells[i].id));
      }
    }
    while (!naive.paths.empty()) {
      tree.release(SequenceId(naive.paths.begin()->first));
      naive.paths.erase(naive.paths.begin());
    }
    ASSERT_EQ(tree.cells(), 0);
    ASSERT_EQ(tree.sequences_free(), sequences_max);
  }
  EXPECT_GT(taken_over, windrow::testing::rounds(20, 200))
      << "too few cells were taken over with their scores to test anything";
}

}  // namespace
}  // namespace windrow::engine
