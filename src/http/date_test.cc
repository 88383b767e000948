#include "http/date.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace windrow::http {
namespace {

TEST(HttpDate, TheExampleOfTheStandard) {
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
}

TEST(HttpDate, WhatIsWrittenIsRead) {
  constexpr uint64_t kSeed = 5;
  Random random(kSeed);
  for (int i = 0; i < 1000; ++i) {
    const int64_t time = random.between(0, 250'000'000'000);
    EXPECT_EQ(parse_http_date(http_date(time)), time) << "seed " << kSeed;
  }
}

TEST(HttpDate, OtherTextsAreNoDates) {
  for (const char* text :
       {"", "120", "Sun, 06 Nov 1994 08:49:37 UTC", "Mon, 06 Nov 1994 08:49:37 GMT",
        "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08-49-37 GMT"}) {
    EXPECT_FALSE(parse_http_date(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace windrow::http
