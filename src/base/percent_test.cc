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

TEST(Percent, WhatIsNotPlainBecomesEscapes) {
  EXPECT_EQ(percent_encoded(""), "");
  EXPECT_EQ(percent_encoded("Az0-._~"), "Az0-._~");
  EXPECT_EQ(percent_encoded("a/b c\r\n\xC3\xA4%"), "a%2Fb%20c%0D%0A%C3%A4%25");
  EXPECT_EQ(percent_encoded("a/b c", "/"), "a/b%20c");
}

}  // namespace
}  // namespace windrow
