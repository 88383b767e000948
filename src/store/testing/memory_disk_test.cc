#include "store/testing/memory_disk.h"

#include <gtest/gtest.h>

namespace windrow::store::testing {
namespace {

TEST(MemoryDisk, WhatWasNotSyncedIsGone) {
  MemoryDisk disk;
  auto file = disk.open_append("a");
  ASSERT_TRUE((*file)->append("one").has_value());
  ASSERT_TRUE((*file)->sync().has_value());
  ASSERT_TRUE((*file)->append("two").has_value());
  ASSERT_TRUE(disk.sync_folder_of("a").has_value());
  auto other = disk.open_append("b");
  ASSERT_TRUE((*other)->append("three").has_value());
  ASSERT_TRUE((*other)->sync().has_value());
  disk.drop_unsynced();
  EXPECT_EQ(disk.get("a"), "one");
  EXPECT_FALSE(disk.exists("b"));  // its bytes were safe, its name was not
}

TEST(MemoryDisk, ARenameCountsOnceTheFolderIsSynced) {
  MemoryDisk disk;
  disk.put("a", "old");
  disk.put("b", "new");
  ASSERT_TRUE(disk.rename("b", "a").has_value());
  disk.drop_unsynced();
  EXPECT_EQ(disk.get("a"), "old");
  EXPECT_EQ(disk.get("b"), "new");
  ASSERT_TRUE(disk.rename("b", "a").has_value());
  ASSERT_TRUE(disk.sync_folder_of("a").has_value());
  disk.drop_unsynced();
  EXPECT_EQ(disk.get("a"), "new");
  EXPECT_FALSE(disk.exists("b"));
}

TEST(MemoryDisk, ALossOfPowerNeverTakesWhatWasSynced) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    MemoryDisk disk;
    disk.put("a", "");
    auto file = disk.open_append("a");
    ASSERT_TRUE((*file)->append("synced").has_value());
    ASSERT_TRUE((*file)->sync().has_value());
    ASSERT_TRUE((*file)->append("later").has_value());
    disk.lose_power(random);
    ASSERT_TRUE(disk.get("a").starts_with("synced")) << "seed " << seed;
    ASSERT_LE(disk.get("a").size(), 11U);
  }
}

}  // namespace
}  // namespace windrow::store::testing
