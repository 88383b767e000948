#include "app/process/new_file.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "store/posix_disk.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/temporary_folder.h"

namespace windrow::app {
namespace {

using store::testing::Faults;
using store::testing::FaultyDisk;

class NewFileTest : public ::testing::Test {
 protected:
  // Of a file of the folder; "none" where there is none.
  std::string text_of(const std::string& name) {
    const Result<std::string> text = disk_.read_all(folder_ / name);
    return text ? *text : "none";
  }

  const store::testing::TemporaryFolder folder_;
  store::PosixDisk disk_;
  const std::string path_ = folder_ / "s.safetensors";
};

TEST_F(NewFileTest, HasItsNameWhenItIsComplete) {
  Result<std::unique_ptr<NewFile>> file = NewFile::open(disk_, path_);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  ASSERT_TRUE((*file)->append("one, ").has_value());
  ASSERT_TRUE((*file)->append("two").has_value());
  EXPECT_EQ(text_of("s.safetensors"), "none");
  EXPECT_EQ((*file)->bytes(), 8U);
  ASSERT_TRUE((*file)->finish().has_value());
  EXPECT_EQ(text_of("s.safetensors"), "one, two");
  EXPECT_EQ(text_of("s.safetensors.part"), "none");
  file->reset();
  EXPECT_EQ(text_of("s.safetensors"), "one, two");
}

TEST_F(NewFileTest, WhatWasThereStaysUntilThen) {
  ASSERT_TRUE(disk_.write_atomically(path_, "before").has_value());
  ASSERT_TRUE(disk_.write_atomically(path_ + ".part", "of a run that was killed").has_value());
  {
    Result<std::unique_ptr<NewFile>> file = NewFile::open(disk_, path_);
    ASSERT_TRUE(file.has_value()) << file.error().message;
    ASSERT_TRUE((*file)->append("half").has_value());
    EXPECT_EQ(text_of("s.safetensors.part"), "half");
  }
  EXPECT_EQ(text_of("s.safetensors"), "before");
  EXPECT_EQ(text_of("s.safetensors.part"), "none") << "given up";
}

TEST_F(NewFileTest, TwoDoNotWriteTheSameFile) {
  const Result<std::unique_ptr<NewFile>> first = NewFile::open(disk_, path_);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  ASSERT_TRUE((*first)->append("mine").has_value());
  const Result<std::unique_ptr<NewFile>> second = NewFile::open(disk_, path_);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().kind, ErrorKind::kConflict);
  ASSERT_TRUE((*first)->finish().has_value());
  EXPECT_EQ(text_of("s.safetensors"), "mine");
}

TEST_F(NewFileTest, AFullOrBrokenDiskLeavesNothing) {
  for (const Faults& faults : {Faults{.bytes_until_full = 6}, Faults{.syncs_until_failure = 0},
                               Faults{.rename_fails = true}}) {
    FaultyDisk faulty(disk_, faults);
    {
      const Result<std::unique_ptr<NewFile>> file = NewFile::open(faulty, path_);
      ASSERT_TRUE(file.has_value()) << file.error().message;
      Result<void> done = (*file)->append("1234");
      if (done) done = (*file)->append("5678");
      if (done) done = (*file)->finish();
      ASSERT_FALSE(done.has_value());
      EXPECT_EQ(done.error().kind, faults.bytes_until_full ? ErrorKind::kDiskFull : ErrorKind::kIo);
    }
    EXPECT_EQ(text_of("s.safetensors"), "none");
    EXPECT_EQ(text_of("s.safetensors.part"), "none");
  }
}

TEST_F(NewFileTest, AFolderThatIsNotThereIsSaid) {
  const Result<std::unique_ptr<NewFile>> file = NewFile::open(disk_, folder_ / "gone/s");
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().message.find("gone/s"), std::string::npos);
}

}  // namespace
}  // namespace windrow::app
