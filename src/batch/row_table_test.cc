#include "batch/row_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"

namespace windrow::batch {
namespace {

Hash128 hash_of(uint64_t number) {
  return hash128(std::to_string(number));
}

TEST(RowTable, KnowsNothingAtFirst) {
  RowTable table;
  EXPECT_EQ(table.size(), 0U);
  EXPECT_EQ(table.bytes(), 0U);
  EXPECT_EQ(table.find(hash_of(1)), std::nullopt);
  table.for_each([](uint32_t) { FAIL(); });
}

// Rows in any order, asked for and altered meanwhile, against a map; keys from few bits as well, so
// that they crowd at the front, in one place or at the end, as no hash would have them.
TEST(RowTable, IsAMap) {
  Random random(5);
  for (const uint64_t spread : {UINT64_MAX, uint64_t{7}, uint64_t{3000}}) {
    for (const uint64_t front : {uint64_t{0}, UINT64_MAX - 3000}) {
      RowTable table;
      std::map<std::pair<uint64_t, uint64_t>, uint32_t> expected;
      for (int i = 0; i < 6000; ++i) {
        const Hash128 id{.low = spread == UINT64_MAX ? random.next() : front + random.below(spread),
                         .high = random.below(500)};
        const auto value = static_cast<uint32_t>(1 + random.below(UINT32_MAX - 1));
        const auto [slot, added] = table.find_or_add(id, value);
        ASSERT_EQ(added, expected.try_emplace({id.low, id.high}, value).second);
        if (!added) table.set(slot, value);
        expected[{id.low, id.high}] = value;
        const Hash128 other{.low = id.low, .high = random.below(600)};
        ASSERT_EQ(table.find(other).has_value(), expected.contains({other.low, other.high}));
      }
      ASSERT_EQ(table.size(), expected.size());
      for (const auto& [id, value] : expected) {
        const auto slot = table.find({.low = id.first, .high = id.second});
        ASSERT_TRUE(slot.has_value());
        ASSERT_EQ(table.value(*slot), value);
      }
      size_t count = 0;
      table.for_each([&](uint32_t) { ++count; });
      EXPECT_EQ(count, expected.size());
    }
  }
}

TEST(RowTable, TellsEightyBitsApart) {
  RowTable table;
  EXPECT_TRUE(table.find_or_add({.low = 1, .high = 1}, 1).second);
  EXPECT_TRUE(table.find_or_add({.low = 1, .high = 2}, 1).second);
  EXPECT_TRUE(table.find_or_add({.low = 2, .high = 1}, 1).second);
  EXPECT_FALSE(table.find_or_add({.low = 1, .high = 1 + (uint64_t{1} << 16)}, 1).second);
}

TEST(RowTable, ARowTakesSixteenBytes) {
  RowTable table;
  for (uint64_t i = 0; i < 2'000'000; ++i) {
    table.find_or_add(hash_of(i), 1);
    const size_t small = size_t{4} << 20;  // what a table may take that is still doubled
    ASSERT_LE(table.bytes(), 16 * table.size() + small) << i;
    if (i > 500'000) {
      ASSERT_LE(table.bytes(), 16 * table.size() + 20'000) << i;
    }
  }
}

TEST(RowTable, MovesAway) {
  RowTable table;
  table.find_or_add(hash_of(1), 7);
  RowTable other = std::move(table);
  table = {};
  EXPECT_EQ(table.find(hash_of(1)), std::nullopt);
  EXPECT_TRUE(table.find_or_add(hash_of(1), 8).second);
  EXPECT_EQ(other.value(*other.find(hash_of(1))), 7U);
}

}  // namespace
}  // namespace windrow::batch
