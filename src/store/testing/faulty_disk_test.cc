#include "store/testing/faulty_disk.h"

#include <gtest/gtest.h>

#include "store/testing/memory_disk.h"

namespace windrow::store::testing {
namespace {

class FaultyDiskTest : public ::testing::Test {
 protected:
  MemoryDisk memory_;
};

TEST_F(FaultyDiskTest, AFullDiskTakesWhatFits) {
  FaultyDisk disk(memory_, {.bytes_until_full = 5});
  auto file = disk.open_append("a");
  EXPECT_TRUE((*file)->append("abc").has_value());
  EXPECT_EQ((*file)->append("defg").error().kind, ErrorKind::kDiskFull);
  EXPECT_EQ(memory_.get("a"), "abcde");
  EXPECT_EQ((*file)->append("x").error().kind, ErrorKind::kDiskFull);
  EXPECT_TRUE((*file)->truncate(3).has_value());
  EXPECT_TRUE((*file)->append("xy").has_value());
  EXPECT_EQ(memory_.get("a"), "abcxy");
}

TEST_F(FaultyDiskTest, AShortWriteWritesHalfOnce) {
  FaultyDisk disk(memory_, {.appends_until_short = 1});
  auto file = disk.open_append("a");
  EXPECT_TRUE((*file)->append("ab").has_value());
  EXPECT_EQ((*file)->append("cdef").error().kind, ErrorKind::kIo);
  EXPECT_TRUE((*file)->append("g").has_value());
  EXPECT_EQ(memory_.get("a"), "abcdg");
}

TEST_F(FaultyDiskTest, ASyncFailsFromThenOn) {
  FaultyDisk disk(memory_, {.syncs_until_failure = 1});
  auto file = disk.open_append("a");
  EXPECT_TRUE((*file)->sync().has_value());
  EXPECT_EQ((*file)->sync().error().kind, ErrorKind::kIo);
  EXPECT_EQ((*file)->sync().error().kind, ErrorKind::kIo);
}

TEST_F(FaultyDiskTest, EveryKindOfOperationCanFail) {
  FaultyDisk disk(memory_, {.truncate_fails = true,
                            .rename_fails = true,
                            .write_atomically_fails = true,
                            .sync_folder_fails = true,
                            .read_fails = true});
  auto file = disk.open_append("a");
  EXPECT_EQ((*file)->truncate(0).error().kind, ErrorKind::kIo);
  EXPECT_EQ(disk.rename("a", "b").error().kind, ErrorKind::kIo);
  EXPECT_EQ(disk.write_atomically("a", "x").error().kind, ErrorKind::kIo);
  EXPECT_EQ(disk.sync_folder_of("a").error().kind, ErrorKind::kIo);
  EXPECT_EQ(disk.read_all("a").error().kind, ErrorKind::kIo);
  char byte = 0;
  EXPECT_EQ((*disk.open_read("a"))->read_at(0, &byte, 1).error().kind, ErrorKind::kIo);
  disk.set_faults({.open_append_fails = true});
  EXPECT_EQ(disk.open_append("a").error().kind, ErrorKind::kIo);
}

TEST_F(FaultyDiskTest, AfterDeathNothingArrives) {
  FaultyDisk disk(memory_, {.operations_until_death = 2, .last_append_part = 0.5});
  auto file = disk.open_append("a");
  EXPECT_TRUE((*file)->append("ab").has_value());
  EXPECT_FALSE((*file)->append("cdef").has_value());
  EXPECT_FALSE((*file)->append("gh").has_value());
  EXPECT_FALSE((*file)->truncate(0).has_value());
  EXPECT_FALSE(disk.remove("a").has_value());
  EXPECT_EQ(memory_.get("a"), "abcd");
  EXPECT_EQ(disk.operations(), 2);
}

}  // namespace
}  // namespace windrow::store::testing
