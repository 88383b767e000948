#include "report/find_job.h"

#include <gtest/gtest.h>

#include "store/testing/memory_disk.h"

namespace windrow::report {
namespace {

TEST(FindJob, ByItsResultsOrItsErrors) {
  store::testing::MemoryDisk disk;
  for (const char* results : {"out/r.jsonl", "a.ndjson", "b.v2"}) {
    const batch::JobPaths job = *batch::job_paths(results);
    disk.put(job.results, "");
    disk.put(job.errors, "");
    EXPECT_TRUE(find_job(disk, job.results).value() == job);
    EXPECT_TRUE(find_job(disk, job.errors).value() == job);
  }
}

TEST(FindJob, WhereEveryRowFailedThereNeedBeNoResults) {
  store::testing::MemoryDisk disk;
  disk.put("r.errors.jsonl", "");
  EXPECT_EQ(find_job(disk, "r.errors.jsonl").value().results, "r.jsonl");
}

TEST(FindJob, ErrorsOfTwoJobsAreNotGuessedAt) {
  store::testing::MemoryDisk disk;
  disk.put("r.jsonl", "");
  disk.put("r.ndjson", "");
  disk.put("r.errors.jsonl", "");
  EXPECT_EQ(find_job(disk, "r.errors.jsonl").error().kind, ErrorKind::kInvalid);
  EXPECT_TRUE(find_job(disk, "r.ndjson").has_value());
}

TEST(FindJob, AnInputIsNoJob) {
  store::testing::MemoryDisk disk;
  disk.put("in.jsonl", "{}\n");
  const auto found = find_job(disk, "in.jsonl");
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(found.error().message,
            "in.jsonl is not the output of a job: neither in.job.json nor in.errors.jsonl exists; "
            "name the file that was given to `windrow run` with -o");
  disk.put("in.job.json", "");
  EXPECT_TRUE(find_job(disk, "in.jsonl").has_value());
}

TEST(FindJob, WhatIsNotThereIsSaid) {
  const store::testing::MemoryDisk disk;
  EXPECT_EQ(find_job(disk, "r.jsonl").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(find_job(disk, "r.errors.jsonl").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(find_job(disk, "").error().kind, ErrorKind::kInvalid);
}

}  // namespace
}  // namespace windrow::report
