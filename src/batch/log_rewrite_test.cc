#include "batch/log_rewrite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
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

using store::testing::FaultyDisk;
using store::testing::MemoryDisk;

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

std::string line_of(uint64_t input_line, size_t text_bytes = 10, std::string_view id = "r") {
  const std::string name = fmt::format("{}-{}", id, input_line);
  const RowKey key{.line = input_line,
                   .custom_id = name,
                   .identity = row_identity(name),
                   .fingerprint = input_line};
  const llm::Answer answer{.choices = {{.text = std::string(text_bytes, 'x')}}};
  return result_line(key, llm::Endpoint::kCompletions, "m", answer, {.attempts = 1}, 0);
}

// Lines in an order drawn from a seed, and the same sorted.
struct Log {
  std::string shuffled;
  std::string sorted;
};

Log some_log(uint64_t seed, size_t lines, size_t text_bytes_max) {
  Random random(seed);
  std::vector<std::string> texts;
  Log log;
  for (size_t i = 0; i < lines; ++i) {
    texts.push_back(line_of(i + 1, random.below(text_bytes_max)));
    log.sorted += texts.back();
  }
  for (size_t i = texts.size(); i > 1; --i)
    std::swap(texts[i - 1], texts[random.below(i)]);
  for (const std::string& text : texts)
    log.shuffled += text;
  return log;
}

Result<bool> order(store::Disk& disk) {
  return order_log(disk, "r", LogKind::kResults, [] { return false; });
}

TEST(Ordered, SortsByTheLineOfTheInput) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    MemoryDisk disk;
    // More than a block, with lines longer than what is read at a time.
    const Log log = some_log(seed, 300, 200'000 / (seed + 1));
    disk.put("r", log.shuffled);
    const auto done = order(disk);
    ASSERT_TRUE(done.has_value()) << done.error().message;
    EXPECT_TRUE(*done);
    EXPECT_TRUE(disk.get("r") == log.sorted) << "seed " << seed;
    EXPECT_EQ(disk.names(), (std::set<std::string>{"r"}));
    disk.drop_unsynced();
    EXPECT_TRUE(disk.get("r") == log.sorted);
  }
}

TEST(Ordered, WhatIsInOrderIsNotWrittenAgain) {
  MemoryDisk memory;
  FaultyDisk disk(memory);
  for (const std::string& text : {std::string(), line_of(1), line_of(1) + line_of(5)}) {
    memory.put("r", text);
    EXPECT_TRUE(*order(disk));
    EXPECT_EQ(memory.get("r"), text);
  }
  EXPECT_EQ(disk.operations(), 0);
}

TEST(Ordered, LinesOfOneNumberKeepTheirOrder) {
  MemoryDisk disk;
  disk.put("r", line_of(2) + line_of(1, 3, "x") + line_of(1, 3, "a"));
  ASSERT_TRUE(order(disk).has_value());
  EXPECT_EQ(disk.get("r"), line_of(1, 3, "x") + line_of(1, 3, "a") + line_of(2));
}

TEST(Ordered, KilledBetweenAnyTwoOperationsItHoldsOneOfTheTwo) {
  const Log log = some_log(3, 40, 100'000);
  MemoryDisk measured;
  measured.put("r", log.shuffled);
  FaultyDisk counter(measured);
  ASSERT_TRUE(order(counter).has_value());
  ASSERT_GT(counter.operations(), 5);

  for (int64_t operations = 0; operations < counter.operations(); ++operations) {
    for (const bool power : {false, true}) {
      MemoryDisk memory;
      memory.put("r", log.shuffled);
      FaultyDisk dying(memory, {.operations_until_death = operations});
      ASSERT_FALSE(order(dying).has_value());
      Random random(static_cast<uint64_t>(operations));
      if (power) memory.lose_power(random);
      const std::string found = memory.get("r");
      ASSERT_TRUE(found == log.shuffled || found == log.sorted) << "after " << operations;
      ASSERT_TRUE(*order(memory));
      ASSERT_TRUE(memory.get("r") == log.sorted) << "after " << operations;
      ASSERT_FALSE(memory.exists(ordered_temporary("r")) && found == log.shuffled);
    }
  }
}

TEST(Ordered, AFullDiskKeepsTheOldLogAndCleansUp) {
  const Log log = some_log(1, 20, 100);
  MemoryDisk memory;
  memory.put("r", log.shuffled);
  FaultyDisk disk(memory, {.bytes_until_full = 1000});
  EXPECT_EQ(order(disk).error().kind, ErrorKind::kDiskFull);
  EXPECT_EQ(memory.get("r"), log.shuffled);
  EXPECT_FALSE(memory.exists(ordered_temporary("r")));
}

TEST(Ordered, AnInterruptedOneKeepsTheOldLog) {
  const Log log = some_log(1, 40, 200'000);
  MemoryDisk disk;
  disk.put("r", log.shuffled);
  const auto done = order_log(disk, "r", LogKind::kResults, [] { return true; });
  ASSERT_TRUE(done.has_value());
  EXPECT_FALSE(*done);
  EXPECT_TRUE(disk.get("r") == log.shuffled);
  EXPECT_FALSE(disk.exists(ordered_temporary("r")));
}

}  // namespace
}  // namespace windrow::batch
