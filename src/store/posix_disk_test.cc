#include "store/posix_disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "store/testing/temporary_folder.h"

namespace windrow::store {
namespace {

class PosixDiskTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }

  // What `code` returns in a process of its own.
  static int in_child(const std::function<int()>& code) {
    const pid_t child = fork();
    if (child == 0) _exit(code());
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

  PosixDisk disk_;
  testing::TemporaryFolder folder_;
};

TEST_F(PosixDiskTest, OnlyRegularFilesAreOpened) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& name : {path("pipe"), folder_.path(), std::string("/dev/null")}) {
    EXPECT_EQ(disk_.open_append(name).error().kind,
              name == path("pipe") ? ErrorKind::kIo : ErrorKind::kInvalid)
        << name;
  }
  // The pipe has no reader, so opening it to write fails at once instead of waiting.
  EXPECT_EQ(disk_.open_read(path("pipe")).error().kind, ErrorKind::kInvalid);
}

TEST_F(PosixDiskTest, AFolderThatIsMissingIsNamed) {
  const auto file = disk_.open_append(path("no/such/file"));
  EXPECT_EQ(file.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(file.error().message.find(path("no/such/file")), std::string::npos);
  EXPECT_EQ(disk_.write_atomically(path("no/such/file"), "x").error().kind, ErrorKind::kNotFound);
}

TEST_F(PosixDiskTest, AnAtomicWriteThatFailsKeepsTheOldFile) {
  ASSERT_TRUE(disk_.write_atomically(path("a"), "old").has_value());
  const int result = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 5, .rlim_max = 5};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    const auto done = disk_.write_atomically(path("a"), "longer than five bytes");
    return !done && done.error().kind == ErrorKind::kDiskFull ? 0 : 2;
  });
  EXPECT_EQ(result, 0);
  EXPECT_EQ(*disk_.read_all(path("a")), "old");
  EXPECT_FALSE(disk_.exists(path("a.tmp")));
}

TEST_F(PosixDiskTest, AFileSizeLimitIsADiskThatIsFull) {
  const int result = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 100, .rlim_max = 100};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    auto file = disk_.open_append(path("a"));
    if (!(*file)->append(std::string(60, 'x'))) return 2;
    const auto done = (*file)->append(std::string(60, 'y'));
    return !done && done.error().kind == ErrorKind::kDiskFull ? 0 : 3;
  });
  EXPECT_EQ(result, 0);
  EXPECT_EQ(*disk_.read_all(path("a")), std::string(60, 'x') + std::string(40, 'y'));
}

TEST_F(PosixDiskTest, ALockIsHeldAgainstOtherProcessesAndNamesItsHolder) {
  auto held = disk_.lock(path("lock"));
  ASSERT_TRUE(held.has_value());
  const pid_t parent = getpid();
  const int result = in_child([&] {
    const auto second = disk_.lock(path("lock"));
    if (second || second.error().kind != ErrorKind::kConflict) return 1;
    const std::string holder = fmt::format("held by process {};", parent);
    return second.error().message.find(holder) != std::string::npos ? 0 : 2;
  });
  EXPECT_EQ(result, 0);
}

TEST_F(PosixDiskTest, AFileIsLockedUnderEveryName) {
  ASSERT_TRUE(disk_.write_atomically(path("a"), "text").has_value());
  std::filesystem::create_hard_link(path("a"), path("hard"));
  std::filesystem::create_symlink("a", path("soft"));
  const auto held = disk_.lock_file(path("a"));
  ASSERT_TRUE(held.has_value());
  for (const char* name : {"a", "hard", "soft"}) {
    EXPECT_TRUE((*held)->is_of(path(name))) << name;
    const auto second = disk_.lock_file(path(name));
    ASSERT_FALSE(second.has_value()) << name;
    EXPECT_EQ(second.error().kind, ErrorKind::kConflict);
    EXPECT_NE(second.error().message.find("another name"), std::string::npos);
  }
  EXPECT_FALSE((*held)->is_of(path("b")));
}

TEST_F(PosixDiskTest, AFileThatWasCutOrRemovedIsNamed) {
  auto file = disk_.open_append(path("a"));
  ASSERT_TRUE((*file)->append("text").has_value());
  std::filesystem::resize_file(path("a"), 1);
  EXPECT_NE((*file)->check_in_place(4).error().message.find("cut by something else"),
            std::string::npos);
  std::filesystem::remove(path("a"));
  EXPECT_NE((*file)->check_in_place(1).error().message.find("removed or renamed"),
            std::string::npos);
}

TEST_F(PosixDiskTest, ALockEndsWithItsProcess) {
  const int result = in_child([&] {
    const auto held = disk_.lock(path("lock"));
    if (!held) return 1;
    std::raise(SIGKILL);
    return 2;
  });
  EXPECT_EQ(result, 1000 + SIGKILL);
  EXPECT_TRUE(disk_.lock(path("lock")).has_value());
}

TEST_F(PosixDiskTest, ALockIsNotInheritedByProgramsStarted) {
  auto held = disk_.lock(path("lock"));
  for (int fd = 3; fd < 64; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    if (flags < 0) continue;
    std::error_code error;
    const auto target = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd), error);
    if (target == path("lock")) {
      EXPECT_NE(flags & FD_CLOEXEC, 0);
    }
  }
}

}  // namespace
}  // namespace windrow::store
