// No schema and no answer may crash the process or hold it for long.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <string>
#include <thread>
#include <vector>

#include "schema/validator.h"

namespace windrow::schema {
namespace {

namespace json = boost::json;

Result<Validator> compiled(const json::value& schema, bool closed = false) {
  return Validator::compile(schema, {.closed_by_default = closed});
}

Result<Validator> parsed(std::string_view schema, bool closed = false) {
  json::parse_options options;
  options.max_depth = 100'000;
  return compiled(json::parse(schema, {}, options), closed);
}

std::string repeated(std::string_view text, size_t count) {
  std::string result;
  for (size_t i = 0; i < count; ++i)
    result += text;
  return result;
}

std::string nested(size_t depth) {
  return repeated("[", depth) + repeated("]", depth);
}

TEST(Limits, SchemasThatAreNestedTooDeepAreRefused) {
  for (const size_t depth : {300U, 20'000U}) {
    const auto schema = parsed(repeated(R"({"items":)", depth) + "true" + repeated("}", depth));
    ASSERT_FALSE(schema);
    EXPECT_EQ(schema.error().message, "at #: is nested deeper than 256");
    EXPECT_FALSE(parsed(R"({"const":)" + nested(depth) + "}"));
  }
  EXPECT_TRUE(parsed(repeated(R"({"items":)", 250) + "true" + repeated("}", 250)));
}

TEST(Limits, CirclesWithoutProgressAreRefused) {
  for (
      const char* circle : {
          R"({"$ref": "#"})",
          R"({"allOf": [{"$ref": "#"}]})",
          R"({"anyOf": [true, {"$ref": "#"}]})",
          R"({"oneOf": [{"$ref": "#"}]})",
          R"({"not": {"$ref": "#"}})",
          R"({"if": {"$ref": "#"}, "then": true})",
          R"({"if": true, "else": {"$ref": "#"}})",
          R"({"dependentSchemas": {"a": {"$ref": "#"}}})",
          R"({"dependencies": {"a": {"$ref": "#"}}})",
          R"({"$ref": "#/$defs/a",
               "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}})",
          R"({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}})",
      }) {
    const auto schema = parsed(circle);
    ASSERT_FALSE(schema) << circle;
    EXPECT_NE(schema.error().message.find("refers to itself in a circle"), std::string::npos)
        << schema.error().message;
  }
  EXPECT_TRUE(
      parsed(R"({"properties": {"a": {"$ref": "#"}}, "items": {"anyOf": [{"$ref": "#"}]}})"));
}

TEST(Limits, ChainsOfReferencesAreBounded) {
  const auto chain = [](int length) {
    json::object definitions;
    for (int i = 0; i < length; ++i)
      definitions[fmt::format("d{}", i)] = {{"$ref", fmt::format("#/$defs/d{}", i + 1)}};
    definitions[fmt::format("d{}", length)] = {{"type", "integer"}};
    return json::value({{"$ref", "#/$defs/d0"}, {"$defs", definitions}});
  };
  const auto fine = compiled(chain(150));
  ASSERT_TRUE(fine);
  EXPECT_FALSE(fine.value().check("1"));
  EXPECT_TRUE(fine.value().check("1.5"));
  EXPECT_FALSE(compiled(chain(50'000)));
}

TEST(Limits, SchemasWithTooManyPartsAreRefused) {
  json::array many(110'000, json::object{{"minimum", 1}});
  EXPECT_FALSE(compiled(json::value{{"allOf", std::move(many)}}));
  json::object patterns;
  for (int i = 0; i < 1100; ++i)
    patterns[fmt::format("^p{}", i)] = true;
  EXPECT_FALSE(compiled(json::value{{"patternProperties", std::move(patterns)}}));
}

TEST(Limits, DeepAnswersAreNotJudged) {
  const auto any = parsed("true");
  EXPECT_FALSE(any.value().check(nested(256)));
  for (const size_t depth : {257U, 1'000'000U}) {
    const auto violation = any.value().check(nested(depth));
    ASSERT_TRUE(violation);
    EXPECT_EQ(violation->kind, Violation::Kind::kUnjudged);
    EXPECT_EQ(violation->message,
              "the answer is nested more than 256 deep, which is too deep to be judged");
  }
}

TEST(Limits, DeepAnswersAreJudgedToTheBottom) {
  // Each level of the answer takes several of the schema.
  for (const bool closed : {false, true}) {
    const auto list = parsed(R"({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object",
        "properties": {"v": {"type": "integer"}, "next": {"anyOf": [
        {"allOf": [{"$ref": "#/$defs/n"}]},
        {"type": "null"}]}}}}})",
                             closed);
    ASSERT_TRUE(list);
    const std::string open = repeated(R"({"v":1,"next":)", 250);
    EXPECT_FALSE(list.value().check(open + "null" + repeated("}", 250)));
    const auto violation = list.value().check(open + "5" + repeated("}", 250));
    ASSERT_TRUE(violation);
    EXPECT_EQ(violation->kind, Violation::Kind::kSchema);
  }
}

// The stack of a thread is bounded, and the recursion with it.
TEST(Limits, TheDeepestJudgingFitsAThreadsStack) {
  std::string schema = R"({"$defs": {"n": {"properties": {"a": )";
  schema += repeated(R"({"allOf": [{"anyOf": [)", 60) + R"({"$ref": "#/$defs/n"})" +
            repeated("]}]}", 60) + R"(}}}, "$ref": "#/$defs/n"})";
  for (const bool closed : {false, true}) {
    const auto validator = parsed(schema, closed);
    ASSERT_TRUE(validator) << validator.error().message;
    std::optional<Violation> violation;
    std::thread([&] {
      violation = validator.value().check(repeated(R"({"a":)", 250) + "1" + repeated("}", 250));
    }).join();
    ASSERT_TRUE(violation);
    EXPECT_EQ(violation->kind, Violation::Kind::kUnjudged);
    EXPECT_EQ(violation->message, "the answer is nested too deep to be judged");
  }
}

// Each of 60 schemas asks the next one twice.
std::string doubling(std::string_view keyword, std::string_view last) {
  std::string definitions;
  for (int i = 0; i < 60; ++i)
    definitions +=
        fmt::format(R"("d{}": {{"{}": [{{"$ref": "#/$defs/d{}"}}, {{"$ref": "#/$defs/d{}"}}]}},)",
                    i, keyword, i + 1, i + 1);
  return fmt::format(R"({{"$ref": "#/$defs/d0", "$defs": {{{} "d60": {}}}}})", definitions, last);
}

TEST(Limits, SchemasThatMultiplyAreJudgedOncePerValue) {
  const auto all = parsed(doubling("allOf", R"({"type": "integer"})"));
  ASSERT_TRUE(all);
  EXPECT_FALSE(all.value().check("1"));
  EXPECT_TRUE(all.value().check("\"a\""));
  const auto any = parsed(doubling("anyOf", R"({"type": "integer"})"));
  EXPECT_FALSE(any.value().check("1"));
  const auto violation = any.value().check("\"a\"");
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->kind, Violation::Kind::kSchema);
  const auto one = parsed(doubling("oneOf", R"({"type": "integer"})"));
  ASSERT_TRUE(one.value().check("1"));
  EXPECT_EQ(one.value().check("1")->kind, Violation::Kind::kSchema);
  // With a scope of names for each branch there is more to know; then it may give up, in time.
  const auto closed = parsed(doubling("anyOf", R"({"properties": {"a": true}})"), true);
  ASSERT_TRUE(closed) << closed.error().message;
  EXPECT_FALSE(closed.value().check(R"({"a": 1})"));
  EXPECT_TRUE(closed.value().check(R"({"b": 1})"));
}

TEST(Limits, LongTextsMeetPatternsInLinearTime) {
  const std::string text = "\"" + repeated("aaaaaaaaaa", 1'000'000) + "!\"";
  for (const char* pattern : {"^(a+)+$", "(a|aa)*$", "a.*b.*c"}) {
    const auto validator = compiled(json::value{{"pattern", pattern}});
    ASSERT_TRUE(validator);
    std::ignore = validator.value().check(text);
  }
  EXPECT_FALSE(compiled(json::value{{"pattern", "!$"}}).value().check(text));
  const auto costly = compiled(json::value{{"pattern", "^.{1000}.*b.{1000}$"}}).value().check(text);
  ASSERT_TRUE(costly);
  EXPECT_EQ(costly->kind, Violation::Kind::kUnjudged);
}

TEST(Limits, HugeNumbersAreNumbers) {
  const std::string digits(1'000'000, '7');
  const auto integer = parsed(R"({"type": "integer", "multipleOf": 7, "minimum": 1})");
  EXPECT_FALSE(integer.value().check(digits));
  EXPECT_FALSE(integer.value().check("7e1000000"));
  EXPECT_TRUE(integer.value().check("-7e1000000"));
  EXPECT_TRUE(integer.value().check("7e-1000000"));
  EXPECT_TRUE(integer.value().check("0." + digits));
  EXPECT_TRUE(compiled(json::value{{"maximum", 1e308}}).value().check("1e309"));
  // Texts that no JSON reader accepts.
  EXPECT_TRUE(integer.value().check("7e99999999999"));
}

TEST(Limits, LargeArraysOfLikeThingsTakeNoSquares) {
  std::string numbers = "[";
  std::string objects = "[";
  for (int i = 0; i < 200'000; ++i) {
    numbers += fmt::format("{},", i);
    objects += fmt::format(R"({{"a":{}}},)", i);
  }
  const auto unique = parsed(R"({"uniqueItems": true})");
  EXPECT_FALSE(unique.value().check(numbers + "-1]"));
  EXPECT_TRUE(unique.value().check(numbers + "77]"));
  EXPECT_FALSE(unique.value().check(objects + "0]"));
  EXPECT_TRUE(unique.value().check(objects + R"({"a":77.0}])"));
}

TEST(Limits, ManyMembersMeetManyNames) {
  std::string members;
  json::object properties;
  for (int i = 0; i < 50'000; ++i) {
    members += fmt::format(R"({}"m{}":{})", i == 0 ? "" : ",", i, i);
    properties[fmt::format("m{}", i)] = {{"minimum", 0}};
  }
  const auto validator = compiled(json::value{{"properties", std::move(properties)}}, true);
  ASSERT_TRUE(validator);
  EXPECT_FALSE(validator.value().check("{" + members + "}"));
  EXPECT_TRUE(validator.value().check("{" + members + R"(,"x":1})"));
}

}  // namespace
}  // namespace windrow::schema
