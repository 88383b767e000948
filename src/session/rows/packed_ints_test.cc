#include "session/rows/packed_ints.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/random.h"

namespace windrow::session {
namespace {

constexpr size_t kBlock = PackedInts::kBlockValues;

std::vector<int32_t> all_of(const PackedInts& packed) {
  std::vector<int32_t> values(packed.size());
  packed.read(0, values);
  return values;
}

// `count` numbers of [low, high].
std::vector<int32_t> numbers(Random& random, size_t count, int64_t low, int64_t high) {
  std::vector<int32_t> values(count);
  for (int32_t& value : values)
    value = static_cast<int32_t>(random.between(low, high));
  return values;
}

size_t bytes_for(std::initializer_list<int32_t> values) {
  std::vector<int32_t> many;
  while (many.size() < kBlock)
    many.insert(many.end(), values);
  many.resize(kBlock);
  PackedInts packed;
  packed.append(many);
  packed.shrink_to_fit();
  EXPECT_EQ(all_of(packed), many);
  return (packed.bytes() - PackedInts().bytes()) / kBlock;
}

TEST(PackedInts, TakesTheNarrowestType) {
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(bytes_for({0, 255}), 1U);
  EXPECT_EQ(bytes_for({-128, 127}), 1U);
  EXPECT_EQ(bytes_for({-1, 128}), 2U);
  EXPECT_EQ(bytes_for({-129}), 2U);
  EXPECT_EQ(bytes_for({0, 256}), 2U);
  EXPECT_EQ(bytes_for({65'535}), 2U);
  EXPECT_EQ(bytes_for({-32'768, 32'767}), 2U);
  EXPECT_EQ(bytes_for({-1, 32'768}), 4U);
  EXPECT_EQ(bytes_for({65'536}), 4U);
  EXPECT_EQ(bytes_for({kMin, kMax}), 4U);
}

TEST(PackedInts, OneWideNumberCostsItsBlockAlone) {
  std::vector<int32_t> values(8 * kBlock, 7);
  values[3 * kBlock + 5] = -70'000;
  PackedInts packed;
  packed.append(values);
  packed.shrink_to_fit();
  EXPECT_EQ(all_of(packed), values);
  EXPECT_LT(packed.bytes(), 11 * kBlock + 1000);
}

TEST(PackedInts, NumbersSurviveTheWideningOfTheirBlock) {
  std::vector<int32_t> values;
  PackedInts packed;
  for (const int32_t value : {0, 255, -1, 127, -300, 40'000, -2'000'000'000, 3}) {
    values.insert(values.end(), 700, value);
    packed.append(std::span<const int32_t>(values).last(700));
    ASSERT_EQ(all_of(packed), values) << value;
  }
}

TEST(PackedInts, GrowthKeepsLittleMore) {
  Random random(1);
  for (const int64_t high : {255, 60'000}) {
    const size_t each = high > 255 ? 2 : 1;
    PackedInts packed;
    size_t total = 0;
    for (int i = 0; i < 1000; ++i) {
      const size_t count = random.below(1500);
      packed.append(numbers(random, count, high, high));
      total += count;
      const size_t needed = total * each;
      ASSERT_LE(packed.bytes(), needed + needed / 8 + needed / 100 + 128) << total;
    }
    packed.shrink_to_fit();
    EXPECT_LE(packed.bytes(), total * each + total / 100 + 128);
  }
}

// 256 tokens of 256 ids each.
TEST(PackedInts, OneTurnTakesItsBytesAndLittleMore) {
  PackedInts packed;
  packed.append(std::vector<int32_t>(256UL * 256UL, 200));
  EXPECT_LE(packed.bytes(), 65'536U + 500U);
}

TEST(PackedInts, AnyHistoryEqualsAPlainVector) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    PackedInts packed;
    std::vector<int32_t> plain;
    for (int step = 0; step < 60; ++step) {
      const uint64_t choice = random.below(10);
      if (choice < 6) {
        const int64_t high = int64_t{1} << random.below(32);
        const int64_t low = random.chance(0.5) ? 0 : -high;
        const size_t count = random.below(random.chance(0.2) ? 2 * kBlock : 300);
        const std::vector<int32_t> more = numbers(random, count, low, std::max(low, high - 1));
        packed.append(more);
        plain.insert(plain.end(), more.begin(), more.end());
      } else if (choice < 7) {
        const size_t size = random.below(plain.size() + 10);
        packed.truncate(size);
        plain.resize(std::min(size, plain.size()));
      } else if (choice < 8) {
        packed.shrink_to_fit();
      } else {
        const size_t first = random.below(plain.size() + 1);
        std::vector<int32_t> read(random.below(plain.size() - first + 1));
        packed.read(first, read);
        ASSERT_TRUE(std::ranges::equal(read, std::span(plain).subspan(first, read.size())));
      }
      ASSERT_EQ(packed.size(), plain.size());
    }
    EXPECT_EQ(all_of(packed), plain);
  }
}

TEST(PackedInts, TruncationGivesBlocksBack) {
  PackedInts packed;
  packed.append(std::vector<int32_t>(10 * kBlock, 1));
  packed.truncate(2 * kBlock);
  EXPECT_LE(packed.bytes(), 2 * kBlock + 1000);
  packed.truncate(0);
  EXPECT_EQ(packed.size(), 0U);
  packed.append(std::vector<int32_t>{5});
  EXPECT_EQ(all_of(packed), std::vector<int32_t>{5});
}

TEST(PackedIntsDeathTest, ReadingBehindTheEndIsADefect) {
  PackedInts packed;
  packed.append(std::vector<int32_t>{1, 2, 3});
  std::vector<int32_t> values(2);
  EXPECT_DEATH(packed.read(2, values), "of a list of 3");
}

}  // namespace
}  // namespace windrow::session
