#include "batch/output_file.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "store/testing/temporary_folder.h"

namespace windrow::batch {
namespace {

std::string problem(const std::string& path) {
  const Result<void> checked = check_output_file("the output", path);
  return checked ? "" : checked.error().message;
}

TEST(OutputFile, AFileOrNothingIsFine) {
  const store::testing::TemporaryFolder folder;
  std::ofstream(folder / "results.jsonl") << "a line\n";
  std::filesystem::create_symlink("results.jsonl", folder / "link");
  EXPECT_EQ(problem(folder / "results.jsonl"), "");
  EXPECT_EQ(problem(folder / "link"), "");
  EXPECT_EQ(problem(folder / "new.jsonl"), "");
  EXPECT_EQ(problem(folder / "no/folder.jsonl"), "") << "whoever opens it knows better";
}

TEST(OutputFile, WhatKeepsNothingIsRefusedByItsKind) {
  const store::testing::TemporaryFolder folder;
  const std::string advice =
      ", which keeps nothing; name a file, and delete it when it is not wanted";
  EXPECT_EQ(problem("/dev/null"), "the output /dev/null is a device" + advice);

  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(problem(pipe), "the output " + pipe + " is a pipe" + advice);
  std::filesystem::create_symlink("pipe", folder / "link");
  EXPECT_EQ(problem(folder / "link"), "the output " + (folder / "link") + " is a pipe" + advice);

  const std::string name = folder / "socket";
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(name.size(), sizeof address.sun_path);
  name.copy(address.sun_path, name.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(problem(name), "the output " + name + " is a socket" + advice);
  ::close(socket);
}

TEST(OutputFile, AFolderIsRefusedAsOne) {
  const store::testing::TemporaryFolder folder;
  EXPECT_EQ(problem(folder.path()),
            "the output " + folder.path() + " is a folder; name a file in it");
}

}  // namespace
}  // namespace windrow::batch
