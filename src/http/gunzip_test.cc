#include "http/gunzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

namespace windrow::http {
namespace {

std::string packed_by_zlib(std::string_view text) {
  z_stream stream = {};
  EXPECT_EQ(
      deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY),
      Z_OK);
  std::string packed(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

TEST(Gunzip, IsWhatWasPacked) {
  std::string text;
  for (int i = 0; i < 50'000; ++i)
    text += std::to_string(i * 7919);
  EXPECT_EQ(gunzip(packed_by_zlib(text), text.size()).value(), text);
  EXPECT_EQ(gunzip(packed_by_zlib(""), 0).value(), "");
  EXPECT_EQ(gunzip("", 0).value(), "");
  EXPECT_EQ(gunzip(packed_by_zlib("a") + packed_by_zlib("b"), 2).value(), "ab");
}

TEST(Gunzip, NothingUnpacksToMoreThanIsAllowed) {
  const std::string bomb = packed_by_zlib(std::string(64 << 20, 'x'));
  EXPECT_LT(bomb.size(), 100'000U);
  const Result<std::string> refused = gunzip(bomb, 1'000'000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kNoSpace);
  EXPECT_EQ(refused.error().message, "it unpacks to more than 1000000 bytes");
  EXPECT_FALSE(gunzip(packed_by_zlib("abc"), 2));
  EXPECT_TRUE(gunzip(packed_by_zlib("abc"), 3));
}

TEST(Gunzip, WhatIsDamagedOrCutOffIsRefused) {
  const std::string packed = packed_by_zlib("some text that is packed");
  for (size_t size = 1; size < packed.size(); ++size) {
    const Result<std::string> cut = gunzip(packed.substr(0, size), 1000);
    ASSERT_FALSE(cut) << size;
    EXPECT_EQ(cut.error().kind, ErrorKind::kInvalid) << size;
  }
  EXPECT_EQ(gunzip("{\"plain\": 1}", 1000).error().kind, ErrorKind::kInvalid);
  std::string flipped = packed;
  flipped[packed.size() - 6] = static_cast<char>(flipped[packed.size() - 6] ^ 1);
  EXPECT_EQ(gunzip(flipped, 1000).error().kind, ErrorKind::kInvalid) << "its checksum is wrong";
  EXPECT_EQ(gunzip(packed + "rest", 1000).error().kind, ErrorKind::kInvalid);
}

}  // namespace
}  // namespace windrow::http
