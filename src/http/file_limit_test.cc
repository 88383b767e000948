#include "http/file_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace windrow::http {
namespace {

TEST(FileLimit, IsRaisedAsFarAsTheSystemLetsAndSaysSo) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);

  const FileLimit some = raise_file_limit(100);
  EXPECT_EQ(some.before, 64U);
  EXPECT_EQ(some.now, 100U);
  EXPECT_EQ(raise_file_limit(50).now, 100U);  // never lower

  const FileLimit all = raise_file_limit();
  EXPECT_EQ(all.now, before.rlim_max);
  rlimit now{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, all.now);
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace windrow::http
