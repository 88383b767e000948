#include "engine/schedule/cell_map.h"

#include <gtest/gtest.h>

#include <set>

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

}  // namespace
}  // namespace windrow::engine
