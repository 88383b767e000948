#include "app/memory_size.h"

#include <gtest/gtest.h>

namespace windrow::app {
namespace {

TEST(MemorySize, IsReadAsPeopleWriteIt) {
  EXPECT_EQ(parse_memory_size("0"), 0U);
  EXPECT_EQ(parse_memory_size("4096"), 4096U);
  EXPECT_EQ(parse_memory_size("4096B"), 4096U);
  EXPECT_EQ(parse_memory_size("2K"), 2048U);
  EXPECT_EQ(parse_memory_size("12G"), uint64_t{12} << 30U);
  EXPECT_EQ(parse_memory_size("1.5GiB"), uint64_t{3} << 29U);
  EXPECT_EQ(parse_memory_size("800MB"), 800'000'000U);
  EXPECT_EQ(parse_memory_size("1T"), uint64_t{1} << 40U);
}

TEST(MemorySize, OrNotAtAll) {
  for (const char* text :
       {"", "G", "-1G", "12g", "12Gb", "12 G", "12GG", "1e3", "0x10", "nan", "99999999T"})
    EXPECT_EQ(parse_memory_size(text), std::nullopt) << text;
}

}  // namespace
}  // namespace windrow::app
