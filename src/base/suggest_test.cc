#include "base/suggest.h"

#include <gtest/gtest.h>

#include <array>

namespace windrow {
namespace {

constexpr std::array<std::string_view, 5> kWords = {"rows-max", "batch-tokens", "ctx", "quiet",
                                                    "ordered"};

TEST(Suggest, DistanceCountsChangesAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("abc", "abc"), 0U);
  EXPECT_EQ(edit_distance("abc", "axc"), 1U);
  EXPECT_EQ(edit_distance("abc", "acb"), 1U);
  EXPECT_EQ(edit_distance("abcd", "abd"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Suggest, FindsTheWordThatWasMeant) {
  EXPECT_EQ(nearest_word("rows-mxa", kWords), "rows-max");
  EXPECT_EQ(nearest_word("row_max", kWords), "rows-max");
  EXPECT_EQ(nearest_word("Rows_Max", kWords), "rows-max");
  EXPECT_EQ(nearest_word("ordred", kWords), "ordered");
  EXPECT_EQ(nearest_word("ctxx", kWords), "ctx");
}

TEST(Suggest, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest_word("temperature", kWords), "");
  EXPECT_EQ(nearest_word("x", kWords), "");
  EXPECT_EQ(nearest_word("", kWords), "");
  EXPECT_EQ(nearest_word("", std::array<std::string_view, 1>{"n"}), "");
  EXPECT_EQ(nearest_word("k", std::array<std::string_view, 1>{"n"}), "");
  EXPECT_EQ(did_you_mean("temperature", kWords, "; see --help"), "; see --help");
  EXPECT_EQ(did_you_mean("quite", kWords, ""), "; did you mean quiet?");
}

}  // namespace
}  // namespace windrow
