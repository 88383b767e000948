#include "llm/prices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace windrow::llm {
namespace {

using ::testing::HasSubstr;

Result<PriceTable> parsed(std::string_view text) {
  return PriceTable::parse(boost::json::parse(text), "prices.toml");
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
}

}  // namespace
}  // namespace windrow::llm
