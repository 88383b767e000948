#include "base/sha256.h"

#include <gtest/gtest.h>

namespace windrow {
namespace {

// The examples of FIPS 180-4.
TEST(Sha256, IsTheStandards) {
  EXPECT_EQ(Sha256().finish(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 hash;
  hash.add("a");
  hash.add("bc");
  EXPECT_EQ(hash.finish(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 bytes;
  bytes.add("abc");
  EXPECT_EQ(bytes.finish_bytes().substr(0, 4), "\xba\x78\x16\xbf");
  EXPECT_EQ(Sha256().finish_bytes().size(), 32U);
}

}  // namespace
}  // namespace windrow
