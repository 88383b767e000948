#include "llm/prices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <cstdint>

#include "base/random.h"

namespace windrow::llm {
namespace {

using ::testing::HasSubstr;

Result<PriceTable> parsed(std::string_view text) {
  return PriceTable::parse(boost::json::parse(text), [](std::string_view, std::string_view) {
    return std::string("prices.toml");
  });
}

TEST(Prices, CachedTokensAreAPartOfThePrompt) {
  const Price price{.input_usd = 2, .cached_usd = 0.5, .output_usd = 8};
  EXPECT_DOUBLE_EQ(cost_usd(price, {.prompt = 1'000'000}), 2);
  EXPECT_DOUBLE_EQ(cost_usd(price, {.prompt = 1'000'000, .cached = 400'000}), 1.4);
  EXPECT_DOUBLE_EQ(cost_usd(price, {.prompt = 0, .cached = 0, .completion = 250'000}), 2);
  EXPECT_DOUBLE_EQ(cost_usd(price, {}), 0);
}

TEST(Prices, CountsThatDoNotFitThirtyTwoBits) {
  TokenCount sum;
  for (int i = 0; i < 1'000; ++i)
    sum += {.prompt = 2'000'000'000, .cached = 0, .completion = 1};
  EXPECT_DOUBLE_EQ(cost_usd({.input_usd = 1}, sum), 2'000'000);
}

// A table of integers, worked out by hand: 0.15 dollars a million is 150 billionths a token.
TEST(Prices, ABudgetCountsInBillionthsRoundedUp) {
  const Price price{.input_usd = 0.15, .cached_usd = 0.0375, .output_usd = 0.6};
  EXPECT_EQ(cost_billionths(price, {.prompt = 1}), 150);
  EXPECT_EQ(cost_billionths(price, {.prompt = 1, .cached = 1}), 38) << "37.5";
  EXPECT_EQ(cost_billionths(price, {.prompt = 2, .cached = 2}), 75);
  EXPECT_EQ(cost_billionths(price, {.prompt = 1'000'000, .completion = 1'000'000}), 750'000'000);
  EXPECT_EQ(cost_billionths({.input_usd = 1e-6}, {.prompt = 1}), 1) << "never nothing";
  EXPECT_EQ(cost_billionths(price, {}), 0);
}

TEST(Prices, ABudgetIsNotMisledByCountsThatCannotBe) {
  const Price price{.input_usd = 1, .cached_usd = 1, .output_usd = 1};
  EXPECT_EQ(cost_billionths(price, {.prompt = 3, .cached = 9}), 3000);
  EXPECT_EQ(cost_billionths(price, {.prompt = 3, .cached = -9}), 3000);
  EXPECT_EQ(cost_billionths(price, {.prompt = -3, .cached = 0, .completion = -1}), 0);
  EXPECT_EQ(cost_billionths({.output_usd = 1e6}, {.completion = INT64_MAX}), kCostMax);
}

TEST(Prices, NoRequestCostsMoreThanItWasExpectedTo) {
  Random random(11);
  for (int i = 0; i < 10'000; ++i) {
    const Price price{.input_usd = random.unit() * 20,
                      .cached_usd = random.unit() * 20,
                      .output_usd = random.unit() * 60};
    const auto up_to = [&](int64_t most) {
      return static_cast<int64_t>(random.unit() * static_cast<double>(most + 1));
    };
    const int64_t prompt = up_to(100'000);
    const int64_t completion_max = up_to(30'000);
    const int64_t expected = cost_billionths_at_most(price, prompt, completion_max);
    const TokenCount real{
        .prompt = prompt, .cached = up_to(prompt), .completion = up_to(completion_max)};
    ASSERT_LE(cost_billionths(price, real), expected);
    ASSERT_NEAR(static_cast<double>(cost_billionths(price, real)), cost_usd(price, real) * 1e9,
                100);
  }
}

TEST(Prices, AModelWithoutAPriceHasNoCost) {
  const auto table = parsed(R"({"m": {"input": 1, "output": 2}})");
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->cost("m", {.prompt = 1, .completion = 1}), 3000);
  EXPECT_EQ(table->cost_at_most("m", 1, 1), 3000);
  EXPECT_EQ(table->cost("n", {.prompt = 1}), std::nullopt);
  EXPECT_EQ(table->cost_at_most("n", 1, 1), std::nullopt);
}

TEST(Prices, TheNearestNameCounts) {
  const auto table = parsed(R"({"a": {"input": 1, "output": 1}, "a*": {"input": 2, "output": 2},
                                "a-b*": {"input": 3, "output": 3}})");
  ASSERT_TRUE(table.has_value()) << table.error().message;
  EXPECT_EQ(table->size(), 3U);
  EXPECT_EQ(table->find("a")->input_usd, 1);
  EXPECT_EQ(table->find("a-c")->input_usd, 2);
  EXPECT_EQ(table->find("a-b-2026")->input_usd, 3);
  EXPECT_EQ(table->find("A"), nullptr);
  EXPECT_EQ(table->find(""), nullptr);
}

TEST(Prices, AStarAloneIsForEveryModel) {
  const auto table = parsed(R"({"*": {"input": 1, "cached": 0.25, "output": 4}})");
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(*table->find("anything"), (Price{1, 0.25, 4}));
}

TEST(Prices, CachedCostsAsMuchAsInputUnlessItSays) {
  const auto table = parsed(R"({"m": {"input": 1.5, "output": 0}})");
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(*table->find("m"), (Price{1.5, 1.5, 0}));
}

TEST(Prices, WhatCouldBeMeantOtherwiseIsRefused) {
  const auto refused = [](std::string_view text) {
    const auto table = parsed(text);
    return table ? std::string("it was taken") : table.error().message;
  };
  EXPECT_THAT(refused("{}"), HasSubstr("prices.toml has no prices"));
  EXPECT_THAT(refused("[]"), HasSubstr("has no prices"));
  EXPECT_THAT(refused(R"({"m": 3})"), HasSubstr("prices.toml: m: it has no members"));
  EXPECT_THAT(refused(R"({"m": {"input": 1}})"), HasSubstr("output is missing"));
  EXPECT_THAT(refused(R"({"m": {"output": 1}})"), HasSubstr("input is missing"));
  EXPECT_THAT(refused(R"({"m": {"input": -1, "output": 1}})"),
              HasSubstr("input must be a number from 0"));
  EXPECT_THAT(refused(R"({"m": {"input": "1", "output": 1}})"), HasSubstr("must be a number"));
  EXPECT_THAT(refused(R"({"m": {"input": 1, "output": 1, "batch": 1}})"),
              HasSubstr("batch is none of them"));
  EXPECT_THAT(refused(R"({"m": {"input": 1e10, "output": 1}})"),
              HasSubstr("from 0 to 1000000000;"));
  EXPECT_THAT(refused(R"({"m-1": {"5": {"input": 1, "output": 1}}})"),
              HasSubstr("with a point in it stands in quotes"));
}

}  // namespace
}  // namespace windrow::llm
