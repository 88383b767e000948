#include "app/settings/price_settings.h"

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

class SpendingTest : public ::testing::Test {
 protected:
  SpendingTest() { disk_.put("prices.toml", "[gpt]\ninput = 2.0\noutput = 8.0\n"); }

  Result<fleet::Spending> read(std::string cost_max, std::string prices = "prices.toml") {
    Settings settings;
    settings.cost_max = std::move(cost_max);
    settings.prices = std::move(prices);
    return read_spending(settings, disk_);
  }

  static llm::Request request(std::string model) {
    llm::Request request;
    request.model = std::move(model);
    request.raw = std::string(400, 'x');
    request.output_tokens_max = 50;
    return request;
  }

  store::testing::MemoryDisk disk_;
};

TEST_F(SpendingTest, ARowCostsItsPromptAndTheLongestAnswer) {
  const auto spending = read("5");
  ASSERT_TRUE(spending.has_value()) << spending.error().message;
  EXPECT_EQ(spending->cost_max, 5 * dispatch::kCostUnit);
  const auto expected = spending->expected(request("gpt"));
  ASSERT_TRUE(std::holds_alternative<dispatch::Cost>(expected));
  EXPECT_EQ(std::get<dispatch::Cost>(expected), 101 * 2'000 + 50 * 8'000);
  EXPECT_EQ(spending->of(request("gpt"), {.prompt_tokens = 90, .completion_tokens = 10}),
            90 * 2'000 + 10 * 8'000);
}

TEST_F(SpendingTest, AModelWithoutAPriceIsNotAskedWhereThereIsALimit) {
  const auto spending = read("5");
  const auto expected = spending->expected(request("llama"));
  ASSERT_TRUE(std::holds_alternative<llm::Failure>(expected));
  EXPECT_EQ(std::get<llm::Failure>(expected).code, "no_price");
  const auto unlimited = read("");
  EXPECT_TRUE(std::holds_alternative<dispatch::Cost>(unlimited->expected(request("llama"))));
}

TEST_F(SpendingTest, ErrorsSayWhatToDo) {
  EXPECT_EQ(read("5", "").error().message,
            "--max-cost 5: what tokens cost is not known; name a table with --prices FILE "
            "(docs/formats.md has its form)");
  for (const char* amount : {"five", "-1", "0", "5 EUR", "1e9", "nan"}) {
    const auto spending = read(amount);
    ASSERT_FALSE(spending.has_value()) << amount;
    EXPECT_EQ(spending.error().message,
              "--max-cost: " + std::string(amount) +
                  " is no amount of US dollars; write a number such as 5 or 0.25");
  }
}

TEST(Dollars, HaveAsManyDigitsAsMeanSomething) {
  EXPECT_EQ(dollars(0), "$0.00");
  EXPECT_EQ(dollars(4'984'000'000), "$4.98");
  EXPECT_EQ(dollars(310'000), "$0.00031");
}

}  // namespace
}  // namespace windrow::app
