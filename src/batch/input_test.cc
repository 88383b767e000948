#include "batch/input.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <thread>

#include "store/testing/temporary_folder.h"

namespace windrow::batch {
namespace {

class InputTest : public ::testing::Test {
 protected:
  static std::string read_all(ByteSource& source) {
    std::string text;
    std::array<char, 7> buffer = {};
    for (;;) {
      const auto got = source.read(buffer.data(), buffer.size());
      if (!got) return "error: " + got.error().message;
      if (*got == 0) return text;
      text.append(buffer.data(), *got);
    }
  }

  store::testing::TemporaryFolder folder_;
};

TEST_F(InputTest, AFileCanBeReadAgainAndAgain) {
  const std::string path = folder_ / "in.jsonl";
  std::ofstream(path) << "one\ntwo\n";
  auto input = open_input(path);
  ASSERT_TRUE(input.has_value());
  EXPECT_TRUE((*input)->rereadable());
  EXPECT_EQ((*input)->size(), 8U);
  EXPECT_EQ((*input)->name(), path);
  EXPECT_EQ(read_all(**(*input)->open()), "one\ntwo\n");
  EXPECT_EQ(read_all(**(*input)->open()), "one\ntwo\n");
}

TEST_F(InputTest, AFileThatBecomesShorterIsNamed) {
  const std::string path = folder_ / "in.jsonl";
  std::ofstream(path) << "one\ntwo\n";
  const auto input = open_input(path);
  ASSERT_TRUE(input.has_value());
  const auto source = (*input)->open();
  ASSERT_TRUE(source.has_value());
  std::array<char, 4> first = {};
  ASSERT_EQ(*(*source)->read(first.data(), first.size()), 4U);
  ASSERT_EQ(::truncate(path.c_str(), 4), 0);
  EXPECT_EQ(read_all(**source),
            "error: the file became shorter while it was read: it had 8 bytes when the run began "
            "and ends after 4; restore it, then run the same command again");
  // One that grows is read to its end.
  std::ofstream(path, std::ios::app) << "two\nthree\n";
  EXPECT_EQ(read_all(**(*input)->open()), "one\ntwo\nthree\n");
}

TEST_F(InputTest, WhatCannotBeReadIsNamed) {
  const auto missing = open_input(folder_ / "no.jsonl");
  EXPECT_EQ(missing.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(missing.error().message.find("no.jsonl"), std::string::npos);
  EXPECT_EQ(open_input(folder_.path()).error().kind, ErrorKind::kInvalid);
}

// In a process of its own: closed, and with something in its place that cannot be read.
TEST_F(InputTest, StandardInputThatIsClosedIsNamed) {
  for (const bool taken : {false, true}) {
    const pid_t child = fork();
    if (child == 0) {
      close(STDIN_FILENO);
      if (taken && ::open("/dev/null", O_WRONLY) != STDIN_FILENO) _exit(10);
      const auto input = open_input("-");
      const bool named = !input && input.error().kind == ErrorKind::kInvalid &&
                         input.error().message.starts_with("standard input is closed");
      _exit(named ? 0 : 11);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

TEST_F(InputTest, ANamedPipeIsReadOnceAndWaitedFor) {
  const std::string path = folder_ / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  auto input = open_input(path);
  ASSERT_TRUE(input.has_value());
  EXPECT_FALSE((*input)->rereadable());
  EXPECT_EQ((*input)->size(), std::nullopt);
  auto source = (*input)->open();  // no writer has opened the pipe yet
  ASSERT_TRUE(source.has_value());
  std::thread writer([&] { std::ofstream(path) << "one\n"; });
  EXPECT_EQ(read_all(**source), "one\n");
  writer.join();
  EXPECT_EQ((*input)->open().error().kind, ErrorKind::kConflict);
}

TEST_F(InputTest, ItIsSaidBeforeAReadWaits) {
  const std::string path = folder_ / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int writer = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(write(writer, "one", 3), 3);
  int waits = 0;
  auto input = open_input(path);
  auto source = (*input)->open([&] {
    ++waits;
    ASSERT_EQ(write(writer, "three", 5), 5);  // what it would have waited for
  });
  ASSERT_TRUE(source.has_value());
  char buffer[10];
  EXPECT_EQ(*(*source)->read(buffer, sizeof buffer), 3U);
  EXPECT_EQ(waits, 0);
  EXPECT_EQ(*(*source)->read(buffer, sizeof buffer), 5U);
  EXPECT_EQ(waits, 1);
  close(writer);
}

TEST_F(InputTest, AReadThatWaitsCanBeInterrupted) {
  const std::string path = folder_ / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  auto input = open_input(path);
  auto source = (*input)->open();
  ASSERT_TRUE(source.has_value());
  const int keeps_it_open = open(path.c_str(), O_RDWR | O_CLOEXEC);
  std::thread stopper([&] { (*source)->interrupt(); });
  EXPECT_EQ(read_all(**source), "");
  stopper.join();
  close(keeps_it_open);
}

}  // namespace
}  // namespace windrow::batch
