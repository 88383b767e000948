#include "batch/log_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/memory_disk.h"

namespace windrow::batch {
namespace {

using store::testing::MemoryDisk;

struct Read {
  std::vector<std::string> lines;
  std::string torn;
};

Read read_all(MemoryDisk& disk, const std::string& text) {
  disk.put("log", text);
  auto file = *disk.open_read("log");
  LogLines lines(*file);
  Read read;
  for (auto line = lines.next(); line && *line; line = lines.next())
    read.lines.emplace_back(**line);
  EXPECT_EQ(lines.offset(), text.size() - lines.torn().size());
  read.torn = lines.torn();
  return read;
}

TEST(LogLines, NothingIsNothing) {
  MemoryDisk disk;
  EXPECT_TRUE(read_all(disk, "").lines.empty());
}

TEST(LogLines, WhatStandsBehindTheLastEndIsTorn) {
  MemoryDisk disk;
  const Read read = read_all(disk, "a\n\nbc");
  EXPECT_EQ(read.lines, (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(read.torn, "bc");
}

// Against a plain split, with lines around the sizes of the blocks.
TEST(LogLines, LinesOfAnySizeComeWhole) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    std::string text;
    std::vector<std::string> expected;
    for (int64_t count = random.between(0, 40); count > 0; --count) {
      const int64_t most = random.chance(0.2) ? 400'000 : 3'000;
      expected.emplace_back(static_cast<size_t>(random.between(0, most)),
                            static_cast<char>('a' + random.below(26)));
      text += expected.back() + "\n";
    }
    const std::string torn(static_cast<size_t>(random.between(0, 200'000)), 'x');
    MemoryDisk disk;
    const Read read = read_all(disk, text + torn);
    ASSERT_TRUE(read.lines == expected) << "seed " << seed;
    ASSERT_TRUE(read.torn == torn) << "seed " << seed;
  }
}

TEST(LogLines, AnUnreadableFileIsAnError) {
  MemoryDisk memory;
  memory.put("log", "a\n");
  store::testing::FaultyDisk disk(memory, {.read_fails = true});
  auto file = disk.open_read("log");
  if (!file) return;  // refused even earlier
  LogLines lines(**file);
  EXPECT_EQ(lines.next().error().kind, ErrorKind::kIo);
}

}  // namespace
}  // namespace windrow::batch
