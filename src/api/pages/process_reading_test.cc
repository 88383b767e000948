#include "api/pages/process_reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace windrow::api {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Fields 3 to 24 of proc(5), with one number behind them.
constexpr std::string_view kFields =
    " S 1 2 2 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0 3000 4096000 500 99\n";

TEST(ProcessReading, IsThatOfTheFieldsBehindTheName) {
  const std::string stat = "77 (a) (b 1 2) (c)" + std::string(kFields);
  const ProcessReading reading =
      process_of(stat, "cpu 1 2\nbtime 1700000000\nprocs 3\n", 100, 4096);
  EXPECT_EQ(reading.cpu_seconds, 3.0);
  EXPECT_EQ(reading.virtual_bytes, 4096000);
  EXPECT_EQ(reading.resident_bytes, 500 * 4096);
  EXPECT_EQ(reading.start_unix_s, 1700000030.0);
}

TEST(ProcessReading, WhatIsMissingIsAbsent) {
  EXPECT_FALSE(process_of("", "", 100, 4096).cpu_seconds.has_value());
  EXPECT_FALSE(process_of("77 (windrow) S 1 2", "", 100, 4096).resident_bytes.has_value());
  const ProcessReading reading =
      process_of("77 (windrow)" + std::string(kFields), "cpu 1 2\n", 100, 4096);
  EXPECT_TRUE(reading.cpu_seconds.has_value());
  EXPECT_FALSE(reading.start_unix_s.has_value());
}

TEST(ProcessReading, OfThisProcessIsThere) {
  const ProcessReading reading = read_process();
  EXPECT_GE(reading.cpu_seconds.value_or(-1), 0);
  EXPECT_GT(reading.start_unix_s.value_or(0), 1e9);
  EXPECT_GT(reading.resident_bytes.value_or(0), int64_t{1} << 20);
  EXPECT_GT(reading.virtual_bytes.value_or(0), reading.resident_bytes.value_or(0));
  EXPECT_GE(reading.open_fds.value_or(0), 1);
}

TEST(ProcessReading, FamiliesAreThereWithoutValuesToo) {
  MetricsWriter page;
  add_process_metrics({.cpu_seconds = 1.5, .max_fds = 1024}, page);
  const std::string text = page.finish();
  EXPECT_THAT(text, HasSubstr("# TYPE process_cpu_seconds_total counter\n"
                              "process_cpu_seconds_total 1.5\n"));
  EXPECT_THAT(text, HasSubstr("process_max_fds 1024\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE process_open_fds gauge\n"));
  EXPECT_THAT(text, Not(HasSubstr("\nprocess_open_fds")));
}

}  // namespace
}  // namespace windrow::api
