#include "report/job_runs.h"

#include <gtest/gtest.h>

#include "report/summary.h"
#include "store/testing/memory_disk.h"

namespace windrow::report {
namespace {

Summary summary_of_run(int64_t rows) {
  Summary summary{.end = RunEnd::kInterrupted,
                  .files = *batch::job_paths("r.jsonl"),
                  .started_unix_s = 1000,
                  .ended_unix_s = 1060,
                  .running = std::chrono::seconds(50),
                  .rows_this_run = rows};
  summary.backend.generated_tokens = 10 * rows;
  summary.dispatch.retries = 2;
  summary.upstreams = {{.name = "http://gpu1:8000",
                        .answers = rows,
                        .failures = 1,
                        .latency_s = 0.5,
                        .in_flight_max = 16,
                        .finding = "saturates at 16 in flight"}};
  return summary;
}

TEST(JobRuns, EachRunIsAddedToThoseBefore) {
  store::testing::MemoryDisk disk;
  for (const int64_t rows : {5, 7}) {
    Summary summary = summary_of_run(rows);
    load_runs(disk, summary);
    ASSERT_TRUE(write_summary(disk, summary).has_value());
  }
  const std::vector<RunFigures> runs = read_runs(*disk.read_all("r.summary.json"));
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].rows, 5);
  EXPECT_EQ(runs[1], figures_of(summary_of_run(7)));
  const std::vector<ServerFigures> servers = servers_of(runs);
  ASSERT_EQ(servers.size(), 1U);
  EXPECT_EQ(servers[0].answers, 12);
  EXPECT_EQ(servers[0].failures, 2);
  EXPECT_EQ(servers[0].in_flight_max, 16);
}

TEST(JobRuns, ARunWithoutRowsIsNone) {
  store::testing::MemoryDisk disk;
  Summary summary = summary_of_run(5);
  load_runs(disk, summary);
  ASSERT_TRUE(write_summary(disk, summary).has_value());
  Summary nothing{.files = *batch::job_paths("r.jsonl")};
  load_runs(disk, nothing);
  EXPECT_EQ(nothing.runs.size(), 1U);
  ASSERT_TRUE(write_summary(disk, nothing).has_value());
  EXPECT_EQ(read_runs(*disk.read_all("r.summary.json")).size(), 1U);
}

TEST(JobRuns, AJobThatIsContinuedForYearsKeepsTheLastOnes) {
  store::testing::MemoryDisk disk;
  Summary summary = summary_of_run(1);
  for (size_t i = 0; i < kRunsKept + 5; ++i) {
    summary.rows_this_run = static_cast<int64_t>(i) + 1;
    load_runs(disk, summary);
    ASSERT_TRUE(write_summary(disk, summary).has_value());
  }
  EXPECT_EQ(summary.runs.size(), kRunsKept);
  EXPECT_EQ(summary.runs.front().rows, 6);
}

TEST(JobRuns, AServerThatTheLastRunDidNotAskKeepsItsWindow) {
  RunFigures first{.servers = {{.name = "a", .answers = 3, .in_flight_max = 8, .finding = "x"}}};
  RunFigures second{.servers = {{.name = "a", .in_flight_max = 1}, {.name = "b", .answers = 1}}};
  const std::vector<ServerFigures> servers = servers_of({first, second});
  ASSERT_EQ(servers.size(), 2U);
  EXPECT_EQ(servers[0], first.servers[0]);
}

TEST(JobRuns, WhatIsNoListOfRunsIsNone) {
  EXPECT_TRUE(read_runs("").empty());
  EXPECT_TRUE(read_runs("{\"runs\": 3}").empty());
  EXPECT_TRUE(read_runs("{\"version\": 1}").empty()) << "of an earlier version";
  EXPECT_EQ(read_runs("{\"runs\": [1, {\"rows\": \"x\", \"servers\": [2, {}]}]}").size(), 1U);
}

}  // namespace
}  // namespace windrow::report
