#include "app/open_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

}  // namespace
}  // namespace windrow::app
