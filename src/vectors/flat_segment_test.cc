#include "vectors/flat_segment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/random.h"

namespace windrow::vectors {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

using Vector = std::vector<float>;

Vector unit_vector(size_t dimension, Random& random) {
  Vector vector(dimension);
  double squares = 0;
  for (float& number : vector) {
    number = static_cast<float>(random.unit() - 0.5);
    squares += static_cast<double>(number) * static_cast<double>(number);
  }
  for (float& number : vector)
    number = static_cast<float>(number / std::sqrt(squares));
  return vector;
}

double exact_product(const Vector& one, const Vector& other) {
  double sum = 0;
  for (size_t i = 0; i < one.size(); ++i)
    sum += static_cast<double>(one[i]) * static_cast<double>(other[i]);
  return sum;
}

std::vector<int64_t> rows_of(const std::vector<Neighbour>& neighbours) {
  std::vector<int64_t> rows;
  for (const Neighbour& neighbour : neighbours)
    rows.push_back(neighbour.row);
  return rows;
}

TEST(InnerProduct, IsThatOfExactArithmeticForAnyLength) {
  Random random(1);
  for (const size_t dimension : {1U, 7U, 31U, 32U, 33U, 384U, 1000U}) {
    const Vector one = unit_vector(dimension, random);
    const Vector other = unit_vector(dimension, random);
    EXPECT_THAT(inner_product(one, other),
                FloatNear(static_cast<float>(exact_product(one, other)), 1e-6F))
        << dimension;
  }
}

TEST(FlatSegment, FindsTheNearestFirstAndEqualOnesByRow) {
  FlatSegment segment(2);
  segment.set(30, Vector{1, 0});
  segment.set(10, Vector{0, 1});
  segment.set(20, Vector{1, 0});
  segment.set(40, Vector{-1, 0});
  EXPECT_THAT(segment.nearest(Vector{1, 0}, 3),
              ElementsAre(Neighbour{20, 1}, Neighbour{30, 1}, Neighbour{10, 0}));
  EXPECT_THAT(rows_of(segment.nearest(Vector{1, 0}, 1)), ElementsAre(20));
  EXPECT_THAT(rows_of(segment.nearest(Vector{1, 0}, 100)), ElementsAre(20, 30, 10, 40));
  EXPECT_TRUE(segment.nearest(Vector{1, 0}, 0).empty());
}

TEST(FlatSegment, LeavesOutRowsThatAreNotAllowed) {
  FlatSegment segment(2);
  segment.set(1, Vector{1, 0});
  segment.set(2, Vector{0, 1});
  EXPECT_THAT(rows_of(segment.nearest(Vector{1, 0}, 1, [](int64_t row) { return row != 1; })),
              ElementsAre(2));
  EXPECT_TRUE(segment.nearest(Vector{1, 0}, 1, [](int64_t) { return false; }).empty());
}

TEST(FlatSegment, ReplacesAndRemoves) {
  FlatSegment segment(2);
  segment.set(1, Vector{1, 0});
  segment.set(2, Vector{0, 1});
  segment.set(1, Vector{0, 1});
  EXPECT_EQ(segment.size(), 2U);
  EXPECT_THAT(segment.nearest(Vector{0, 1}, 2), ElementsAre(Neighbour{1, 1}, Neighbour{2, 1}));
  segment.remove(1);
  segment.remove(1);
  EXPECT_THAT(rows_of(segment.nearest(Vector{0, 1}, 2)), ElementsAre(2));
  segment.remove(2);
  EXPECT_EQ(segment.size(), 0U);
  EXPECT_TRUE(segment.nearest(Vector{0, 1}, 2).empty());
}

TEST(FlatSegment, AVectorThatIsNotFiniteIsNearNone) {
  FlatSegment segment(2);
  segment.set(1, Vector{std::numeric_limits<float>::quiet_NaN(), 0});
  segment.set(2, Vector{1, 0});
  EXPECT_THAT(rows_of(segment.nearest(Vector{1, 0}, 2)), ElementsAre(2));
}

// A segment after a few thousand random changes against a list of vectors that is sorted.
void compare_with_a_list(uint64_t seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  const size_t dimension = 1 + random.below(70);
  FlatSegment segment(dimension);
  std::map<int64_t, Vector> list;

  for (int step = 0; step < 1500; ++step) {
    const int64_t row = random.between(0, 900);
    if (random.chance(0.3)) {
      segment.remove(row);
      list.erase(row);
    } else {
      const Vector vector = unit_vector(dimension, random);
      segment.set(row, vector);
      list[row] = vector;
    }
  }
  ASSERT_EQ(segment.size(), list.size());

  for (int search = 0; search < 5; ++search) {
    const Vector vector = unit_vector(dimension, random);
    const size_t count_max = 1 + random.below(list.size());
    const int64_t divisor = random.between(1, 3);
    const auto allows = [divisor](int64_t row) { return row % divisor == 0; };
    std::vector<double> expected;
    for (const auto& [row, other] : list)
      if (allows(row)) expected.push_back(exact_product(vector, other));
    std::ranges::sort(expected, std::greater<>());
    expected.resize(std::min(expected.size(), count_max));

    const std::vector<Neighbour> found = segment.nearest(vector, count_max, allows);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(allows(found[i].row));
      EXPECT_NEAR(found[i].cosine, expected[i], 1e-5);
      EXPECT_NEAR(found[i].cosine, exact_product(vector, list.at(found[i].row)), 1e-5);
    }
  }
}

TEST(FlatSegment, FindsWhatASortedListHasAfterRandomChanges) {
  for (uint64_t seed = 1; seed <= 20; ++seed)
    compare_with_a_list(seed);
}

}  // namespace
}  // namespace windrow::vectors
