#include "batch/job_paths.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "store/testing/faulty_disk.h"
#include "store/testing/memory_disk.h"
#include "store/testing/temporary_folder.h"

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

std::string problem(const std::string& path) {
  const Result<void> checked = check_output_file("the output", path);
  return checked ? "" : checked.error().message;
}

TEST(OutputFile, AFileOrNothingIsFine) {
  const store::testing::TemporaryFolder folder;
  std::ofstream(folder / "results.jsonl") << "a line\n";
  std::filesystem::create_symlink("results.jsonl", folder / "link");
  EXPECT_EQ(problem(folder / "results.jsonl"), "");
  EXPECT_EQ(problem(folder / "link"), "");
  EXPECT_EQ(problem(folder / "new.jsonl"), "");
  EXPECT_EQ(problem(folder / "no/folder.jsonl"), "") << "whoever opens it knows better";
}

TEST(OutputFile, WhatKeepsNothingIsRefusedByItsKind) {
  const store::testing::TemporaryFolder folder;
  const std::string advice =
      ", which keeps nothing; name a file, and delete it when it is not wanted";
  EXPECT_EQ(problem("/dev/null"), "the output /dev/null is a device" + advice);

  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(problem(pipe), "the output " + pipe + " is a pipe" + advice);
  std::filesystem::create_symlink("pipe", folder / "link");
  EXPECT_EQ(problem(folder / "link"), "the output " + (folder / "link") + " is a pipe" + advice);

  const std::string name = folder / "socket";
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(name.size(), sizeof address.sun_path);
  name.copy(address.sun_path, name.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(problem(name), "the output " + name + " is a socket" + advice);
  ::close(socket);
}

TEST(OutputFile, AFolderIsRefusedAsOne) {
  const store::testing::TemporaryFolder folder;
  EXPECT_EQ(problem(folder.path()),
            "the output " + folder.path() + " is a folder; name a file in it");
}

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
  const auto moves = plan_fresh_moves(with_job(disk), kPaths);
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
  ASSERT_TRUE(move_all(disk, plan_fresh_moves(with_job(disk), kPaths)).has_value());
  ASSERT_TRUE(move_all(disk, plan_fresh_moves(with_job(disk), kPaths)).has_value());
  EXPECT_TRUE(disk.exists("r.old-2.jsonl"));
  EXPECT_TRUE(plan_fresh_moves(disk, kPaths).empty());
}

TEST(PutAside, KilledInBetweenTheResultsHaveNoRecord) {
  for (int64_t operations = 1; operations < 8; ++operations) {
    MemoryDisk memory;
    const auto moves = plan_fresh_moves(with_job(memory), kPaths);
    FaultyDisk disk(memory, {.operations_until_death = operations});
    EXPECT_FALSE(move_all(disk, moves).has_value());
    EXPECT_FALSE(memory.exists(kPaths.record));
    // What is left moves under a name of its own, and nothing is lost.
    ASSERT_TRUE(move_all(memory, plan_fresh_moves(memory, kPaths)).has_value());
    EXPECT_EQ(memory.names().size(), 5U);
  }
}

TEST(FindJob, ByItsResultsOrItsErrors) {
  store::testing::MemoryDisk disk;
  for (const char* results : {"out/r.jsonl", "a.ndjson", "b.v2"}) {
    const JobPaths job = *job_paths(results);
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
}  // namespace windrow::batch
