#include "table/sampled_input.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "batch/line_source.h"
#include "batch/testing/memory_input.h"

namespace windrow::table {
namespace {

std::string numbered(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += fmt::format("{}\n", i);
  return text;
}

std::vector<uint64_t> drawn(int lines, int64_t count) {
  auto sampled =
      SampledInput::draw(std::make_unique<batch::testing::MemoryInput>(numbered(lines)), count);
  EXPECT_TRUE(sampled);
  std::vector<uint64_t> numbers;
  auto source = batch::open_lines(**sampled);
  EXPECT_TRUE(source);
  for (auto line = (*source)->next(); line && *line; line = (*source)->next()) {
    EXPECT_EQ((*line)->bytes, fmt::format("{}", (*line)->number - 1));
    numbers.push_back((*line)->number);
  }
  EXPECT_EQ(numbers, (*sampled)->drawn());
  return numbers;
}

TEST(SampledInput, DrawsTheSameLinesEachTimeFromAllOverTheFile) {
  const std::vector<uint64_t> some = drawn(1000, 50);
  ASSERT_EQ(some.size(), 50U);
  EXPECT_EQ(some, drawn(1000, 50));
  EXPECT_TRUE(std::ranges::is_sorted(some));
  for (const uint64_t begin : {1U, 251U, 501U, 751U}) {
    EXPECT_GE(std::ranges::count_if(
                  some, [&](uint64_t line) { return line >= begin && line < begin + 250; }),
              4);
  }
}

TEST(SampledInput, ALargerSampleHasASmallerOneInIt) {
  EXPECT_TRUE(std::ranges::includes(drawn(1000, 50), drawn(1000, 20)));
  EXPECT_EQ(drawn(7, 20).size(), 7U);
}

}  // namespace
}  // namespace windrow::table
