#include "sim_upstream/prefix_cache.h"

#include <gtest/gtest.h>

#include <string>

namespace windrow::sim_upstream {
namespace {

// A prompt of so many whole blocks that begins like every other prompt of that letter.
std::string prompt(char letter, size_t blocks) {
  return std::string(blocks * kBlockTokens * kTokenBytes, letter);
}

TEST(PrefixCache, ABeginningIsComputedOnce) {
  PrefixCache cache(100);
  EXPECT_EQ(cache.use(prompt('a', 4)), 0);
  EXPECT_EQ(cache.use(prompt('a', 4)), 4 * kBlockTokens);
  EXPECT_EQ(cache.use(prompt('a', 2) + prompt('b', 2)), 2 * kBlockTokens);
  // The same block behind another beginning is another block.
  EXPECT_EQ(cache.use(prompt('b', 2)), 0);
}

TEST(PrefixCache, APartOfABlockIsNotKept) {
  PrefixCache cache(100);
  EXPECT_EQ(cache.use("short"), 0);
  EXPECT_EQ(cache.use("short"), 0);
  EXPECT_EQ(cache.use(prompt('a', 1) + "tail"), 0);
  EXPECT_EQ(cache.use(prompt('a', 1) + "tail"), kBlockTokens);
}

TEST(PrefixCache, TheBeginningUnusedForLongestIsForgotten) {
  PrefixCache cache(6);
  cache.use(prompt('a', 3));
  cache.use(prompt('b', 3));
  EXPECT_EQ(cache.use(prompt('a', 3)), 3 * kBlockTokens);
  cache.use(prompt('c', 2));
  EXPECT_EQ(cache.blocks(), 6);
  // Of b the end went first.
  EXPECT_EQ(cache.use(prompt('b', 1)), kBlockTokens);
  EXPECT_EQ(cache.use(prompt('a', 3)), 3 * kBlockTokens);
}

TEST(PrefixCache, NoBlocksMeansNoCache) {
  PrefixCache cache(0);
  cache.use(prompt('a', 3));
  EXPECT_EQ(cache.use(prompt('a', 3)), 0);
}

}  // namespace
}  // namespace windrow::sim_upstream
