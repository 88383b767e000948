#include "app/commands/commands.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <fstream>
#include <string>

#include "api/keys/keys.h"
#include "store/testing/temporary_folder.h"

namespace windrow::app {
namespace {

constexpr uid_t kService = 12'345;
constexpr gid_t kGroupOfService = 12'346;

std::string output_of_add(const KeysAddCommand& command) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(keys_add_command(command), 0);
  return ::testing::internal::GetCapturedStdout();
}

struct stat status_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status;
}

TEST(KeysAdd, AsJsonItHasTheKeyAndItsLimits) {
  const store::testing::TemporaryFolder folder;
  const std::string file = folder / "keys.txt";
  const std::string output =
      output_of_add({.file = file, .name = "alice", .limits = "rpm=5 weight=3", .json = true});
  const auto object = boost::json::parse(output).as_object();
  EXPECT_EQ(object.at("name").as_string(), "alice");
  EXPECT_EQ(object.at("rpm").to_number<int>(), 5);
  EXPECT_EQ(object.at("weight").to_number<int>(), 3);
  EXPECT_EQ(object.at("file").as_string(), file);
  std::ifstream lines(file);
  const std::string text{std::istreambuf_iterator<char>(lines), {}};
  EXPECT_EQ(api::KeyRing::parse(text, file)->find(std::string(object.at("key").as_string())), 0U);
}

// A folder of the service's: the file that root makes in it belongs to the service as well.
TEST(KeysAdd, WhatRootMakesTheServiceCanRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const store::testing::TemporaryFolder folder;
  const std::string file = folder / "keys.txt";
  ASSERT_EQ(::chown(folder.path().c_str(), kService, kGroupOfService), 0);
  output_of_add({.file = file, .name = "alice", .limits = ""});
  EXPECT_EQ(status_of(file).st_uid, kService);
  EXPECT_EQ(status_of(file).st_gid, kGroupOfService);
  EXPECT_EQ(status_of(file).st_mode & 0777U, 0600U);

  // One that is there keeps its owner and permissions.
  ASSERT_EQ(::chown(file.c_str(), kService + 1, kGroupOfService + 1), 0);
  output_of_add({.file = file, .name = "bob", .limits = ""});
  EXPECT_EQ(status_of(file).st_uid, kService + 1);
  EXPECT_EQ(status_of(file).st_gid, kGroupOfService + 1);
}

// /etc/windrow of root and the service's group: the group is what the service reads by.
TEST(KeysAdd, InAFolderOfRootTheGroupMayRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const store::testing::TemporaryFolder folder;
  const std::string file = folder / "keys.txt";
  ASSERT_EQ(::chown(folder.path().c_str(), 0, kGroupOfService), 0);
  output_of_add({.file = file, .name = "alice", .limits = ""});
  EXPECT_EQ(status_of(file).st_uid, 0U);
  EXPECT_EQ(status_of(file).st_gid, kGroupOfService);
  EXPECT_EQ(status_of(file).st_mode & 0777U, 0640U);

  const std::string of_root = folder / "root.txt";
  ASSERT_EQ(::chown(folder.path().c_str(), 0, 0), 0);
  output_of_add({.file = of_root, .name = "alice", .limits = ""});
  EXPECT_EQ(status_of(of_root).st_mode & 0777U, 0600U);
}

}  // namespace
}  // namespace windrow::app
