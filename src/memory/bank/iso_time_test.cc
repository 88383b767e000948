#include "memory/bank/iso_time.h"

#include <gtest/gtest.h>

#include <string_view>

namespace windrow::memory {
namespace {

constexpr int64_t kTen30 = 1'705'314'600'000;  // 2024-01-15T10:30:00Z

TEST(IsoTime, IsWrittenWithAnOffset) {
  EXPECT_EQ(to_iso(kTen30), "2024-01-15T10:30:00+00:00");
  EXPECT_EQ(to_iso(kTen30 + 7), "2024-01-15T10:30:00.007000+00:00");
  EXPECT_EQ(to_iso(0), "1970-01-01T00:00:00+00:00");
  EXPECT_EQ(to_iso(-1), "1969-12-31T23:59:59.999000+00:00");
}

TEST(IsoTime, OutsideOfFourDigitsOfAYearTheNearestIsWritten) {
  EXPECT_EQ(to_iso(INT64_MAX), "9999-12-31T23:59:59.999000+00:00");
  EXPECT_EQ(to_iso(INT64_MIN), "0000-01-01T00:00:00+00:00");
}

TEST(IsoTime, FormsThatAreRead) {
  for (const std::string_view same :
       {"2024-01-15T10:30:00+00:00", "2024-01-15T10:30:00Z", "2024-01-15T10:30:00.000Z",
        "2024-01-15 10:30", "2024-01-15T12:30+02:00", "2024-01-15T05:00:00-0530",
        "2024-01-15T11:30:00+01"})
    EXPECT_EQ(unix_ms_from_iso(same), kTen30) << same;
  EXPECT_EQ(unix_ms_from_iso("2024-01-15T10:30:00.5Z"), kTen30 + 500);
  EXPECT_EQ(unix_ms_from_iso("2024-01-15T10:30:00.123456+00:00"), kTen30 + 123);
  EXPECT_EQ(unix_ms_from_iso("2024-01-15"), kTen30 - 37'800'000);
  EXPECT_EQ(unix_ms_from_iso("2024-02-29"), unix_ms_from_iso("2024-03-01").value() - 86'400'000);
}

TEST(IsoTime, WhatIsNoTimeIsNothing) {
  for (const std::string_view wrong :
       {"", "yesterday", "2024", "2024-1-5", "2023-02-29", "2024-13-01", "2024-01-15T",
        "2024-01-15T24:00", "2024-01-15T10:60", "2024-01-15T10:30:00.", "2024-01-15T10:30:00+1",
        "2024-01-15T10:30:00Zx", "2024-01-15T10:30:00 Z", "+2024-01-15"})
    EXPECT_EQ(unix_ms_from_iso(wrong), std::nullopt) << wrong;
}

TEST(IsoTime, WhatIsWrittenIsReadAgain) {
  for (int64_t ms :
       {int64_t{0}, kTen30 + 1, int64_t{-62'000'000'123}, int64_t{253'402'300'799'999}})
    EXPECT_EQ(unix_ms_from_iso(to_iso(ms)), ms);
}

}  // namespace
}  // namespace windrow::memory
