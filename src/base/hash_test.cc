#include "base/hash.h"

#include <gtest/gtest.h>

namespace windrow {
namespace {

// Stored in result logs: these values must never change.
TEST(Hash, IsStableBetweenVersions) {
  EXPECT_EQ(to_hex(hash64("windrow")), to_hex(hash64("windrow")));
  EXPECT_EQ(to_hex(hash64("")), "2d06800538d394c2");  // XXH3's published value of the empty text
  EXPECT_EQ(to_hex(hash128("").high) + to_hex(hash128("").low), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, HexIsReadBackOnlyInItsOwnForm) {
  uint64_t value = 0;
  EXPECT_TRUE(parse_hex64("00000000000000ff", value));
  EXPECT_EQ(value, 255U);
  EXPECT_FALSE(parse_hex64("ff", value));
  EXPECT_FALSE(parse_hex64("00000000000000fg", value));
  EXPECT_FALSE(parse_hex64("00000000000000ff0", value));
}

}  // namespace
}  // namespace windrow
