// The nodes that the conditions of a schema become, and which members and items are unevaluated.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <string_view>

#include "grammar/schema/schema_node.h"

namespace windrow::grammar {
namespace {

using ::testing::HasSubstr;

// A node in short: what it demands of an object, and its parts.
std::string text_of(const Schema& schema, SchemaId id) {
  const SchemaNode& node = schema[id];
  std::string parts;
  for (const SchemaId part : node.parts)
    parts += (parts.empty() ? "" : ", ") + text_of(schema, part);
  switch (node.kind) {
    case SchemaNode::Kind::kAlways:
      return "true";
    case SchemaNode::Kind::kNever:
      return "false";
    case SchemaNode::Kind::kAll:
      return "all(" + parts + ")";
    case SchemaNode::Kind::kAny:
      return "any(" + parts + ")";
    case SchemaNode::Kind::kOne:
      return "one(" + parts + ")";
    case SchemaNode::Kind::kNot:
      return "not(" + parts + ")";
    case SchemaNode::Kind::kJudged:
      return "judged(" + parts + ")";
    case SchemaNode::Kind::kRules:
      break;
  }
  const ObjectRules& rules = node.rules.objects;
  std::string text = node.rules.types == kAllTypes      ? ""
                     : node.rules.types == kObjectType  ? "object"
                     : node.rules.types == kIntegerType ? "integer"
                                                        : "other";
  const auto add = [&](std::string_view what, const std::vector<std::string>& names) {
    if (!names.empty()) text += fmt::format(" {}:{}", what, fmt::join(names, "+"));
  };
  add("requires", rules.required);
  add("forbids", rules.forbidden);
  std::vector<std::string> declared;
  for (const auto& [name, value] : rules.properties)
    declared.push_back(name);
  for (const auto& [pattern, value] : rules.patterns)
    declared.push_back(pattern);
  add("declares", declared);
  if (rules.additional) text += " others:" + text_of(schema, *rules.additional);
  if (!node.rules.arrays->prefix.empty())
    text += fmt::format(" items:{}", node.rules.arrays->prefix.size());
  if (node.rules.arrays->items) text += " more:" + text_of(schema, *node.rules.arrays->items);
  return text.starts_with(' ') ? text.substr(1) : text;
}

// The same, or the error.
std::string read(std::string_view text) {
  const boost::json::value root = boost::json::parse(text);
  const Result<Schema> schema = read_schema(root, {.open = true}, {});
  return schema ? text_of(*schema, schema->root) : schema.error().message;
}

TEST(ReadSchema, AConditionIsAChoice) {
  EXPECT_EQ(read(R"({"if":{"required":["a"]},"then":{"required":["b"]},"else":false})"),
            "all(any(all(requires:b, judged(requires:a)), all(false, not(requires:a))))");
  EXPECT_EQ(read(R"({"then":{"required":["b"]},"if":{"required":["a"]}})"),
            "all(any(all(requires:b, judged(requires:a)), not(requires:a)))");
  EXPECT_EQ(read(R"({"if":{"required":["a"]},"else":{"required":["b"]}})"),
            "all(any(judged(requires:a), all(requires:b, not(requires:a))))");
  EXPECT_EQ(read(R"({"if":{"required":["a"]}})"), "true");
  EXPECT_EQ(read(R"({"then":false,"else":false})"), "true");
  EXPECT_EQ(read(R"({"not":{"required":["a"]}})"), "all(not(requires:a))");
}

TEST(ReadSchema, ADependencyIsAChoice) {
  EXPECT_EQ(read(R"({"dependentRequired":{"a":["b","a","b"]}})"),
            "all(any(forbids:a, object requires:b+a))");
  EXPECT_EQ(read(R"({"dependencies":{"a":{"required":["c"]},"b":true,"c":[]}})"),
            "all(any(forbids:a, all(object requires:a, requires:c)))");
  EXPECT_EQ(read(R"({"dependentSchemas":{"a":false}})"), "all(forbids:a)");
  EXPECT_THAT(read(R"({"dependentSchemas":{"a/b":["c"]}})"),
              HasSubstr("at #/dependentSchemas/a~1b: "));
  EXPECT_THAT(read(R"({"dependentRequired":{"a":{}}})"), HasSubstr("at #/dependentRequired/a: "));
  EXPECT_THAT(read(R"({"dependencies":[]})"), HasSubstr("at #/dependencies: "));
}

TEST(ReadSchema, MembersThatDependOnTheSameAreOneChoice) {
  EXPECT_EQ(read(R"({"dependentRequired":{"a":["x"],"b":["x"],"c":["x","y"]}})"),
            "all(any(forbids:a+b+x, object requires:x), any(forbids:c, object requires:x+y+c))");
  EXPECT_EQ(read(R"({"dependentRequired":{"a":["x","y"],"b":["x","y"]}})"),
            "all(any(forbids:a+b, object requires:x+y))");
}

TEST(ReadSchema, WhatDependsOnARequiredMemberIsRequired) {
  EXPECT_EQ(read(R"({"required":["a"],"dependencies":{"a":["b"]}})"),
            "all(requires:a, requires:b)");
  EXPECT_EQ(read(R"({"required":["b"],"dependencies":{"a":["b"]}})"), "requires:b");
  EXPECT_EQ(
      read(R"({"type":"object","required":["a"],"dependencies":{"a":{"properties":{"c":true}}}})"),
      "all(object requires:a, declares:c)");
}

TEST(ReadSchema, UnevaluatedPropertiesAreThoseThatNoPartDeclares) {
  EXPECT_EQ(read(R"({"properties":{"a":true},"unevaluatedProperties":false})"),
            "all(declares:a, declares:a others:false)");
  EXPECT_EQ(read(R"({"allOf":[{"properties":{"a":true}},{"$ref":"#/$defs/x"}],
                     "unevaluatedProperties":{"type":"integer"},
                     "$defs":{"x":{"patternProperties":{"^b":true}}}})"),
            "all(all(declares:a, all(declares:^b)), declares:a+^b others:integer)");
  // What a part says of all members leaves none.
  EXPECT_EQ(read(R"({"allOf":[{"unevaluatedProperties":{"type":"integer"}}],
                     "unevaluatedProperties":false})"),
            "all(all(all(others:integer)))");
  EXPECT_EQ(read(R"({"additionalProperties":true,"unevaluatedProperties":false})"), "others:true");
  // A branch may say more of members that are declared beside it.
  EXPECT_THAT(read(R"({"properties":{"a":true},"anyOf":[{"properties":{"a":false}},true],
                       "unevaluatedProperties":false})"),
              HasSubstr("declares:a others:false"));
  EXPECT_THAT(read(R"({"properties":{"a":true},"anyOf":[{"properties":{"b":false}},true],
                       "unevaluatedProperties":false})"),
              HasSubstr("at #/unevaluatedProperties: \"unevaluatedProperties\" cannot be enforced; "
                        "what it is about depends on whether #/anyOf/0 holds"));
}

TEST(ReadSchema, UnevaluatedItemsAreThoseThatNoPartDeclares) {
  EXPECT_EQ(read(R"({"prefixItems":[true],"allOf":[{"prefixItems":[true,true]}],
                     "unevaluatedItems":false})"),
            "all(items:1, all(items:2), items:2 more:false)");
  EXPECT_EQ(read(R"({"items":true,"unevaluatedItems":false})"), "more:true");
  EXPECT_THAT(read(R"({"contains":true,"unevaluatedItems":false})"),
              HasSubstr("depends on whether #/contains holds"));
  EXPECT_THAT(read(R"({"$schema":"https://json-schema.org/draft/2019-09/schema","contains":true,
                       "unevaluatedItems":false})"),
              HasSubstr("more:false"));
}

// By a draft that lacks a keyword it says nothing, so what it declares is unevaluated.
TEST(ReadSchema, KeywordsOfOtherDraftsEvaluateNothing) {
  const auto read_2019 = [](std::string_view rest) {
    return read(R"({"$schema":"https://json-schema.org/draft/2019-09/schema",)" +
                std::string(rest));
  };
  EXPECT_EQ(read_2019(R"("prefixItems":[true],"unevaluatedItems":false})"),
            "all(items:1, more:false)");
  EXPECT_THAT(read_2019(R"("items":[true],"unevaluatedItems":false})"),
              HasSubstr("items:1 more:false"));
  constexpr std::string_view kTarget =
      R"("$defs":{"d":{"$dynamicAnchor":"x","properties":{"a":true}}},)";
  EXPECT_THAT(
      read(R"({"$dynamicRef":"#x",)" + std::string(kTarget) + R"("unevaluatedProperties":false})"),
      HasSubstr("declares:a others:false"));
  EXPECT_THAT(read_2019(R"("$dynamicRef":"#/$defs/d",)" + std::string(kTarget) +
                        R"("unevaluatedProperties":false})"),
              ::testing::Not(HasSubstr("declares:a others:false")));
  EXPECT_THAT(read(R"({"dependencies":{"a":{"properties":{"b":true}}},
                       "unevaluatedProperties":false})"),
              HasSubstr("others:false"));
}

}  // namespace
}  // namespace windrow::grammar
