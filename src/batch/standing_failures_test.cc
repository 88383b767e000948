#include "batch/standing_failures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "batch/result_line.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/memory_disk.h"

namespace windrow::batch {

namespace {

// Against what the rule says, in so many words.
TEST(StandingFailures, TheLastLineOfARowWithoutAResultCounts) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    std::vector<uint64_t> failures(random.below(40));
    for (uint64_t& row : failures)
      row = random.below(15);
    std::set<uint64_t> results;
    for (uint64_t n = random.below(10); n > 0; --n)
      results.insert(random.below(15));

    StandingFailures standing;
    std::map<uint64_t, size_t> last;
    for (size_t i = 0; i < failures.size(); ++i) {
      standing.add_failure(hash128(std::to_string(failures[i])));
      last[failures[i]] = i;
    }
    for (const uint64_t row : results)
      standing.add_result(hash128(std::to_string(row)));
    EXPECT_EQ(standing.size(), last.size());
    for (size_t i = 0; i < failures.size(); ++i) {
      const bool counts = last[failures[i]] == i && !results.contains(failures[i]);
      ASSERT_EQ(standing.take(hash128(std::to_string(failures[i]))), counts)
          << "line " << i << ", seed " << seed;
    }
  }
}

TEST(StandingFailures, WhatWasNotAddedDoesNotCount) {
  StandingFailures standing;
  standing.add_failure({.low = 1, .high = 1});
  EXPECT_FALSE(standing.take({.low = 2, .high = 1}));
  EXPECT_TRUE(standing.take({.low = 1, .high = 1}));
  EXPECT_FALSE(standing.take({.low = 1, .high = 1}));
}

using store::testing::FaultyDisk;
using store::testing::MemoryDisk;

const JobPaths kPaths = *job_paths("r.jsonl");

RowKey key_of(const std::string& id) {
  return {.line = 1, .custom_id = id, .identity = row_identity(id), .fingerprint = 7};
}

std::string result(const std::string& id) {
  const llm::Answer answer{.choices = {{.text = "x"}}};
  return result_line(key_of(id), llm::Endpoint::kCompletions, "m", answer, {.attempts = 1}, 0);
}

std::string failure(const std::string& id, const std::string& code) {
  return error_line({.key = key_of(id), .failure = {.status = 500, .code = code}}, {.attempts = 1});
}

bool keep_all(const LogLine&) {
  return true;
}

TEST(SettleErrors, AResultEndsAFailureAndTheLastFailureCounts) {
  MemoryDisk disk;
  disk.put("r.jsonl", result("answered") + result("other"));
  disk.put("r.errors.jsonl", failure("answered", "a") + failure("twice", "first") +
                                 failure("once", "c") + failure("twice", "second"));
  const auto settled = settle_errors(disk, kPaths, 0, keep_all);
  ASSERT_TRUE(settled.has_value()) << settled.error().message;
  EXPECT_EQ(*settled, 2);
  EXPECT_EQ(disk.get("r.errors.jsonl"), failure("once", "c") + failure("twice", "second"));
  EXPECT_FALSE(disk.exists(settled_temporary("r.errors.jsonl")));
  disk.drop_unsynced();
  EXPECT_EQ(disk.get("r.errors.jsonl"), failure("once", "c") + failure("twice", "second"));
}

TEST(SettleErrors, WhereNothingGoesNothingIsWritten) {
  MemoryDisk memory;
  FaultyDisk disk(memory, {.operations_until_death = 0});
  EXPECT_EQ(settle_errors(disk, kPaths, 0, keep_all).value(), 0) << "no logs";
  memory.put("r.jsonl", result("a"));
  memory.put("r.errors.jsonl", failure("b", "x"));
  EXPECT_EQ(settle_errors(disk, kPaths, 0, keep_all).value(), 0);
}

TEST(SettleErrors, OnlyWhatCountsIsAskedAboutAndMayGo) {
  MemoryDisk disk;
  disk.put("r.jsonl", result("answered"));
  disk.put("r.errors.jsonl",
           failure("answered", "a") + failure("kept", "b") + failure("dropped", "c"));
  std::string asked;
  const auto settled = settle_errors(disk, kPaths, 0, [&](const LogLine& line) {
    asked += fmt::format("{} ", line.custom_id);
    return line.custom_id != "dropped";
  });
  ASSERT_TRUE(settled.has_value());
  EXPECT_EQ(*settled, 2);
  EXPECT_EQ(asked, "kept dropped ");
  EXPECT_EQ(disk.get("r.errors.jsonl"), failure("kept", "b"));
}

TEST(SettleErrors, OlderResultsNeedNotBeReadAgain) {
  MemoryDisk disk;
  const std::string older = "whatever stands here\n";
  disk.put("r.jsonl", older + result("answered"));
  disk.put("r.errors.jsonl", failure("answered", "a") + failure("b", "x"));
  EXPECT_EQ(settle_errors(disk, kPaths, older.size(), keep_all).value(), 1);
  EXPECT_EQ(disk.get("r.errors.jsonl"), failure("b", "x"));
}

TEST(SettleErrors, KilledAnywhereItIsTheOldLogOrTheNew) {
  const std::string old =
      failure("answered", "a") + failure("twice", "first") + failure("twice", "second");
  const std::string settled = failure("twice", "second");
  bool died = true;
  for (int64_t operations = 0; died; ++operations) {
    MemoryDisk memory;
    memory.put("r.jsonl", result("answered"));
    memory.put("r.errors.jsonl", old);
    FaultyDisk disk(memory, {.operations_until_death = operations});
    died = !settle_errors(disk, kPaths, 0, keep_all).has_value();
    memory.drop_unsynced();
    const std::string left = memory.get("r.errors.jsonl");
    ASSERT_TRUE(left == old || left == settled) << "killed after " << operations;
    ASSERT_TRUE(settle_errors(memory, kPaths, 0, keep_all).has_value());
    ASSERT_EQ(memory.get("r.errors.jsonl"), settled);
  }
}

TEST(SettleErrors, AFullDiskLeavesTheOldLog) {
  MemoryDisk memory;
  memory.put("r.jsonl", result("answered"));
  memory.put("r.errors.jsonl", failure("answered", "a") + failure("b", "x"));
  FaultyDisk disk(memory, {.bytes_until_full = 20});
  const auto settled = settle_errors(disk, kPaths, 0, keep_all);
  ASSERT_FALSE(settled.has_value());
  EXPECT_EQ(settled.error().kind, ErrorKind::kDiskFull);
  EXPECT_EQ(memory.get("r.errors.jsonl"), failure("answered", "a") + failure("b", "x"));
  EXPECT_FALSE(memory.exists(settled_temporary("r.errors.jsonl")));
}

}  // namespace
}  // namespace windrow::batch
