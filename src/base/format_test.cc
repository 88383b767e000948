#include "base/format.h"

#include <gtest/gtest.h>

namespace windrow {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Format, ThousandsAreSeparated) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1000), "1,000");
  EXPECT_EQ(with_thousands(-1234567), "-1,234,567");
}

TEST(Format, BytesHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(human_bytes(512), "512 B");
  EXPECT_EQ(human_bytes(1536), "1.50 KiB");
  EXPECT_EQ(human_bytes(1023 * 1024), "1.00 MiB");
  EXPECT_EQ(human_bytes(24ULL << 30), "24.0 GiB");
}

TEST(Format, DurationsHaveTheirTwoLargestUnits) {
  EXPECT_EQ(human_duration(milliseconds(420)), "0.4 s");
  EXPECT_EQ(human_duration(seconds(38)), "38 s");
  EXPECT_EQ(human_duration(seconds(125)), "2 min 5 s");
  EXPECT_EQ(human_duration(seconds(3 * 3600 + 12 * 60)), "3 h 12 min");
  EXPECT_EQ(human_duration(hours(52)), "2 d 4 h");
  EXPECT_EQ(human_duration(seconds(-5)), "0.0 s");
}

TEST(Format, RatesKeepTheDigitsThatMeanSomething) {
  EXPECT_EQ(human_rate(0), "0");
  EXPECT_EQ(human_rate(0.0421), "0.042");
  EXPECT_EQ(human_rate(3.614), "3.61");
  EXPECT_EQ(human_rate(128.4), "128");
  EXPECT_EQ(human_rate(12400), "12,400");
}

TEST(Format, PartsAreWholePercents) {
  EXPECT_EQ(percent_of(0), "0 %");
  EXPECT_EQ(percent_of(0.424), "42 %");
  EXPECT_EQ(percent_of(1), "100 %");
}

}  // namespace
}  // namespace windrow
