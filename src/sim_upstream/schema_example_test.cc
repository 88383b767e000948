#include "sim_upstream/schema_example.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace windrow::sim_upstream {
namespace {

namespace json = boost::json;

json::value example(std::string_view schema, uint64_t seed = 1) {
  return example_of_schema(json::parse(schema), Random(seed));
}

TEST(SchemaExample, EveryPropertyHasAValueOfItsType) {
  const json::value value = example(R"({"type":"object","required":["a"],"properties":{
      "a":{"type":"string"},"b":{"type":"integer","minimum":5},"c":{"type":"array","minItems":3,
      "items":{"type":"boolean"}},"d":{"type":["number","null"]},"e":{"const":7},
      "f":{"properties":{"g":{"type":"null"}}}}})");
  EXPECT_TRUE(value.at("a").is_string());
  EXPECT_GE(value.at("b").as_int64(), 5);
  EXPECT_EQ(value.at("c").as_array().size(), 3U);
  EXPECT_TRUE(value.at("c").at(0).is_bool());
  EXPECT_TRUE(value.at("d").is_double());
  EXPECT_EQ(value.at("e"), 7);
  EXPECT_TRUE(value.at("f").at("g").is_null());
}

TEST(SchemaExample, ChoicesAndReferencesAreFollowed) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const json::value value = example(
        R"({"$defs":{"colour":{"enum":["red","green"]}},"anyOf":[{"$ref":"#/$defs/colour"}]})",
        seed);
    EXPECT_TRUE(value == "red" || value == "green") << "seed " << seed;
  }
}

TEST(SchemaExample, CirclesEnd) {
  const json::value value = example(R"({"type":"object","properties":{"next":{"$ref":"#"}}})");
  EXPECT_LT(json::serialize(value).size(), 1000U);
  EXPECT_TRUE(example(R"({"$ref":"#/nothing"})").is_null());
  EXPECT_TRUE(example("true").is_null());
}

}  // namespace
}  // namespace windrow::sim_upstream
