#include "base/text_encoding.h"

#include <gtest/gtest.h>

namespace windrow {

namespace {

std::string base64(std::string_view bytes) {
  std::string text;
  append_base64(bytes, text);
  EXPECT_EQ(text.size(), base64_length(bytes.size()));
  return text;
}

// RFC 4648, section 10.
TEST(Base64, TheVectorsOfTheStandard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Base64, BytesAboveAsciiReachTheEndOfTheAlphabet) {
  EXPECT_EQ(base64("\xFB\xFF\xBF"), "+/+/");
  EXPECT_EQ(base64(std::string_view("\0\0\0", 3)), "AAAA");
}

// Long enough for what encodes many groups at once, at every length and byte.
TEST(Base64, LongTextsAreTheirGroupsOneByOne) {
  std::string bytes;
  for (size_t i = 0; i < 400; ++i) {
    std::string groups;
    for (size_t at = 0; at < bytes.size(); at += 3)
      groups += base64(std::string_view(bytes).substr(at, 3));
    EXPECT_EQ(base64(bytes), groups) << i << " bytes";
    bytes += static_cast<char>(i * 167 + i / 256);
  }
}

TEST(Base64, IsAppended) {
  std::string text = "data:";
  append_base64("foo", text);
  EXPECT_EQ(text, "data:Zm9v");
}

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
