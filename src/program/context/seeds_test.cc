#include "program/context/seeds.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace windrow::program {
namespace {

TEST(Seeds, DependOnTheFirstOneAndOnTheirNumber) {
  SeedPath one(7);
  SeedPath other(7);
  std::vector<uint64_t> of_one;
  for (size_t i = 0; i < 100; ++i)
    of_one.push_back(one.next());
  for (size_t i = 0; i < 100; ++i)
    EXPECT_EQ(other.next(), of_one[i]);
  EXPECT_EQ(one.seed(), 7U);
}

// A change of these would make a resumed job answer its rows differently.
TEST(Seeds, AreTheSameInEveryVersion) {
  SeedPath path(1);
  EXPECT_EQ(path.next(), 15367879493736263942ULL);
  EXPECT_EQ(SeedPath::part_of(1, 0), 1195752830782546847ULL);
}

TEST(Seeds, PathsOfNeighbouringSeedsShareNone) {
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ULL;  // the step of the generator they are made by
  std::set<uint64_t> seen;
  size_t given = 0;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{2}, kGolden, 2 * kGolden}) {
    SeedPath path(seed);
    for (uint64_t i = 0; i < 500; ++i) {
      seen.insert(path.next());
      seen.insert(SeedPath::part_of(seed, i));
      given += 2;
    }
  }
  EXPECT_EQ(seen.size(), given);
}

TEST(Seeds, PartsOfPartsDiffer) {
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 50; ++i)
    for (uint64_t k = 0; k < 50; ++k)
      seen.insert(SeedPath::part_of(SeedPath::part_of(3, i), k));
  EXPECT_EQ(seen.size(), 2500U);
}

}  // namespace
}  // namespace windrow::program
