#include "app/process/open_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <initializer_list>

namespace windrow::app {
namespace {

using ::testing::HasSubstr;

TEST(OpenFiles, TheLimitIsRaisedAsFarAsTheSystemLets) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 80;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);

  const Result<uint64_t> raised = raise_open_files();
  ASSERT_TRUE(raised);
  EXPECT_EQ(*raised, before.rlim_max);
  rlimit now{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, before.rlim_max);
  setrlimit(RLIMIT_NOFILE, &before);
}

// A hard limit cannot be taken back, so it is a child's.
TEST(OpenFiles, TooFewAreAnErrorThatSaysWhatToDo) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{.rlim_cur = 8, .rlim_max = 20};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(1);
    const Result<uint64_t> raised = raise_open_files();
    if (raised) _exit(2);
    const std::string& text = raised.error().message;
    const bool says_all = text.find("only 20 files") != std::string::npos &&
                          text.find("at least 64") != std::string::npos &&
                          text.find("ulimit -Hn") != std::string::npos;
    _exit(says_all ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(OpenFiles, WhatTheProcessDoesNotNeedIsForRequests) {
  EXPECT_EQ(requests_for(1024), 960);
  EXPECT_EQ(requests_for(64), 32);
  EXPECT_EQ(requests_for(0), 1);
  EXPECT_GT(requests_for(UINT64_MAX), 1'000'000'000);
  for (uint64_t files = 2; files < 5000; ++files)
    ASSERT_LT(static_cast<uint64_t>(requests_for(files)), files);
  EXPECT_THAT(requests_bound_text(1024, 960), HasSubstr("960 requests"));
  EXPECT_THAT(requests_bound_text(1024, 960), HasSubstr("1,024 files"));
}

using ::testing::HasSubstr;

TEST(ClientLimits, IsWhatWasAskedForWhereThereAreFilesEnough) {
  for (const uint64_t files : {uint64_t{8256}, uint64_t{1} << 20, UINT64_MAX}) {
    const ClientLimits room = client_limits(files, 8192, false, false);
    EXPECT_EQ(room.connections_max, 8192U) << files;
    EXPECT_EQ(room.warning, "") << files;
  }
}

TEST(ClientLimits, FollowsTheLimitAndSaysSo) {
  const ClientLimits room = client_limits(1024, 8192, false, false);
  EXPECT_EQ(room.connections_max, 960U);
  EXPECT_THAT(room.warning, HasSubstr("1024 files"));
  EXPECT_THAT(room.warning, HasSubstr("960 clients"));
  EXPECT_THAT(room.warning, HasSubstr("8256"));
}

TEST(ClientLimits, OfServersElsewhereEachClientNeedsTwo) {
  EXPECT_EQ(client_limits(1024, 8192, true, false).connections_max, 480U);
  EXPECT_EQ(client_limits(1024, 8192, true, false).requests_max, 480);
  EXPECT_EQ(client_limits(16'448, 8192, true, false).warning, "");
  EXPECT_EQ(client_limits(20'000, 8192, true, false).requests_max, 20'000 - 64 - 8192);
}

TEST(ClientLimits, KeepsSomeForFilesThatComeAndGo) {
  const ClientLimits room = client_limits(1024, 8192, false, true);
  EXPECT_EQ(room.transfers_max, 128);
  EXPECT_EQ(room.connections_max, 832U);
  EXPECT_THAT(room.warning, HasSubstr("8384"));
  EXPECT_EQ(client_limits(200, 8192, false, true).transfers_max, 34);
  EXPECT_EQ(client_limits(200, 8192, false, true).connections_max, 102U);
}

TEST(ClientLimits, LeavesFilesToTheProcessAndAtLeastOneToClients) {
  for (uint64_t files = 0; files < 10'000; ++files) {
    for (const bool elsewhere : {false, true}) {
      const bool keeps_files = files % 2 == 0;
      const ClientLimits room = client_limits(files, 8192, elsewhere, keeps_files);
      ASSERT_GE(room.connections_max, 1U) << files;
      ASSERT_GE(room.transfers_max, 1) << files;
      ASSERT_LE(room.transfers_max, 128) << files;
      const uint64_t transfers =
          keeps_files && files >= 8 ? static_cast<uint64_t>(room.transfers_max) : 0;
      const uint64_t left = std::min<uint64_t>(files / 2, 64) + transfers;
      if (files >= 4) {
        ASSERT_LE(room.connections_max * (elsewhere ? 2 : 1) + left, files);
        if (elsewhere) {
          ASSERT_LE(room.connections_max + static_cast<size_t>(room.requests_max) + left, files);
        }
      }
      ASSERT_EQ(room.warning.empty(), room.connections_max == 8192U) << files;
    }
  }
}

// What `code` returns in a process of its own.
int in_child(const std::function<int()>& code) {
  const pid_t child = fork();
  if (child == 0) _exit(code());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(StandardDescriptors, ClosedOnesAreTaken) {
  const int code = in_child([] {
    for (const int closed : {0, 1, 2})
      close(closed);
    if (!hold_standard_descriptors()) return 10;
    // What is opened next has a number of its own.
    if (open("/dev/null", O_RDONLY) < 3) return 11;
    char byte = 0;
    if (read(0, &byte, 1) >= 0 || errno != EBADF) return 12;
    if (write(1, &byte, 1) != 1 || write(2, &byte, 1) != 1) return 13;
    return 0;
  });
  EXPECT_EQ(code, 0);
}

TEST(StandardDescriptors, OpenOnesStay) {
  const int code = in_child([] {
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], "x", 1) != 1 || dup2(ends[0], 0) != 0) return 10;
    close(2);
    if (!hold_standard_descriptors()) return 11;
    char byte = 0;
    return read(0, &byte, 1) == 1 && byte == 'x' && fcntl(2, F_GETFD) >= 0 ? 0 : 12;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace windrow::app
