#include "batch/put_aside.h"

#include <gtest/gtest.h>

#include "store/testing/faulty_disk.h"
#include "store/testing/memory_disk.h"

namespace windrow::batch {
namespace {

using store::testing::FaultyDisk;
using store::testing::MemoryDisk;
using Names = std::set<std::string>;

const JobPaths kPaths = *job_paths("r.jsonl");

MemoryDisk& with_job(MemoryDisk& disk) {
  for (const std::string& name :
       {kPaths.results, kPaths.errors, kPaths.summary, kPaths.record, kPaths.lock}) {
    disk.put(name, name);
  }
  return disk;
}

TEST(PutAside, AJobMovesAsAWholeAndItsRecordFirst) {
  MemoryDisk disk;
  const auto moves = plan_job_aside(with_job(disk), kPaths);
  ASSERT_EQ(moves.size(), 4U);
  EXPECT_EQ(moves[0], (Move{"r.job.json", "r.old-1.job.json"}));
  ASSERT_TRUE(move_all(disk, moves).has_value());
  EXPECT_EQ(disk.names(), (Names{"r.lock", "r.old-1.jsonl", "r.old-1.errors.jsonl",
                                 "r.old-1.summary.json", "r.old-1.job.json"}));
  disk.drop_unsynced();
  EXPECT_TRUE(disk.exists("r.old-1.jsonl"));
}

TEST(PutAside, NoNameIsUsedTwice) {
  MemoryDisk disk;
  ASSERT_TRUE(move_all(disk, plan_job_aside(with_job(disk), kPaths)).has_value());
  ASSERT_TRUE(move_all(disk, plan_job_aside(with_job(disk), kPaths)).has_value());
  EXPECT_TRUE(disk.exists("r.old-2.jsonl"));
  EXPECT_TRUE(plan_job_aside(disk, kPaths).empty());
}

TEST(PutAside, KilledInBetweenTheResultsHaveNoRecord) {
  for (int64_t operations = 1; operations < 8; ++operations) {
    MemoryDisk memory;
    const auto moves = plan_job_aside(with_job(memory), kPaths);
    FaultyDisk disk(memory, {.operations_until_death = operations});
    EXPECT_FALSE(move_all(disk, moves).has_value());
    EXPECT_FALSE(memory.exists(kPaths.record));
    // What is left moves under a name of its own, and nothing is lost.
    ASSERT_TRUE(move_all(memory, plan_job_aside(memory, kPaths)).has_value());
    EXPECT_EQ(memory.names().size(), 5U);
  }
}

}  // namespace
}  // namespace windrow::batch
