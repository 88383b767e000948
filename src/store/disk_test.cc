// What every Disk promises, asked of each of them.
#include "store/disk.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "store/posix_disk.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/memory_disk.h"
#include "store/testing/temporary_folder.h"

namespace windrow::store {
namespace {

enum class Which : uint8_t { kPosix, kMemory, kFaultless };

class DiskTest : public ::testing::TestWithParam<Which> {
 protected:
  Disk& disk() {
    switch (GetParam()) {
      case Which::kPosix:
        return posix_;
      case Which::kMemory:
        return memory_;
      case Which::kFaultless:
        return faultless_;
    }
    return posix_;
  }

  std::string read(const std::string& path) {
    auto text = disk().read_all(path);
    return text ? *text : "error: " + text.error().message;
  }

  void write(const std::string& path, std::string_view text) {
    auto file = disk().open_append(path);
    ASSERT_TRUE(file.has_value());
    ASSERT_TRUE((*file)->append(text).has_value());
  }

  testing::TemporaryFolder folder_;
  std::string path_ = folder_ / "a.txt";

 private:
  PosixDisk posix_;
  testing::MemoryDisk memory_;
  testing::FaultyDisk faultless_{posix_};
};

std::string name_of(const ::testing::TestParamInfo<Which>& info) {
  constexpr std::array<std::string_view, 3> kNames = {"Posix", "Memory", "Faultless"};
  return std::string(kNames[static_cast<size_t>(info.param)]);
}

INSTANTIATE_TEST_SUITE_P(All, DiskTest,
                         ::testing::Values(Which::kPosix, Which::kMemory, Which::kFaultless),
                         name_of);

TEST_P(DiskTest, AppendedBytesAreAtTheEnd) {
  write(path_, "one\n");
  auto file = disk().open_append(path_);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(*(*file)->size(), 4U);
  ASSERT_TRUE((*file)->append("two\n").has_value());
  ASSERT_TRUE((*file)->sync().has_value());
  EXPECT_EQ(*(*file)->size(), 8U);
  EXPECT_EQ(read(path_), "one\ntwo\n");
}

TEST_P(DiskTest, AfterTruncationTheNextAppendStartsThere) {
  auto file = disk().open_append(path_);
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE((*file)->append("one\ntw").has_value());
  ASSERT_TRUE((*file)->truncate(4).has_value());
  ASSERT_TRUE((*file)->append("2\n").has_value());
  EXPECT_EQ(read(path_), "one\n2\n");
}

TEST_P(DiskTest, ReadsAtAnyOffsetAndStopsAtTheEnd) {
  write(path_, "0123456789");
  auto file = disk().open_read(path_);
  ASSERT_TRUE(file.has_value());
  std::array<char, 4> buffer = {};
  EXPECT_EQ(*(*file)->read_at(3, buffer.data(), 4), 4U);
  EXPECT_EQ(std::string(buffer.data(), 4), "3456");
  EXPECT_EQ(*(*file)->read_at(8, buffer.data(), 4), 2U);
  EXPECT_EQ(std::string(buffer.data(), 2), "89");
  EXPECT_EQ(*(*file)->read_at(10, buffer.data(), 4), 0U);
  EXPECT_EQ(*(*file)->read_at(99, buffer.data(), 4), 0U);
}

TEST_P(DiskTest, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(disk().open_read(path_).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(disk().read_all(path_).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(disk().remove(path_).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(disk().rename(path_, folder_ / "b").error().kind, ErrorKind::kNotFound);
  EXPECT_FALSE(disk().exists(path_));
}

TEST_P(DiskTest, AnAtomicWriteReplacesTheFileAndLeavesNothingBeside) {
  ASSERT_TRUE(disk().write_atomically(path_, "old").has_value());
  ASSERT_TRUE(disk().write_atomically(path_, "new text").has_value());
  EXPECT_EQ(read(path_), "new text");
  EXPECT_FALSE(disk().exists(path_ + ".tmp"));
}

TEST_P(DiskTest, ARenamedFileKeepsItsBytesAndItsOpenHandle) {
  auto file = disk().open_append(path_);
  ASSERT_TRUE((*file)->append("one").has_value());
  const std::string other = folder_ / "b.txt";
  write(other, "in the way");
  ASSERT_TRUE(disk().rename(path_, other).has_value());
  ASSERT_TRUE(disk().sync_folder_of(other).has_value());
  ASSERT_TRUE((*file)->append("two").has_value());
  EXPECT_EQ(read(other), "onetwo");
  EXPECT_FALSE(disk().exists(path_));
  ASSERT_TRUE(disk().remove(other).has_value());
  EXPECT_FALSE(disk().exists(other));
}

TEST_P(DiskTest, WhatBecameOfAFileIsNoticed) {
  auto file = disk().open_append(path_);
  ASSERT_TRUE((*file)->append("four").has_value());
  EXPECT_TRUE((*file)->check_in_place(4).has_value());
  EXPECT_EQ((*file)->check_in_place(5).error().kind, ErrorKind::kConflict);
  EXPECT_EQ((*file)->check_in_place(3).error().kind, ErrorKind::kConflict);
  ASSERT_TRUE(disk().rename(path_, path_ + ".moved").has_value());
  const auto moved = (*file)->check_in_place(4);
  ASSERT_FALSE(moved.has_value());
  EXPECT_EQ(moved.error().kind, ErrorKind::kConflict);
  EXPECT_NE(moved.error().message.find(path_), std::string::npos);
  write(path_, "four");
  EXPECT_EQ((*file)->check_in_place(4).error().kind, ErrorKind::kConflict);
  ASSERT_TRUE(disk().rename(path_ + ".moved", path_).has_value());
  EXPECT_TRUE((*file)->check_in_place(4).has_value());
}

TEST_P(DiskTest, AFileIsLockedWhateverItHolds) {
  EXPECT_EQ(disk().lock_file(path_).error().kind, ErrorKind::kNotFound);
  write(path_, "text");
  {
    const auto first = disk().lock_file(path_);
    ASSERT_TRUE(first.has_value()) << first.error().message;
    EXPECT_EQ(read(path_), "text");
    EXPECT_EQ(disk().lock_file(path_).error().kind, ErrorKind::kConflict);
    EXPECT_TRUE((*first)->is_of(path_));
    ASSERT_TRUE(disk().rename(path_, path_ + ".moved").has_value());
    EXPECT_FALSE((*first)->is_of(path_));
    EXPECT_TRUE((*first)->is_of(path_ + ".moved"));
    EXPECT_EQ(disk().lock_file(path_ + ".moved").error().kind, ErrorKind::kConflict);
  }
  EXPECT_TRUE(disk().lock_file(path_ + ".moved").has_value());
  EXPECT_EQ(read(path_ + ".moved"), "text");
}

TEST_P(DiskTest, ALockHasOneHolderAtATime) {
  auto first = disk().lock(path_);
  ASSERT_TRUE(first.has_value());
  const auto second = disk().lock(path_);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().kind, ErrorKind::kConflict);
  EXPECT_NE(second.error().message.find("held by process"), std::string::npos)
      << second.error().message;
  *first = nullptr;
  EXPECT_TRUE(disk().lock(path_).has_value());
}

TEST_P(DiskTest, TheHolderOfALockIsNamedWithoutTakingIt) {
  const auto nobody = disk().lock_holder(path_);
  ASSERT_TRUE(nobody.has_value());
  EXPECT_FALSE(nobody->has_value());
  EXPECT_FALSE(disk().exists(path_));
  auto held = disk().lock(path_);
  ASSERT_TRUE(held.has_value());
  const auto somebody = disk().lock_holder(path_);
  ASSERT_TRUE(somebody.has_value());
  ASSERT_TRUE(somebody->has_value());
  EXPECT_TRUE((*somebody)->starts_with("process ")) << **somebody;
  *held = nullptr;
  const auto free = disk().lock_holder(path_);
  ASSERT_TRUE(free.has_value());
  EXPECT_FALSE(free->has_value());
  EXPECT_TRUE(disk().lock(path_).has_value());
}

}  // namespace
}  // namespace windrow::store
