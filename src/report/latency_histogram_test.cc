#include "report/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"

namespace windrow::report {
namespace {

TEST(LatencyHistogram, NothingHasNoBars) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.quantile_ms(0.5), 0);
  EXPECT_TRUE(histogram.bars(16).empty());
  EXPECT_EQ(histogram_text(histogram, 80), "");
}

// Against sorting them all.
TEST(LatencyHistogram, QuantilesAreRightWithinASixteenth) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    LatencyHistogram histogram;
    std::vector<int64_t> all;
    const int64_t most = int64_t{1} << random.between(1, 40);
    for (int64_t count = random.between(1, 2'000); count > 0; --count) {
      all.push_back(random.between(0, most));
      histogram.add(all.back());
    }
    std::sort(all.begin(), all.end());
    for (const double part : {0.01, 0.5, 0.9, 0.99, 1.0}) {
      const auto rank =
          static_cast<size_t>(std::max(1.0, std::ceil(part * static_cast<double>(all.size()))));
      const int64_t exact = all[rank - 1];
      const int64_t found = histogram.quantile_ms(part);
      ASSERT_LE(found, exact) << "seed " << seed << ", " << part;
      ASSERT_GE(found, exact - exact / 16 - 1) << "seed " << seed << ", " << part;
    }
    EXPECT_EQ(histogram.min_ms(), all.front());
    EXPECT_EQ(histogram.max_ms(), all.back());
  }
}

TEST(LatencyHistogram, BarsHoldEveryTimeOnceAndTouch) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    LatencyHistogram histogram;
    std::vector<int64_t> all;
    for (int64_t count = random.between(1, 300); count > 0; --count) {
      all.push_back(random.between(0, int64_t{1} << random.between(1, 30)));
      histogram.add(all.back());
    }
    const auto bars = histogram.bars(16);
    ASSERT_FALSE(bars.empty());
    ASSERT_LE(bars.size(), 16U) << "seed " << seed;
    for (size_t i = 0; i < bars.size(); ++i) {
      if (i > 0) {
        ASSERT_EQ(bars[i].from_ms, bars[i - 1].to_ms) << "seed " << seed;
      }
      const auto inside = std::count_if(all.begin(), all.end(), [&](int64_t ms) {
        return ms >= bars[i].from_ms && ms < bars[i].to_ms;
      });
      ASSERT_EQ(bars[i].count, inside) << "seed " << seed;
    }
  }
}

TEST(LatencyHistogram, AnyNumberIsATime) {
  LatencyHistogram histogram;
  histogram.add(-5);
  histogram.add(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(histogram.count(), 2);
  EXPECT_EQ(histogram.min_ms(), 0);
  int64_t held = 0;
  for (const LatencyHistogram::Bar& bar : histogram.bars(16))
    held += bar.count;
  EXPECT_EQ(held, 2);
}

TEST(LatencyHistogram, DrawsAsWideAsItMay) {
  LatencyHistogram histogram;
  for (int i = 0; i < 100; ++i)
    histogram.add(8);
  for (int i = 0; i < 50; ++i)
    histogram.add(9);
  histogram.add(10);
  EXPECT_EQ(histogram_text(histogram, 40),
            "   8 ms  ########################### 100\n"
            "   9 ms  ############# 50\n"
            "  10 ms  # 1\n");
  EXPECT_EQ(histogram_text(histogram, 3), histogram_text(histogram, 40));
}

TEST(LatencyHistogram, TimesAsPeopleReadThem) {
  EXPECT_EQ(latency_text(0), "0 ms");
  EXPECT_EQ(latency_text(999), "999 ms");
  EXPECT_EQ(latency_text(1'250), "1.25 s");
  EXPECT_EQ(latency_text(60'000), "1 min 0 s");
}

}  // namespace
}  // namespace windrow::report
