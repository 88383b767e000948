#include "llm/json_values.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace windrow::llm {
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

}  // namespace
}  // namespace windrow::llm
