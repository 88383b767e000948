#include "base/percent.h"

#include <gtest/gtest.h>

namespace windrow {
namespace {

TEST(Percent, EscapesAreBytesAndTheRestStays) {
  EXPECT_EQ(percent_decoded(""), "");
  EXPECT_EQ(percent_decoded("a%2Fb%2fc"), "a/b/c");
  EXPECT_EQ(percent_decoded("%C3%A4%ff"), "\xC3\xA4\xFF");
  EXPECT_EQ(percent_decoded("%"), "%");
  EXPECT_EQ(percent_decoded("%4"), "%4");
  EXPECT_EQ(percent_decoded("%4g% 4%-1%%41"), "%4g% 4%-1%A");
}

}  // namespace
}  // namespace windrow
