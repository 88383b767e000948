#include "engine/schedule/kv_cells.h"

#include <gtest/gtest.h>

#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"

namespace windrow::engine {
namespace {

TEST(CellMap, TheLowestFreeCellIsTaken) {
  CellMap cells;
  EXPECT_EQ(cells.take(), 0);
  EXPECT_EQ(cells.take(), 1);
  EXPECT_EQ(cells.take(), 2);
  cells.give_back(1);
  cells.give_back(0);
  EXPECT_EQ(cells.end(), 3);
  EXPECT_EQ(cells.used(), 1);
  EXPECT_EQ(cells.take(), 0);
  EXPECT_EQ(cells.take(), 1);
  EXPECT_EQ(cells.take(), 3);
}

TEST(CellMap, AgreesWithASetOfFreeCells) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    CellMap cells;
    std::set<int32_t> taken;
    for (int i = 0; i < 300; ++i) {
      if (taken.empty() || random.chance(0.3 + 0.4 * static_cast<double>((i / 50) % 2))) {
        int32_t lowest = 0;
        while (taken.contains(lowest))
          ++lowest;
        ASSERT_EQ(cells.take(), lowest);
        taken.insert(lowest);
      } else {
        auto any = taken.begin();
        std::advance(any, static_cast<std::ptrdiff_t>(random.below(taken.size())));
        cells.give_back(*any);
        taken.erase(any);
      }
      ASSERT_EQ(cells.used(), static_cast<int32_t>(taken.size()));
      ASSERT_EQ(cells.end(), taken.empty() ? 0 : *taken.rbegin() + 1);
    }
  }
}

KeptScore some_score(Token next, int32_t top) {
  KeptScore score{.next = next, .logprob = -0.5F * static_cast<float>(next), .top_asked = top};
  for (int32_t i = 0; i < top; ++i)
    score.top.push_back({.token = 100 + i, .logprob = static_cast<float>(-i)});
  return score;
}

TEST(KeptScores, AreFoundByTheNextTokenAndTheAlternativesThatAreWanted) {
  KeptScores scores;
  EXPECT_EQ(scores.at(0), nullptr);
  scores.keep(2, some_score(7, 3));
  EXPECT_EQ(scores.at(1), nullptr);
  ASSERT_NE(scores.at(2), nullptr);
  EXPECT_EQ(*scores.at(2), some_score(7, 3));
  EXPECT_EQ(scores.at(3), nullptr);
  EXPECT_TRUE(scores.has(2, 7, 0));
  EXPECT_TRUE(scores.has(2, 7, 3));
  EXPECT_FALSE(scores.has(2, 7, 4));
  EXPECT_FALSE(scores.has(2, 8, 3));
  EXPECT_FALSE(scores.has(1, 7, 0));
}

TEST(KeptScores, AreReplacedOnlyByThoseOfTheSameTokenWithMoreAlternatives) {
  KeptScores scores;
  scores.keep(0, some_score(7, 2));
  scores.keep(0, some_score(8, 5));
  EXPECT_EQ(*scores.at(0), some_score(7, 2));
  scores.keep(0, some_score(7, 1));
  EXPECT_EQ(*scores.at(0), some_score(7, 2));
  scores.keep(0, some_score(7, 4));
  EXPECT_EQ(*scores.at(0), some_score(7, 4));
}

// Runs that are cut, joined and scored at random, beside plain lists of places.
TEST(KeptScores, GoWhereTheirTokensGo) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    using Places = std::vector<std::optional<KeptScore>>;
    std::vector<std::pair<KeptScores, Places>> runs;
    runs.emplace_back(KeptScores(), Places(static_cast<size_t>(random.between(1, 30))));
    for (int verb = 0; verb < 60; ++verb) {
      const auto i = static_cast<size_t>(random.below(runs.size()));
      auto& [scores, places] = runs[i];
      if (random.chance(0.6)) {
        const auto place = static_cast<size_t>(random.below(places.size()));
        const KeptScore score =
            some_score(static_cast<Token>(random.below(50)), static_cast<int32_t>(random.below(3)));
        std::optional<KeptScore>& there = places[place];
        const bool better =
            there && there->next == score.next && there->top_asked < score.top_asked;
        if (!there || better) there = score;
        scores.keep(place, score);
      } else if (random.chance(0.5) && places.size() > 1) {
        const auto at = static_cast<size_t>(random.between(1, std::ssize(places) - 1));
        KeptScores behind = scores.split(at);
        Places places_behind(places.begin() + static_cast<std::ptrdiff_t>(at), places.end());
        places.resize(at);
        runs.emplace_back(std::move(behind), std::move(places_behind));
      } else if (runs.size() > 1 && i + 1 < runs.size()) {
        auto& [behind, places_behind] = runs.back();
        scores.join(places.size(), std::move(behind));
        places.insert(places.end(), places_behind.begin(), places_behind.end());
        runs.pop_back();
      }
      for (const auto& [kept, expected] : runs) {
        for (size_t place = 0; place < expected.size(); ++place) {
          const KeptScore* score = kept.at(place);
          ASSERT_EQ(score != nullptr, expected[place].has_value());
          if (score != nullptr) {
            ASSERT_EQ(*score, *expected[place]);
          }
        }
        ASSERT_EQ(kept.at(expected.size()), nullptr);
      }
    }
  }
}

}  // namespace
}  // namespace windrow::engine
