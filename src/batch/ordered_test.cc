#include "batch/ordered.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
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
