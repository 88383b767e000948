#include "check_answers/actions.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace windrow::check_answers {
namespace {

namespace json = boost::json;

std::optional<Actions> read(std::string_view text) {
  return actions_of(json::parse(text));
}

TEST(Actions, OrderOfActionsAndOfSourcesMeansNothing) {
  const auto one = read(R"({"creates": [{"text": "a", "source_fact_ids": ["1", "2"]},
                                        {"text": "b", "source_fact_ids": ["3"]}]})");
  const auto other = read(R"({"creates": [{"text": "c", "source_fact_ids": ["3"]},
                                          {"text": "d", "source_fact_ids": ["2", "1"]}]})");
  ASSERT_TRUE(one && other);
  EXPECT_TRUE(same_actions(one->creates, other->creates));
  EXPECT_NE(one->creates, other->creates);  // they write other texts
}

TEST(Actions, OtherSourcesObservationsAndNumbersOfActionsAreOtherActions) {
  const auto same = [](std::string_view one, std::string_view other) {
    return same_actions(read(one)->updates, read(other)->updates);
  };
  const std::string_view update =
      R"({"updates": [{"text": "a", "observation_id": "o1", "source_fact_ids": ["1"]}]})";
  EXPECT_TRUE(same(update, update));
  EXPECT_FALSE(same(update, "{}"));
  EXPECT_FALSE(same(
      update, R"({"updates": [{"text": "a", "observation_id": "o2", "source_fact_ids": ["1"]}]})"));
  EXPECT_FALSE(same(update, R"({"updates": [{"text": "a", "observation_id": "o1",
                                             "source_fact_ids": ["1", "2"]}]})"));
}

TEST(Actions, AbsentListsAreEmptyAndOneIdIsAList) {
  const auto actions = read(R"({"creates": [{"text": "a", "source_fact_ids": "1"}]})");
  const auto list = read(R"({"creates": [{"text": "a", "source_fact_ids": ["1"]}]})");
  ASSERT_TRUE(actions && list);
  EXPECT_EQ(actions->creates, list->creates);
  EXPECT_TRUE(actions->updates.empty());
  EXPECT_TRUE(actions->deletes.empty());
}

TEST(Actions, WhatIsNoAnswerOfThisKindIsRefused) {
  for (const std::string_view text :
       {"[]", "3", R"({"creates": {}})", R"({"creates": [3]})", R"({"creates": [{}]})",
        R"({"creates": [{"text": 3}]})", R"({"updates": [{"text": "a"}]})",
        R"({"deletes": ["o1"]})", R"({"creates": [{"text": "a", "source_fact_ids": {}}]})"}) {
    EXPECT_FALSE(read(text)) << text;
  }
}

}  // namespace
}  // namespace windrow::check_answers
