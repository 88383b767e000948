#include "engine/prefix_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"

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
  return arg.kind == MemoryChange::Kind::kCut && arg.sequence == sequence && arg.tokens == tokens;
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
  tree.share(b, tree.longest_match(Tokens{1, 2, 3, 9}));
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
  tree.share(b, {.tokens = 2, .from = a});
  tree.close(a);
  EXPECT_EQ(tree.cells(), 2);
  EXPECT_EQ(tree.longest_match(Tokens{1, 2, 3, 4}).tokens, 2);
  tree.close(b);
  EXPECT_EQ(tree.cells(), 0);
  EXPECT_EQ(tree.sequences_free(), 4);
  EXPECT_THAT(tree.take_changes(), ElementsAre(Shares(b, a, 2), Cuts(a, 0), Cuts(b, 0)));
}

TEST(PrefixTree, APathCanBeCutInTheMiddleOfWhatItShares) {
  PrefixTree tree(4, Sharing::kAnyRange);
  const SequenceId a = path_of(tree, {1, 2, 3, 4, 5});
  const SequenceId b = tree.open().value();
  tree.share(b, {.tokens = 4, .from = a});
  tree.cut(b, 2);
  EXPECT_EQ(tree.tokens(b), (Tokens{1, 2}));
  EXPECT_EQ(tree.cells(), 5);
  tree.cut(a, 3);
  EXPECT_EQ(tree.cells(), 3);
  EXPECT_EQ(tree.tokens(a), (Tokens{1, 2, 3}));
}

TEST(PrefixTree, CellsAtRestAreThoseThatNoRowNeeds) {
  PrefixTree tree(4, Sharing::kAnyRange);
  const SequenceId a = path_of(tree, {1, 2, 3, 4});
  const SequenceId b = tree.open().value();
  tree.share(b, {.tokens = 3, .from = a});
  tree.rest(a);
  EXPECT_EQ(tree.cells_resting(), 1);
  tree.close(b);
  EXPECT_EQ(tree.cells_resting(), 4);
  const SequenceId c = tree.open().value();
  tree.share(c, tree.longest_match(Tokens{1, 2, 3, 4, 5}));
  EXPECT_EQ(tree.cells_resting(), 0);
}

TEST(PrefixTree, TheLeastRecentlyUsedPathAtRestComesFirst) {
  PrefixTree tree(8, Sharing::kAnyRange);
  const SequenceId a = path_of(tree, {1, 1});
  const SequenceId b = path_of(tree, {2, 2});
  const SequenceId c = path_of(tree, {3, 3});
  for (const SequenceId sequence : {b, a, c})
    tree.rest(sequence);
  EXPECT_THAT(tree.resting(), ElementsAre(b, a, c));
  tree.share(tree.open().value(), tree.longest_match(Tokens{2, 2}));
  EXPECT_THAT(tree.resting(), ElementsAre(a, c, b));
}

TEST(PrefixTree, SequencesEnd) {
  PrefixTree tree(2, Sharing::kAnyRange);
  const SequenceId a = tree.open().value();
  EXPECT_TRUE(tree.open().has_value());
  EXPECT_FALSE(tree.open().has_value());
  tree.close(a);
  EXPECT_EQ(tree.open().value(), a);
}

TEST(PrefixTree, WhereOnlyEndsCanBeSharedOnlyEndsMatch) {
  PrefixTree tree(4, Sharing::kExactEnd);
  const SequenceId a = path_of(tree, {1, 2, 3});
  EXPECT_EQ(tree.longest_match(Tokens{1, 2, 9}).tokens, 0);
  EXPECT_THAT(tree.longest_match(Tokens{1, 2, 3, 9}), IsMatch(3, a.value()));
  const SequenceId kept = tree.copy(a).value();
  tree.extend(a, Tokens{4});
  EXPECT_EQ(tree.cells_resting(), 0) << "the row needs them too";
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
  tree.close(b);
  EXPECT_THAT(tree.longest_match(Tokens{1, 2, 3, 4}), IsMatch(3, a.value()));
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
  for (uint64_t seed = 0; seed < 300; ++seed) {
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
        const Tokens wanted = some_tokens(12);
        const auto match = tree.longest_match(wanted);
        ASSERT_EQ(match.tokens, naive.longest_match(wanted, sharing));
        naive.paths[id] = {};
        if (match.tokens > 0) {
          const auto& from = naive.paths.at(match.from.value()).cells;
          naive.paths.at(id).cells.assign(from.begin(), from.begin() + match.tokens);
          tree.share(*opened, match);
        }
      } else if (const int32_t id = any(); random.chance(0.5)) {
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
        tree.cut(SequenceId(id), kept);
        naive.paths.at(id).cells.resize(static_cast<size_t>(kept));
      } else if (random.chance(0.3)) {
        if (!naive.paths.at(id).live) continue;
        tree.rest(SequenceId(id));
        naive.paths.at(id).live = false;
      } else if (random.chance(0.4)) {
        const auto copied = tree.copy(SequenceId(id));
        ASSERT_EQ(copied.has_value(), naive.paths.size() < static_cast<size_t>(sequences_max));
        if (copied) {
          naive.paths[copied->value()] = {.cells = naive.paths.at(id).cells, .live = false};
        }
      } else {
        tree.close(SequenceId(id));
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
      ASSERT_EQ(tree.cells_resting(), naive.cells(false) - naive.cells(true));
      for (const auto& [open, path] : naive.paths) {
        ASSERT_EQ(tree.tokens(SequenceId(open)), naive.tokens(open));
        ASSERT_EQ(memory[open], naive.tokens(open));
        ASSERT_EQ(tree.size(SequenceId(open)), static_cast<int32_t>(path.cells.size()));
        ASSERT_EQ(tree.shared_size(SequenceId(open)), naive.shared_size(open));
      }
    }
    while (!naive.paths.empty()) {
      tree.close(SequenceId(naive.paths.begin()->first));
      naive.paths.erase(naive.paths.begin());
    }
    ASSERT_EQ(tree.cells(), 0);
    ASSERT_EQ(tree.sequences_free(), sequences_max);
  }
}

}  // namespace
}  // namespace windrow::engine
