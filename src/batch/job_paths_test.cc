#include "batch/job_paths.h"

#include <gtest/gtest.h>

namespace windrow::batch {
namespace {

TEST(JobPaths, StandBesideTheResults) {
  const JobPaths paths = *job_paths("out/results.jsonl");
  EXPECT_EQ(paths.results, "out/results.jsonl");
  EXPECT_EQ(paths.errors, "out/results.errors.jsonl");
  EXPECT_EQ(paths.summary, "out/results.summary.json");
  EXPECT_EQ(paths.record, "out/results.job.json");
  EXPECT_EQ(paths.lock, "out/results.lock");
  EXPECT_EQ(paths.old(1), *job_paths("out/results.old-1.jsonl"));
}

TEST(JobPaths, AnEndingThatIsNotKnownStays) {
  EXPECT_EQ(job_paths("out.v2")->errors, "out.v2.errors.jsonl");
  EXPECT_EQ(job_paths("out.v2")->old(3).results, "out.v2.old-3");
  EXPECT_EQ(job_paths("x.ndjson")->errors, "x.errors.jsonl");
  EXPECT_EQ(job_paths("x.ndjson")->old(1).results, "x.old-1.ndjson");
  EXPECT_EQ(job_paths("d/.jsonl")->errors, "d/.jsonl.errors.jsonl");
}

TEST(JobPaths, ANameThatCannotBeMeantIsRefused) {
  for (const char* path : {"", "-", "out/", "a.jsonl.gz", "a.zst"}) {
    EXPECT_EQ(job_paths(path).error().kind, ErrorKind::kInvalid) << path;
  }
}

}  // namespace
}  // namespace windrow::batch
