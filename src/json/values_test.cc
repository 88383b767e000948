#include "json/values.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <optional>
#include <string>

namespace windrow {
namespace {

namespace json = boost::json;

TEST(JsonValues, AMemberOfAnotherKindIsNone) {
  const json::value value = json::parse(R"({"object":{"a":1},"text":"b","null":null})");
  const json::object& object = value.get_object();
  ASSERT_NE(object_in(object, "object"), nullptr);
  EXPECT_EQ(object_in(object, "object")->at("a"), 1);
  EXPECT_EQ(text_in(object, "text"), "b");
  for (const char* name : {"text", "null", "absent"})
    EXPECT_EQ(object_in(object, name), nullptr) << name;
  for (const char* name : {"object", "null", "absent"})
    EXPECT_EQ(text_in(object, name), "") << name;
}

TEST(JsonValues, AMemberOfNothingIsNone) {
  const json::value value = json::parse(R"({"object":{"a":1},"text":"b","null":null})");
  EXPECT_EQ(*member_in(member_in(&value, "object"), "a"), 1);
  ASSERT_NE(member_in(&value, "null"), nullptr);
  EXPECT_TRUE(member_in(&value, "null")->is_null());
  EXPECT_EQ(member_in(member_in(&value, "absent"), "a"), nullptr);
  EXPECT_EQ(member_in(member_in(&value, "text"), "a"), nullptr);
  EXPECT_EQ(member_in(nullptr, "a"), nullptr);
}

TEST(JsonValues, WhatIsAbsentIsNull) {
  EXPECT_EQ(json_or_null(std::optional<int64_t>(7)), json::value(7));
  EXPECT_EQ(json_or_null(std::optional<std::string>("")), json::value(""));
  EXPECT_TRUE(json_or_null(std::optional<int64_t>()).is_null());
  EXPECT_EQ(text_or_null("a"), json::value("a"));
  EXPECT_TRUE(text_or_null("").is_null());
  EXPECT_EQ(count_or_null(0), json::value(0));
  EXPECT_TRUE(count_or_null(-1).is_null());
}

}  // namespace
}  // namespace windrow
