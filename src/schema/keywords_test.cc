// Each keyword that is judged, with answers that fit and answers that do not. The table is held to
// the list of keywords, so that none can be added without cases.
#include "schema/keywords.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include <boost/json/parse.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "schema/validator.h"

namespace windrow::schema {
namespace {

namespace json = boost::json;

struct Case {
  std::string_view keyword;
  std::string_view schema;
  std::vector<std::string_view> fits;
  std::vector<std::string_view> violates;
};

const std::vector<Case> kCases = {
    {"type", R"({"type": "integer"})", {"1", "1.0", "-3e2", "0"}, {"1.5", "\"1\"", "null", "[1]"}},
    {"type", R"({"type": "number"})", {"1", "1.5"}, {"true", "\"1\""}},
    {"type", R"({"type": "string"})", {"\"\""}, {"1", "null"}},
    {"type", R"({"type": "boolean"})", {"true", "false"}, {"0", "null", "\"true\""}},
    {"type", R"({"type": "null"})", {"null"}, {"0", "false", "\"\"", "{}"}},
    {"type", R"({"type": "array"})", {"[]"}, {"{}"}},
    {"type", R"({"type": "object"})", {"{}"}, {"[]"}},
    {"type", R"({"type": ["string", "null"]})", {"null", "\"a\""}, {"1", "[]"}},
    {"nullable", R"({"type": "string", "nullable": true})", {"null", "\"a\""}, {"1"}},
    {"nullable", R"({"type": "string", "nullable": false})", {"\"a\""}, {"null"}},
    {"enum",
     R"({"enum": [1, "a", [1.0], null, {"a": 1, "b": 2}]})",
     {"1", "1.00", "\"a\"", "[1]", "null", R"({"b": 2, "a": 1})"},
     {"2", "\"b\"", "[]", "[1,1]", "true", R"({"a": 1})"}},
    {"enum", R"({"enum": []})", {}, {"null", "1"}},
    {"const",
     R"({"const": 1})",
     {"1", "1.0", "10e-1"},
     {"true", "2", "\"1\"", "1.0000000000000001"}},
    {"const", R"({"const": {"a": [false]}})", {R"({"a": [false]})"}, {R"({"a": [0]})", "{}"}},
    {"const", R"({"const": null})", {"null"}, {"0", "[]"}},
    {"minimum",
     R"({"minimum": 1.1})",
     {"1.1", "1.10", "2", "\"0\""},
     {"1.09999999999999999999", "-2"}},
    {"maximum",
     R"({"maximum": 9007199254740992})",
     {"9007199254740992", "-1e400"},
     {"9007199254740993", "9007199254740992.00000001", "1e400"}},
    {"exclusiveMinimum", R"({"exclusiveMinimum": 0})", {"1e-300", "5e-324"}, {"0", "-0.0", "-1"}},
    {"exclusiveMaximum",
     R"({"exclusiveMaximum": 3})",
     {"2.999999999999999999999"},
     {"3", "3.0", "4"}},
    {"multipleOf",
     R"({"multipleOf": 0.01})",
     {"19.99", "0", "0.07", "123456789012345678.01", "1e300", "-0.01"},
     {"19.995", "123456789012345678.015", "0.0000001"}},
    {"multipleOf",
     R"({"multipleOf": 7})",
     {"7", "-14", "7e20", "123456789012345678901234567890000000"},
     {"1", "7.5", "123456789012345678901234567890000001"}},
    {"multipleOf", R"({"multipleOf": 2.5e-8})", {"1", "7.5e-8"}, {"1e-8"}},
    {"minLength",
     R"({"minLength": 2})",
     {"\"ab\"", "\"\\ud83d\\ude00b\"", "1"},
     {"\"a\"", "\"😀\"", "\"\""}},
    {"maxLength",
     R"({"maxLength": 2})",
     {"\"éü\"", "\"a\\u0000\"", "\"😀😀\""},
     {"\"abc\"", "\"a\\u0000b\""}},
    {"pattern",
     R"({"pattern": "b\\d+$"})",
     {"\"ab12\"", "12"},
     {"\"b\"", "\"b12 \"", "\"b\\u0663\""}},
    {"format", R"({"format": "date"})", {"\"2024-02-29\"", "5"}, {"\"2023-02-29\"", "\"x\""}},
    {"items", R"({"items": {"type": "integer"}})", {"[]", "[1, 2]", "{}"}, {"[1, \"2\"]"}},
    {"items",
     R"({"items": [{"type": "integer"}, {"type": "string"}]})",
     {"[]", "[1]", "[1, \"a\", null]"},
     {"[\"a\"]", "[1, 2]"}},
    {"items", R"({"items": false})", {"[]"}, {"[1]"}},
    {"prefixItems",
     R"({"prefixItems": [{"type": "integer"}], "items": {"type": "string"}})",
     {"[]", "[1]", "[1, \"a\", \"b\"]"},
     {"[\"a\"]", "[1, 2]"}},
    {"prefixItems", R"({"prefixItems": [true, false]})", {"[1]"}, {"[1, 2]"}},
    {"additionalItems",
     R"({"items": [true], "additionalItems": {"type": "null"}})",
     {"[1]", "[1, null]"},
     {"[1, null, 2]"}},
    {"additionalItems",
     R"({"items": [true, true], "additionalItems": false})",
     {"[1, 2]"},
     {"[1, 2, 3]"}},
    {"contains", R"({"contains": {"minimum": 5}})", {"[1, 5]", "3"}, {"[]", "[1, 2]"}},
    {"minContains",
     R"({"contains": {"const": 1}, "minContains": 2})",
     {"[1, 0, 1]"},
     {"[1]", "[]"}},
    {"minContains",
     R"({"contains": {"const": 1}, "minContains": 0, "maxContains": 1})",
     {"[]", "[1]"},
     {"[1, 1]"}},
    {"maxContains",
     R"({"contains": {"const": 1}, "maxContains": 2})",
     {"[1, 1, 2]"},
     {"[1, 1, 1]", "[2]"}},
    {"minItems", R"({"minItems": 2})", {"[1, 2]", "1"}, {"[1]"}},
    {"maxItems", R"({"maxItems": 2})", {"[1, 2]"}, {"[1, 2, 3]"}},
    {"uniqueItems",
     R"({"uniqueItems": true})",
     {"[]", "[1, true, \"1\", [1], {\"a\": 1}, null, 0, false, \"\", []]",
      "[{\"a\": 1}, {\"a\": 2}]"},
     {"[1, 2, 1.0]", R"([{"a": 1, "b": 2}, {"b": 2, "a": 1}])", "[[1], [1]]", "[null, null]"}},
    {"properties",
     R"({"properties": {"a": {"type": "integer"}, "b": false}})",
     {"{}", R"({"a": 1, "c": 2})", "[]"},
     {R"({"a": "1"})", R"({"b": 1})"}},
    {"patternProperties",
     R"({"patternProperties": {"^x-": {"type": "integer"}, "y$": {"minimum": 3}}})",
     {R"({"x-a": 1, "a": "b", "x-y": 3})"},
     {R"({"x-a": "1"})", R"({"x-y": 2})"}},
    {"additionalProperties",
     R"({"properties": {"a": true}, "patternProperties": {"^b": true},
                "additionalProperties": false})",
     {R"({"a": 1, "bc": 2})", "{}"},
     {R"({"c": 1})", R"({"a": 1, "": 2})"}},
    {"additionalProperties",
     R"({"additionalProperties": {"type": "integer"}})",
     {R"({"a": 1})"},
     {R"({"a": "b"})"}},
    {"propertyNames",
     R"({"propertyNames": {"maxLength": 2, "pattern": "^a"}})",
     {R"({"ab": 1})", "{}"},
     {R"({"abc": 1})", R"({"b": 1})"}},
    {"required",
     R"({"required": ["a", "b"]})",
     {R"({"b": null, "a": 1})", "[]"},
     {R"({"a": 1})", "{}"}},
    {"minProperties",
     R"({"minProperties": 2})",
     {R"({"a": 1, "b": 2})"},
     {R"({"a": 1})", R"({"a": 1, "a": 2})"}},
    {"maxProperties", R"({"maxProperties": 1})", {R"({"a": 1})"}, {R"({"a": 1, "b": 2})"}},
    {"dependencies",
     R"({"dependencies": {"a": ["b"], "c": {"required": ["d"]}, "e": false}})",
     {"{}", R"({"b": 1})", R"({"a": 1, "b": 2})", R"({"c": 1, "d": 2})"},
     {R"({"a": 1})", R"({"c": 1})", R"({"e": 1})"}},
    {"dependentRequired",
     R"({"dependentRequired": {"a": ["b", "c"]}})",
     {R"({"b": 1})", R"({"a": 1, "b": 2, "c": 3})"},
     {R"({"a": 1, "b": 2})"}},
    {"dependentSchemas",
     R"({"dependentSchemas": {"a": {"maxProperties": 1}}})",
     {R"({"a": 1})", R"({"b": 1, "c": 2})"},
     {R"({"a": 1, "b": 2})"}},
    {"allOf", R"({"allOf": [{"minimum": 1}, {"maximum": 3}]})", {"1", "3", "\"a\""}, {"0", "4"}},
    {"anyOf",
     R"({"anyOf": [{"type": "integer"}, {"minimum": 2}]})",
     {"1", "2.5", "\"a\""},
     {"1.5"}},
    {"oneOf", R"({"oneOf": [{"type": "integer"}, {"minimum": 2}]})", {"1", "2.5"}, {"3", "1.5"}},
    {"not", R"({"not": {"type": "string"}})", {"1"}, {"\"a\""}},
    {"if",
     R"({"if": {"properties": {"k": {"const": 1}}, "required": ["k"]}, "then": {"required": ["a"]},
               "else": {"required": ["b"]}})",
     {R"({"k": 1, "a": 1})", R"({"k": 2, "b": 1})"},
     {R"({"k": 1, "b": 1})", R"({"k": 2, "a": 1})", "{}"}},
    {"then",
     R"({"if": {"type": "integer"}, "then": {"minimum": 5}})",
     {"5", "\"a\"", "1.5"},
     {"4"}},
    {"then", R"({"then": false})", {"1"}, {}},
    {"else", R"({"if": {"type": "integer"}, "else": {"type": "null"}})", {"4", "null"}, {"\"a\""}},
    {"$ref", R"({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}})", {"1"}, {"\"1\""}},
    {"$ref",
     R"({"type": "object", "properties": {"next": {"$ref": "#"}, "v": {"type": "integer"}},
                 "required": ["v"]})",
     {R"({"v": 1, "next": {"v": 2, "next": {"v": 3}}})"},
     {R"({"v": 1, "next": {"v": 2, "next": {}}})"}},
    {"$ref", R"({"$ref": "#/$defs/a~1b%25~0", "$defs": {"a/b%~": {"const": 1}}})", {"1"}, {"2"}},
    {"$ref",
     R"({"properties": {"a": {"const": 1}, "b": {"$ref": "#/properties/a"}}})",
     {R"({"b": 1})"},
     {R"({"b": 2})"}},
    {"$ref",
     R"({"$defs": {"p": {"type": "integer"}}, "$ref": "#/$defs/p", "maximum": 5})",
     {"5"},
     {"6", "\"a\""}},
    {"$ref",
     R"({"prefixItems": [{"const": 1}, {"$ref": "#/prefixItems/0"}]})",
     {"[1, 1]"},
     {"[1, 2]"}},
    {"$anchor",
     R"({"$ref": "#n", "$defs": {"x": {"$anchor": "n", "type": "integer"}}})",
     {"1"},
     {"\"1\""}},
    {"$id",
     R"({"$id": "http://a.example/x/root", "$ref": "other",
                "$defs": {"x": {"$id": "other", "const": 1}}})",
     {"1"},
     {"2"}},
    {"$id",
     R"({"$ref": "urn:it#/$defs/y", "$defs": {"x": {"$id": "urn:it",
                "$defs": {"y": {"const": 1}}}}})",
     {"1"},
     {"2"}},
    {"$defs",
     R"({"$defs": {"a": {"items": {"$ref": "#/$defs/a"}, "type": "array"}}, "$ref": "#/$defs/a"})",
     {"[]", "[[], [[]]]"},
     {"[[], [1]]"}},
    {"definitions",
     R"({"definitions": {"a": {"const": 1}}, "items": {"$ref": "#/definitions/a"}})",
     {"[1]"},
     {"[2]"}},
    {"$dynamicRef",
     R"({"$id": "http://a/", "$dynamicAnchor": "n", "type": ["array", "null"],
         "items": {"$ref": "b"},
         "$defs": {"b": {"$id": "b", "$dynamicAnchor": "n", "type": "integer"},
                   "c": {"$id": "c", "$dynamicRef": "b#n"}}, "prefixItems": [{"$ref": "c"}]})",
     {"[null, 1]", "[[], 1]"},
     {"[1]", "[null, null]"}},
    {"$dynamicRef",
     R"({"$defs": {"a": {"$anchor": "n", "type": "null"}}, "$dynamicRef": "#n"})",
     {"null"},
     {"1"}},
    {"$recursiveRef",
     R"({"type": ["array", "null"], "items": {"$recursiveRef": "#"}})",
     {"null", "[null, []]"},
     {"[1]"}},
    {"unevaluatedProperties",
     R"({"properties": {"a": true}, "unevaluatedProperties": {"type": "null"}})",
     {R"({"a": 1, "b": null})"},
     {R"({"a": 1, "b": 1})"}},
    {"unevaluatedProperties",
     R"({"if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
         "then": {"properties": {"b": true}},
         "else": {"patternProperties": {"^c": true}}, "unevaluatedProperties": false})",
     {R"({"a": 1, "b": 2})", R"({"c1": 2})", "{}"},
     {R"({"a": 2})", R"({"a": 1, "c1": 2})", R"({"b": 2})"}},
    {"unevaluatedProperties",
     R"({"anyOf": [{"properties": {"a": {"type": "null"}}},
                   {"properties": {"b": {"type": "null"}}}],
         "allOf": [{"dependentSchemas": {"c": {"properties": {"c": true}}}}],
         "not": {"properties": {"d": false}}, "unevaluatedProperties": false})",
     {},
     {R"({"d": 1})", R"({"a": 1, "b": null, "d": 1})"}},
    {"unevaluatedProperties",
     R"({"oneOf": [{"properties": {"a": {"type": "null"}}, "required": ["a"]},
                   {"unevaluatedProperties": {"type": "integer"}, "minProperties": 3}],
         "unevaluatedProperties": false})",
     {R"({"a": null})", R"({"a": 1, "b": 2, "c": 3})"},
     {R"({"a": null, "b": 1})"}},
    {"unevaluatedItems",
     R"({"prefixItems": [true], "allOf": [{"prefixItems": [true, true]}],
         "unevaluatedItems": {"type": "null"}})",
     {"[1, 1]", "[1, 1, null]", "{}"},
     {"[1, 1, 1]"}},
    {"unevaluatedItems",
     R"({"contains": {"type": "string"}, "unevaluatedItems": false})",
     {R"(["a", "b"])"},
     {R"(["a", 1])"}},
    {"unevaluatedItems",
     R"({"$schema": "https://json-schema.org/draft/2019-09/schema",
         "contains": {"type": "string"}, "unevaluatedItems": {"type": "integer"}})",
     {},
     {R"(["a", 1])"}},
    // What the draft does not have evaluates nothing.
    {"unevaluatedItems",
     R"({"$schema": "https://json-schema.org/draft/2019-09/schema", "prefixItems": [true],
         "unevaluatedItems": false})",
     {"[]"},
     {"[1]"}},
    {"unevaluatedItems",
     R"({"$schema": "https://json-schema.org/draft/2019-09/schema", "items": [true],
         "unevaluatedItems": false})",
     {"[1]"},
     {"[1, 1]"}},
    {"unevaluatedProperties",
     R"({"$schema": "https://json-schema.org/draft/2019-09/schema", "$dynamicRef": "#/$defs/d",
         "$defs": {"d": {"properties": {"a": true}}}, "unevaluatedProperties": false})",
     {"{}"},
     {R"({"a": 1})"}},
    {"unevaluatedProperties",
     R"({"$dynamicRef": "#/$defs/d", "$defs": {"d": {"properties": {"a": true}}},
         "unevaluatedProperties": false})",
     {R"({"a": 1})"},
     {R"({"b": 1})"}},
    {"unevaluatedProperties",
     R"({"dependencies": {"a": {"properties": {"a": true}}}, "unevaluatedProperties": false})",
     {"{}"},
     {R"({"a": 1})"}},
    {"$schema",
     R"({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a",
                "maximum": 1,
                    "definitions": {"a": {"type": "integer"}}})",
     {"5"},
     {"\"a\""}},
};

std::string fault(std::string_view schema, std::string_view answer) {
  const Result<Validator> validator = Validator::compile(json::parse(schema), {});
  if (!validator) return "no schema: " + validator.error().message;
  const std::optional<Violation> violation = validator.value().check(answer);
  return violation ? violation->message : "";
}

TEST(Keywords, EachIsJudgedAsTheStandardSays) {
  for (const Case& one : kCases) {
    for (const std::string_view answer : one.fits)
      EXPECT_EQ(fault(one.schema, answer), "") << answer << " by " << one.schema;
    for (const std::string_view answer : one.violates) {
      const std::string said = fault(one.schema, answer);
      EXPECT_NE(said, "") << answer << " by " << one.schema;
      EXPECT_EQ(said.find("no schema"), std::string::npos) << said;
    }
  }
}

// The keywords of the module that are more than annotations have to be in the table, with cases of
// both kinds.
TEST(Keywords, NoneIsWithoutCases) {
  std::map<std::string, std::pair<size_t, size_t>, std::less<>> cases;
  for (const Case& one : kCases) {
    auto& [fits, violates] = cases[std::string(one.keyword)];
    fits += one.fits.size();
    violates += one.violates.size();
  }
  std::set<std::string> judged;
  for (const KeywordInfo& info : all_keywords()) {
    if (info.keyword == Keyword::kAnnotation) continue;
    judged.emplace(info.name);
    EXPECT_GT(cases[std::string(info.name)].first, 0U) << info.name << " has no case that fits";
    EXPECT_GT(cases[std::string(info.name)].second, 0U)
        << info.name << " has no case that does not";
  }
  EXPECT_EQ(judged.size(), 46U) << "a keyword that is dropped would be dropped silently";
}

TEST(Keywords, AnnotationsSayNothing) {
  for (const KeywordInfo& info : all_keywords()) {
    const bool is_name = info.name.starts_with("$") && info.name != "$comment";
    if (info.keyword != Keyword::kAnnotation || is_name) continue;
    const json::value schema = {{info.name, "anything"}};
    const Result<Validator> validator = Validator::compile(schema, {});
    ASSERT_TRUE(validator) << info.name;
    EXPECT_FALSE(validator.value().check("1")) << info.name;
  }
  EXPECT_EQ(fault(R"({"x-order": 5, "const": 1})", "1"), "");
}

TEST(Keywords, WhatCannotBeJudgedIsRefusedWithItsPlace) {
  const std::vector<std::pair<std::string_view, std::string_view>> refused = {
      {"5", ": must be a schema"},
      {R"({"$dynamicRef": "#a"})", "/$dynamicRef: "},
      {R"({"$dynamicRef": "b#n", "$defs": {"b": {"$id": "b", "$dynamicAnchor": "n"},
                                           "c": {"$id": "c", "$dynamicAnchor": "n"}}})",
       "/$dynamicRef: means #/$defs/b or #/$defs/c"},
      {R"({"$recursiveRef": "#/a", "a": {}})", "/$recursiveRef: must be"},
      {R"({"type": "colour"})", "/type: must be null, boolean"},
      {R"({"type": ["string", "colour"]})", "/type/1: must be null, boolean"},
      {R"({"type": []})", "/type: must not be empty"},
      {R"({"nullable": true})", "/nullable: has no meaning without type"},
      {R"({"nullable": 1, "type": "null"})", "/nullable: must be true or false"},
      {R"({"enum": 1})", "/enum: must be an array"},
      {R"({"maximum": "5"})", "/maximum: must be a number"},
      {R"({"maximum": 5, "exclusiveMaximum": true})", "/exclusiveMaximum: must be a number; true"},
      {R"({"multipleOf": 0})", "/multipleOf: must be above 0"},
      {R"({"multipleOf": -1})", "/multipleOf: must be above 0"},
      {R"({"minLength": -1})", "/minLength: must be a whole number"},
      {R"({"maxItems": 1.5})", "/maxItems: must be a whole number"},
      {R"_({"pattern": "(?=a)"})_", "/pattern: the pattern: lookahead is not supported; write it"},
      {R"_({"patternProperties": {"a/(": true}})_",
       "/patternProperties/a~1(: the pattern: a \"(\""},
      {R"({"pattern": 5})", "/pattern: must be a string"},
      {R"({"uniqueItems": 1})", "/uniqueItems: must be true or false"},
      {R"({"prefixItems": [true], "items": [true]})", "/items: must be one schema beside"},
      {R"({"prefixItems": {}})", "/prefixItems: must be an array of schemas"},
      {R"({"items": 5})", "/items: must be a schema"},
      {R"({"items": true, "additionalItems": 5})", "/additionalItems: must be a schema"},
      {R"({"properties": []})", "/properties: must be an object"},
      {R"({"properties": {"a": null}})", "/properties/a: must be a schema"},
      {R"({"required": "a"})", "/required: must be an array of names"},
      {R"({"required": ["a", 5]})", "/required/1: must be a string"},
      {R"({"dependentRequired": {"a": {}}})", "/dependentRequired/a: must be an array"},
      {R"({"dependentSchemas": {"a": []}})", "/dependentSchemas/a: must be a schema"},
      {R"({"allOf": []})", "/allOf: must not be empty"},
      {R"({"anyOf": {}})", "/anyOf: must be an array of schemas"},
      {R"({"oneOf": [5]})", "/oneOf/0: must be a schema"},
      {R"({"$ref": 5})", "/$ref: must be a string"},
      {R"({"$ref": "#/$defs/a"})", "/$ref: \"#/$defs/a\" refers to nothing"},
      {R"({"$ref": "#/$defs/%zz"})", "/$ref: \"#/$defs/%zz\" refers to nothing"},
      {R"({"$ref": "#name"})", "/$ref: \"#name\" refers to nothing"},
      {R"({"$ref": "http://x.example/a"})", "/$ref: \"http://x.example/a\" is in another document"},
      {R"({"$ref": "#/title", "title": "t"})", "/title: must be a schema"},
      {R"({"$defs": 5})", "/$defs: must be an object"},
      {R"({"$id": 5})", "/$id: must be a string"},
      {R"({"$anchor": 5})", "/$anchor: must be a string"},
      {R"({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}})",
       "/$defs/b/$anchor: /$defs/a "},
  };
  for (const auto& [schema, message] : refused) {
    const Result<Validator> validator = Validator::compile(json::parse(schema), {});
    ASSERT_FALSE(validator) << schema;
    EXPECT_TRUE(validator.error().message.starts_with("at #" + std::string(message)))
        << schema << ": " << validator.error().message;
  }
}

TEST(Keywords, UnknownNamesMayHoldDefinitions) {
  EXPECT_EQ(fault(R"({"$ref": "#/parts/n", "parts": {"n": {"const": 1}}})", "1"), "");
  EXPECT_NE(fault(R"({"$ref": "#/parts/n", "parts": {"n": {"const": 1}}})", "2"), "");
}

TEST(Keywords, WordsThatAreNotKnownSayNothing) {
  EXPECT_EQ(fault(R"({"items": {"itmes": {"type": "null"}, "unit": 5}, "partsX": {}})", "[2]"), "");
  EXPECT_EQ(fault(R"({"format": "tartan"})", R"("x")"), "");
  EXPECT_EQ(fault(R"({"type": "number", "format": "int32"})", "1.5"), "");
  EXPECT_EQ(fault(R"({"$schema": "http://x.example/own", "type": "null"})", "null"), "");
}

TEST(Keywords, InDraft04IdsAreNamesAndExclusiveBoundsSwitches) {
  const std::string draft = R"({"$schema": "http://json-schema.org/draft-04/schema#", )";
  const std::string bounds = draft + R"("minimum": 1, "exclusiveMinimum": true, "maximum": 3,
                                        "exclusiveMaximum": false})";
  EXPECT_NE(fault(bounds, "1"), "");
  EXPECT_EQ(fault(bounds, "1.5"), "");
  EXPECT_EQ(fault(bounds, "3"), "");
  EXPECT_EQ(fault(draft + R"("exclusiveMaximum": true})", "3"), "");
  const std::string names =
      draft + R"("id": "http://x.example/root.json", "items": {"$ref": "p.json"},
      "definitions": {"p": {"id": "p.json", "type": "null"}}})";
  EXPECT_EQ(fault(names, "[null]"), "");
  EXPECT_NE(fault(names, "[1]"), "");
  const std::string twice = R"("definitions": {"a": {"id": "p"}, "b": {"id": "p"}}})";
  EXPECT_EQ(fault(draft + twice, "1"), "");
  EXPECT_NE(fault(draft + R"("$ref": "p", )" + twice, "1"), "");
}

// In 2020-12 what stands beside $ref counts; in draft-07 it does not.
TEST(Keywords, NamesThatLookLikeKeywordsAreNone) {
  EXPECT_EQ(fault(R"({"properties": {"$ref": {"const": 1}, "unknown": {"const": 2}}})",
                  R"({"$ref": 1, "unknown": 2})"),
            "");
  EXPECT_EQ(fault(R"({"enum": [{"$ref": "#/a", "$id": 5, "unknown": 1}]})",
                  R"({"$ref": "#/a", "$id": 5, "unknown": 1})"),
            "");
}

TEST(Keywords, FormatsOfIntegersAreRanges) {
  const auto fits = [](std::string_view schema, std::string_view answer) {
    const auto validator = Validator::compile(json::parse(schema), {});
    EXPECT_TRUE(validator) << schema << ": " << validator.error().message;
    return validator && !validator->check(answer);
  };
  for (const auto& [format, in, out] : std::vector<std::array<std::string_view, 3>>{
           {"int32", "-2147483648", "2147483648"},
           {"int64", "9223372036854775807", "9223372036854775808"},
           {"uint8", "255", "256"},
           {"uint32", "4294967295", "-1"},
           {"uint64", "18446744073709551615", "18446744073709551616"}}) {
    const std::string schema =
        fmt::format(R"({{"type": ["integer", "null"], "format": "{}"}})", format);
    EXPECT_TRUE(fits(schema, in)) << schema;
    EXPECT_FALSE(fits(schema, out)) << schema;
    EXPECT_TRUE(fits(schema, "null")) << schema;
  }
  EXPECT_TRUE(fits(R"({"format": "float", "type": "number"})", "1e300"));
  // Beside other types they say nothing.
  EXPECT_TRUE(fits(R"({"type": "number", "format": "int32"})", "1.5"));
  EXPECT_TRUE(fits(R"({"format": "uint8"})", "-1"));
  EXPECT_TRUE(fits(R"({"type": "string", "format": "int64"})", R"("x")"));
  EXPECT_TRUE(fits(R"({"format": "double"})", R"("x")"));
}

TEST(Keywords, IdentifiersCountWhereKeywordsHoldSchemas) {
  const auto error_of = [](std::string_view schema) {
    const auto validator = Validator::compile(json::parse(schema), {});
    return validator ? "no error" : validator.error().message;
  };
  EXPECT_EQ(
      error_of(R"({"$ref": "#/parts/x", "parts": {"x": {"$id": "http://e/x"}}})"),
      "at #/parts/x/$id: names a schema only where a keyword holds schemas; move it into $defs");
  EXPECT_EQ(
      error_of(R"({"properties": {"a": {"$id": "http://o/", "$ref": "#/$defs/x"}},
                         "$defs": {"x": true}})"),
      "at #/properties/a/$ref: means different things beside $id in different drafts; put the "
      "$ref into an allOf, or remove the $id");
  EXPECT_EQ(error_of(R"({"const": {"$id": "http://e/x", "$ref": "#y", "$anchor": "A"},
                         "$defs": {"x": {"$anchor": "A"}}})"),
            "no error");
  EXPECT_EQ(error_of(R"({"$id": "http://o/", "$ref": "#/$defs/x", "$defs": {"x": true}})"),
            "no error");
}

}  // namespace
}  // namespace windrow::schema
