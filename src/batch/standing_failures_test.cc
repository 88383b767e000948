#include "batch/standing_failures.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"

namespace windrow::batch {
namespace {

// Against what the rule says, in so many words.
TEST(StandingFailures, TheLastLineOfARowWithoutAResultCounts) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    std::vector<uint64_t> failures(random.below(40));
    for (uint64_t& row : failures)
      row = random.below(15);
    std::set<uint64_t> results;
    for (uint64_t n = random.below(10); n > 0; --n)
      results.insert(random.below(15));

    StandingFailures standing;
    std::map<uint64_t, size_t> last;
    for (size_t i = 0; i < failures.size(); ++i) {
      standing.add_failure(hash128(std::to_string(failures[i])));
      last[failures[i]] = i;
    }
    for (const uint64_t row : results)
      standing.add_result(hash128(std::to_string(row)));
    EXPECT_EQ(standing.size(), last.size());
    for (size_t i = 0; i < failures.size(); ++i) {
      const bool counts = last[failures[i]] == i && !results.contains(failures[i]);
      ASSERT_EQ(standing.take(hash128(std::to_string(failures[i]))), counts)
          << "line " << i << ", seed " << seed;
    }
  }
}

TEST(StandingFailures, WhatWasNotAddedDoesNotCount) {
  StandingFailures standing;
  standing.add_failure({.low = 1, .high = 1});
  EXPECT_FALSE(standing.take({.low = 2, .high = 1}));
  EXPECT_TRUE(standing.take({.low = 1, .high = 1}));
  EXPECT_FALSE(standing.take({.low = 1, .high = 1}));
}

}  // namespace
}  // namespace windrow::batch
