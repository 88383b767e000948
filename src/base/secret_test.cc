#include "base/secret.h"

#include <gtest/gtest.h>

#include <set>

namespace windrow {
namespace {

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
