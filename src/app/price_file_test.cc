#include "app/price_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/testing/memory_disk.h"

namespace windrow::app {
namespace {

using ::testing::HasSubstr;

constexpr const char* kToml = R"(# US dollars for a million tokens
["small-1.5*"]
input = 0.15
cached = 0.075
output = 0.6

[embed]
input = 1
output = 0
)";

TEST(PriceFile, TomlAndJsonSayTheSame) {
  store::testing::MemoryDisk disk;
  disk.put("p.toml", kToml);
  disk.put("p.json",
           R"({"small-1.5*": {"input": 0.15, "cached": 0.075, "output": 0.6},
               "embed": {"input": 1, "output": 0}})");
  for (const char* path : {"p.toml", "p.json"}) {
    const auto table = read_price_file(disk, path);
    ASSERT_TRUE(table.has_value()) << table.error().message;
    EXPECT_EQ(table->size(), 2U);
    EXPECT_EQ(*table->find("small-1.5-2026-01-01"), (llm::Price{0.15, 0.075, 0.6}));
    EXPECT_EQ(*table->find("embed"), (llm::Price{1, 1, 0}));
  }
}

TEST(PriceFile, MistakesHaveTheirPlace) {
  store::testing::MemoryDisk disk;
  disk.put("p.toml", "[m]\ninput = \n");
  EXPECT_THAT(read_price_file(disk, "p.toml").error().message, HasSubstr("p.toml:2: "));
  disk.put("p.json", "{");
  EXPECT_THAT(read_price_file(disk, "p.json").error().message, HasSubstr("p.json is not JSON"));
  disk.put("q.toml", "[m]\ninput = 1\n");
  EXPECT_THAT(read_price_file(disk, "q.toml").error().message,
              HasSubstr("q.toml: m: output is missing"));
  EXPECT_EQ(read_price_file(disk, "none.toml").error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace windrow::app
