#include "batches/data_dir.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "store/testing/temporary_folder.h"

namespace windrow::batches {
namespace {

namespace fs = std::filesystem;

class DataDirTest : public ::testing::Test {
 protected:
  std::vector<std::string> open() {
    std::vector<std::string> warnings;
    const auto opened = DataDir::open(root, warnings);
    EXPECT_TRUE(opened) << opened.error().message;
    return warnings;
  }

  const store::testing::TemporaryFolder folder;
  const std::string root = folder / "data";
};

TEST_F(DataDirTest, NoOtherUserReadsWhatIsInIt) {
  EXPECT_TRUE(open().empty());
  for (const char* path : {"", "/files", "/batches"})
    EXPECT_EQ(fs::status(root + path).permissions(), fs::perms::owner_all) << path;
  EXPECT_EQ(fs::status(root + "/windrow.db").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(DataDirTest, AFolderThatWasThereKeepsItsPermissions) {
  fs::create_directory(root);
  const fs::perms chosen = fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec;
  fs::permissions(root, chosen);
  open();
  EXPECT_EQ(fs::status(root).permissions(), chosen);
}

TEST_F(DataDirTest, WhatTheDatabaseDoesNotKnowIsSaid) {
  open();
  std::ofstream(root + "/files/file-1") << "x";
  std::ofstream(root + "/files/file-2.part") << "an upload that was cut off";
  fs::create_directory(root + "/batches/batch_1");
  const std::vector<std::string> warnings = open();
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("does not list 1 file in"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[0].find("and 1 folder in"), std::string::npos) << warnings[0];
}

TEST_F(DataDirTest, WhatClientsHearInGeneralIsToldInFull) {
  std::vector<std::string> warnings;
  const auto opened = DataDir::open(root, warnings);
  ASSERT_TRUE(opened) << opened.error().message;
  std::vector<std::string> told;
  (*opened)->set_warn([&](const std::string& what) { told.push_back(what); });
  const Error error{ErrorKind::kIo, "data/files/file-1: permission denied"};
  for (int times = 0; times < 3; ++times)
    EXPECT_EQ((*opened)->report(error).message.find("permission"), std::string::npos);
  (void)(*opened)->report({ErrorKind::kDiskFull, "data/windrow.db: no space left"});
  EXPECT_EQ(told,
            (std::vector<std::string>{"files and batches: data/files/file-1: permission denied",
                                      "files and batches: data/windrow.db: no space left"}));
}

}  // namespace
}  // namespace windrow::batches
