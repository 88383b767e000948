#include "base/crypto.h"

#include <gtest/gtest.h>

#include <set>

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

TEST(Secret, NoTwoAreAlike) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    std::string bytes = secret_bytes(32);
    ASSERT_EQ(bytes.size(), 32U);
    EXPECT_TRUE(seen.insert(std::move(bytes)).second);
  }
  EXPECT_EQ(secret_bytes(0), "");
  EXPECT_EQ(secret_bytes(1000).size(), 1000U);
}

TEST(Secret, IsComparedToItsLastByte) {
  const std::string secret = secret_bytes(32);
  EXPECT_TRUE(same_secret(secret, std::string(secret)));
  for (size_t i = 0; i < secret.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = secret;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      EXPECT_FALSE(same_secret(secret, other)) << i << ' ' << bit;
    }
  }
  EXPECT_FALSE(same_secret(secret, secret.substr(0, 31)));
  EXPECT_TRUE(same_secret("", ""));
}

}  // namespace
}  // namespace windrow
