#include "app/spending.h"

#include <gtest/gtest.h>

#include "store/testing/memory_disk.h"

namespace windrow::app {
namespace {

class SpendingTest : public ::testing::Test {
 protected:
  SpendingTest() { disk_.put("prices.toml", "[gpt]\ninput = 2.0\noutput = 8.0\n"); }

  Result<Spending> read(std::string cost_max, std::string prices = "prices.toml") {
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
