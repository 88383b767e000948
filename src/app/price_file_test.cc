#include "app/price_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/testing/memory_disk.h"

namespace windrow::app {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

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

TEST(PriceFile, MistakesHaveTheirLine) {
  store::testing::MemoryDisk disk;
  const auto refused = [&](const char* path, const char* text) {
    disk.put(path, text);
    const auto table = read_price_file(disk, path);
    return table ? std::string("it was taken") : table.error().message;
  };
  EXPECT_THAT(refused("p.toml", "[m]\ninput = \n"), StartsWith("p.toml:2: "));
  EXPECT_THAT(refused("p.toml", "\n[m]\ninput = 1\n"),
              StartsWith("p.toml:2: m: output is missing"));
  EXPECT_THAT(refused("p.toml", "[m]\noutput = 1\ninput = \"2\"\n"),
              StartsWith("p.toml:3: m: input must be a number"));
  EXPECT_THAT(refused("p.toml", "[m]\noutput = 1\nprompt = 1\n"),
              StartsWith("p.toml:3: m: prompt is none of them"));
  EXPECT_THAT(refused("p.toml", "[m-1.5]\ninput = 1\n"), HasSubstr("stands in quotes"));
  EXPECT_THAT(refused("p.toml", "# none yet\n"), StartsWith("p.toml has no prices"));

  EXPECT_THAT(refused("p.json", "{\n \"m\": {,\n"), StartsWith("p.json:2: this is not JSON"));
  EXPECT_THAT(refused("p.json", "{\n"), HasSubstr("this is not JSON"));
  EXPECT_THAT(refused("p.json", "{}\n\n7"), HasSubstr("this is not JSON"));
  EXPECT_THAT(refused("p.json", "{\n\"a\": {\"input\": 1, \"output\": 1},\n\"b\": 3}"),
              StartsWith("p.json:3: b: it has no members"));
  EXPECT_EQ(read_price_file(disk, "none.toml").error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace windrow::app
