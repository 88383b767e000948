// Whatever happens to the disk and the process: what was said to be done is on disk, the logs are
// valid, and the same command brings the job to exactly one line per row.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>

#include "base/random.h"
#include "base/testing/rounds.h"
#include "batch/log_rewrite.h"
#include "batch/testing/job_rig.h"
#include "store/posix_disk.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/memory_disk.h"
#include "store/testing/temporary_folder.h"

namespace windrow::batch {
namespace {

using store::testing::FaultyDisk;
using store::testing::MemoryDisk;
using testing::Entries;
using testing::entries_of;
using testing::Expected;
using testing::expected_of;
using testing::input_lines_of;
using testing::job_options;
using testing::JobOutcome;
using testing::JobRun;
using testing::left_files;
using testing::LeftFiles;
using testing::row_line;
using testing::run_job;
using testing::split_lines;

const std::string kInput = row_line("a", "one") + row_line("b", "bad") + "rubbish\n" +
                           row_line("c", "three") + row_line("a", "again") + row_line("d", "four") +
                           row_line("e", "five");

// Empty when each row of `input` has exactly one line, and the right one.
std::string fault_in(store::Disk& disk, const std::string& input) {
  const Expected expected = expected_of(input);
  const LeftFiles left = left_files(disk);
  if (entries_of(left.results) != expected.results) return "results:\n" + left.results;
  if (entries_of(left.errors) != expected.errors) return "errors:\n" + left.errors;
  return "";
}

// Empty when the logs are whole lines, none twice, none that should not be.
std::string fault_in_part(store::Disk& disk, const std::string& input) {
  const Expected expected = expected_of(input);
  const LeftFiles left = left_files(disk);
  const Entries results = entries_of(left.results);
  const Entries errors = entries_of(left.errors);
  if (!std::includes(expected.results.begin(), expected.results.end(), results.begin(),
                     results.end())) {
    return "results:\n" + left.results;
  }
  if (!std::includes(expected.errors.begin(), expected.errors.end(), errors.begin(),
                     errors.end())) {
    return "errors:\n" + left.errors;
  }
  return "";
}

// --- a torn end -------------------------------------------------------------------------------

class TornLogTest : public ::testing::TestWithParam<std::string> {};

std::string name_of(const ::testing::TestParamInfo<std::string>& tested) {
  return tested.param == "r.jsonl" ? "Results" : "Errors";
}

INSTANTIATE_TEST_SUITE_P(Both, TornLogTest, ::testing::Values("r.jsonl", "r.errors.jsonl"),
                         name_of);

TEST_P(TornLogTest, CutAtEveryByteOfItsLastThreeLinesItIsContinuedExactly) {
  MemoryDisk whole;
  ASSERT_TRUE(run_job(whole, {.input = kInput}).completed());
  const std::string log = whole.get(GetParam());
  const std::vector<std::string> lines = split_lines(log);
  ASSERT_GE(lines.size(), 3U);
  size_t tail = 0;
  for (size_t i = lines.size() - 3; i < lines.size(); ++i)
    tail += lines[i].size() + 1;

  for (size_t cut = log.size() - tail; cut <= log.size(); cut += windrow::testing::rounds(5U, 1U)) {
    MemoryDisk disk;
    for (const std::string& name : whole.names())
      disk.put(name, whole.get(name));
    disk.put(GetParam(), log.substr(0, cut));
    const std::string whole_lines = log.substr(0, log.substr(0, cut).rfind('\n') + 1);

    const JobOutcome outcome = run_job(disk, {.input = kInput});
    ASSERT_TRUE(outcome.completed()) << "cut at " << cut << ": " << outcome.error();
    ASSERT_EQ(outcome.start.torn_bytes, static_cast<int64_t>(cut - whole_lines.size()));
    ASSERT_TRUE(disk.get(GetParam()).starts_with(whole_lines)) << "cut at " << cut;
    ASSERT_EQ(fault_in(disk, kInput), "") << "cut at " << cut;
  }
}

// --- a disk that is full ----------------------------------------------------------------------

TEST(FullDisk, AtEveryByteTheLogsStayValidAndTheJobContinues) {
  MemoryDisk measured;
  FaultyDisk counter(measured);
  ASSERT_TRUE(run_job(counter, {.input = kInput}).completed());
  // All with --full; otherwise every ninth, which is within each member of each line.
  const int64_t step = windrow::testing::rounds(9, 1);
  int64_t full = 0;
  for (int64_t bytes = 0; bytes < counter.bytes_written(); bytes += step) {
    MemoryDisk memory;
    FaultyDisk disk(memory, {.bytes_until_full = bytes});
    const JobOutcome outcome = run_job(disk, {.input = kInput});
    ASSERT_FALSE(outcome.result.has_value()) << "full after " << bytes;
    ASSERT_EQ(outcome.result.error().kind, ErrorKind::kDiskFull) << outcome.error();
    ASSERT_EQ(exit_code(outcome.result), 2);
    ASSERT_NE(outcome.error().find("are safe in r.jsonl"), std::string::npos) << outcome.error();
    if (memory.exists("r.jsonl")) ++full;
    ASSERT_EQ(fault_in_part(memory, kInput), "") << "full after " << bytes;
    const JobOutcome again = run_job(memory, {.input = kInput});
    ASSERT_TRUE(again.completed()) << again.error();
    ASSERT_EQ(fault_in(memory, kInput), "") << "full after " << bytes;
  }
  EXPECT_GT(full, 2000 / step);
}

TEST(FullDisk, TheMessageSaysHowMuchIsSafe) {
  MemoryDisk memory;
  FaultyDisk disk(memory, {.bytes_until_full = 20'000});
  std::string input;
  for (int i = 0; i < 500; ++i)
    input += row_line(fmt::format("r{}", i), "p");
  const JobOutcome outcome = run_job(disk, {.input = input});
  const size_t rows = split_lines(memory.get("r.jsonl")).size();
  EXPECT_NE(outcome.error().find(fmt::format("; {} rows (", rows)), std::string::npos)
      << outcome.error();
  EXPECT_NE(outcome.error().find("then run the same command again"), std::string::npos);
  EXPECT_EQ(outcome.counters->rows_succeeded, static_cast<int64_t>(rows));
}

// A real file, a real limit: in a process of its own, as the limit stays with it.
TEST(FullDisk, AFileSizeLimitOfTheSystemIsOne) {
  const store::testing::TemporaryFolder folder;
  std::string input;
  for (int i = 0; i < 200; ++i)
    input += row_line(fmt::format("r{}", i), fmt::format("p{}", i));
  JobRun job{.input = input, .options = job_options()};
  job.options.output_path = folder / "r.jsonl";

  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 30'000, .rlim_max = 30'000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(90);
    store::PosixDisk disk;
    const JobOutcome outcome = run_job(disk, job);
    if (outcome.result) _exit(91);
    if (outcome.result.error().kind != ErrorKind::kDiskFull) _exit(92);
    _exit(exit_code(outcome.result));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);

  store::PosixDisk disk;
  const std::string results = *disk.read_all(job.options.output_path);
  EXPECT_LE(results.size(), 30'000U);
  const size_t safe = split_lines(results).size();
  EXPECT_LT(safe, 200U);  // none where all rows came in one group, which then did not fit
  const JobOutcome again = run_job(disk, job);
  ASSERT_TRUE(again.completed()) << again.error();
  EXPECT_EQ(again.submitted, static_cast<int64_t>(200 - safe));
  EXPECT_EQ(entries_of(*disk.read_all(job.options.output_path)), expected_of(input).results);
}

// --- disks that fail otherwise ----------------------------------------------------------------

TEST(FailingDisk, AFailedSyncStopsTheJobAndIsNoResult) {
  for (int64_t syncs = 0; syncs < 3; ++syncs) {
    MemoryDisk memory;
    FaultyDisk disk(memory, {.syncs_until_failure = syncs});
    // One row at a time, so that there are more groups than syncs.
    JobRun job{.input = kInput, .backend = {.rows_max = 1}};
    const JobOutcome outcome = run_job(disk, job);
    if (outcome.completed()) continue;  // all rows in fewer groups
    ASSERT_EQ(outcome.result.error().kind, ErrorKind::kIo);
    ASSERT_NE(outcome.error().find("Remove the cause"), std::string::npos);
    ASSERT_EQ(static_cast<int64_t>(split_lines(memory.get("r.jsonl")).size()),
              outcome.counters->rows_succeeded);
    memory.drop_unsynced();
    ASSERT_EQ(static_cast<int64_t>(split_lines(memory.get("r.jsonl")).size()),
              outcome.counters->rows_succeeded);
    ASSERT_TRUE(run_job(memory, job).completed());
    ASSERT_EQ(fault_in(memory, kInput), "");
  }
  MemoryDisk memory;
  FaultyDisk disk(memory, {.syncs_until_failure = 0});
  EXPECT_FALSE(run_job(disk, {.input = kInput}).completed());
}

TEST(FailingDisk, AShortWriteStopsTheJob) {
  for (const bool truncate_fails : {false, true}) {
    MemoryDisk memory;
    FaultyDisk disk(memory, {.appends_until_short = 0, .truncate_fails = truncate_fails});
    ASSERT_EQ(run_job(disk, {.input = kInput}).result.error().kind, ErrorKind::kIo);
    ASSERT_TRUE(run_job(memory, {.input = kInput}).completed());
    ASSERT_EQ(fault_in(memory, kInput), "");
  }
}

TEST(FailingDisk, ARecordThatCannotBeWrittenStopsTheJobBeforeItRuns) {
  MemoryDisk memory;
  FaultyDisk disk(memory, {.write_atomically_fails = true});
  const JobOutcome outcome = run_job(disk, {.input = kInput});
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::kIo);
  EXPECT_EQ(outcome.submitted, 0);
  EXPECT_EQ(memory.names(), (std::set<std::string>{"r.errors.jsonl", "r.jsonl"}));
  EXPECT_EQ(memory.get("r.jsonl") + memory.get("r.errors.jsonl"), "");
}

TEST(FailingDisk, ALogThatCannotBeReadIsNotTakenForEmpty) {
  MemoryDisk memory;
  ASSERT_TRUE(run_job(memory, {.input = kInput}).completed());
  const std::string before = memory.get("r.jsonl");
  FaultyDisk disk(memory, {.read_fails = true});
  EXPECT_EQ(run_job(disk, {.input = kInput}).result.error().kind, ErrorKind::kIo);
  EXPECT_EQ(memory.get("r.jsonl"), before);
}

TEST(FailingDisk, WhatCountsAsDoneSurvivesALossOfPower) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    MemoryDisk memory;
    std::string input;
    for (int i = 0; i < 60; ++i)
      input += row_line(fmt::format("r{}", i), "p");
    const int64_t death = random.between(4, 40);
    FaultyDisk disk(memory, {.operations_until_death = death});
    const JobOutcome outcome = run_job(disk, {.input = input, .backend = {.rows_max = 1}});
    const int64_t counted = outcome.counters->rows_succeeded;
    if (seed % 2 == 0) {
      memory.drop_unsynced();
    } else {
      memory.lose_power(random);
    }
    const JobOutcome again = run_job(memory, {.input = input});
    ASSERT_TRUE(again.completed()) << "seed " << seed << ": " << again.error();
    ASSERT_GE(again.start.results_before, counted) << "seed " << seed;
    ASSERT_EQ(fault_in(memory, input), "") << "seed " << seed;
  }
}

// --- killed -----------------------------------------------------------------------------------

// Runs `job` on a disk with `files`, killed after each of its operations in turn, and then once
// more without being killed, with `finally` as options.
void kill_everywhere(const MemoryDisk& files, const JobRun& job, const JobOptions& finally,
                     const std::function<void(MemoryDisk&, int64_t)>& check) {
  for (const bool power : {false, true}) {
    // Groups are drawn by the threads, so the number of operations is not always the same: go on
    // until a run was not killed.
    for (int64_t operations = 0;; ++operations) {
      ASSERT_LT(operations, 200);
      MemoryDisk memory;
      for (const std::string& name : files.names())
        memory.put(name, files.get(name));
      FaultyDisk disk(memory, {.operations_until_death = operations,
                               .last_append_part = static_cast<double>(operations % 5) / 4});
      const bool lived = run_job(disk, job).completed();
      Random random(static_cast<uint64_t>(operations));
      if (power) memory.lose_power(random);
      JobRun last = job;
      last.options = finally;
      const JobOutcome again = run_job(memory, last);
      ASSERT_TRUE(again.completed()) << "killed after " << operations << ": " << again.error();
      check(memory, operations);
      if (lived) break;
    }
  }
}

TEST(Killed, AfterAnyOperationTheJobContinues) {
  const MemoryDisk nothing;
  kill_everywhere(nothing, {.input = kInput, .options = job_options()}, job_options(),
                  [](MemoryDisk& disk, int64_t operations) {
                    ASSERT_EQ(fault_in(disk, kInput), "") << "killed after " << operations;
                  });
}

TEST(Killed, AnOrderedJobEndsInOrder) {
  std::string input;
  for (int i = 0; i < 30; ++i)
    input += row_line(fmt::format("r{}", i), i % 4 == 0 ? "bad" : "p");
  const MemoryDisk nothing;
  JobOptions options = job_options();
  options.ordered = true;
  kill_everywhere(nothing,
                  {.input = input, .options = options, .backend = {.rows_max = 8, .order_seed = 3}},
                  options, [&](MemoryDisk& disk, int64_t operations) {
                    ASSERT_EQ(fault_in(disk, input), "") << "killed after " << operations;
                    for (const char* name : {"r.jsonl", "r.errors.jsonl"}) {
                      const auto order = input_lines_of(disk.get(name));
                      ASSERT_TRUE(std::is_sorted(order.begin(), order.end()))
                          << name << " killed after " << operations;
                      ASSERT_FALSE(disk.exists(ordered_temporary(name)));
                    }
                  });
}

TEST(Killed, WhileFailedRowsAreRetriedNoneIsLost) {
  MemoryDisk done;
  ASSERT_TRUE(run_job(done, {.input = kInput}).completed());
  JobOptions retry = job_options();
  retry.retry_failed = true;
  kill_everywhere(done, {.input = kInput, .options = retry}, job_options(),
                  [](MemoryDisk& disk, int64_t operations) {
                    ASSERT_EQ(fault_in(disk, kInput), "") << "killed after " << operations;
                  });
}

TEST(Killed, WhileStartingFreshNoOldFileIsLost) {
  MemoryDisk done;
  ASSERT_TRUE(run_job(done, {.input = kInput}).completed());
  JobOptions fresh = job_options();
  fresh.fresh = true;
  kill_everywhere(done, {.input = kInput, .options = fresh}, fresh,
                  [&](MemoryDisk& disk, int64_t operations) {
                    ASSERT_EQ(fault_in(disk, kInput), "") << "killed after " << operations;
                    Entries kept;
                    for (const std::string& name : disk.names()) {
                      if (name.starts_with("r.old-") && name.ends_with(".jsonl")) {
                        kept.merge(entries_of(disk.get(name)));
                      }
                    }
                    const Expected expected = expected_of(kInput);
                    ASSERT_TRUE(std::includes(kept.begin(), kept.end(), expected.results.begin(),
                                              expected.results.end()))
                        << "killed after " << operations;
                  });
}

// --- the lock ---------------------------------------------------------------------------------

TEST(OutputLock, IsHeldAgainstAnotherProcess) {
  const store::testing::TemporaryFolder folder;
  JobOptions options = job_options();
  options.output_path = folder / "r.jsonl";
  store::PosixDisk disk;
  windrow::testing::ManualClock clock;
  testing::MemoryInput input(kInput);
  const auto open = [&](JobCounters& counters) {
    return JobRunner::open(options, {.disk = disk, .clock = clock, .input = input}, counters);
  };
  const pid_t parent = getpid();
  JobCounters counters;
  auto runner = open(counters);
  ASSERT_TRUE(runner.has_value());
  const pid_t child = fork();
  if (child == 0) {
    JobCounters own;
    const auto second = open(own);
    if (second) _exit(90);
    if (second.error().kind != ErrorKind::kConflict) _exit(91);
    const std::string holder = fmt::format("process {}", parent);
    _exit(second.error().message.find(holder) != std::string::npos ? 0 : 92);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);

  JobCounters again;
  EXPECT_EQ(open(again).error().kind, ErrorKind::kConflict);
  *runner = nullptr;
  EXPECT_TRUE(open(again).has_value());
}

}  // namespace
}  // namespace windrow::batch
