#include "memory/bank/scopes.h"

#include <gtest/gtest.h>

namespace windrow::memory {
namespace {

TEST(Tags, AreSortedAndEachOnce) {
  EXPECT_EQ(Tags({"b", "a", "b"}).list(), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace windrow::memory
