// What absent additionalProperties mean in a program that is closed by default.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "schema/validator.h"

namespace windrow::schema {
namespace {

struct Case {
  std::string_view schema;
  std::vector<std::string_view> fits;
  std::vector<std::string_view> violates;
};

std::string fault(std::string_view schema, std::string_view answer, bool closed) {
  const Result<Validator> validator =
      Validator::compile(boost::json::parse(schema), {.closed_by_default = closed});
  if (!validator) return "no schema: " + validator.error().message;
  const std::optional<Violation> violation = validator.value().check(answer);
  return violation ? violation->message : "";
}

// All that violates here fits by the standard's meaning: only the names are at fault.
void hold(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    for (const std::string_view answer : one.fits)
      EXPECT_EQ(fault(one.schema, answer, true), "") << answer << " by " << one.schema;
    for (const std::string_view answer : one.violates) {
      EXPECT_NE(fault(one.schema, answer, true), "") << answer << " by " << one.schema;
      EXPECT_EQ(fault(one.schema, answer, false), "") << answer << " by " << one.schema;
    }
  }
}

TEST(Closed, WhereNamesAreDeclaredNoOthersMayBeThere) {
  hold({
      {R"({"properties": {"a": true}})", {"{}", R"({"a": 1})", "5"}, {R"({"b": 1})"}},
      {R"({"properties": {}})", {"{}"}, {R"({"b": 2})"}},
      {R"({"patternProperties": {"^a": true}})", {R"({"ab": 1})"}, {R"({"b": 1})"}},
      {R"({"properties": {"a": {"properties": {"b": true}}}})",
       {R"({"a": {"b": 1}})"},
       {R"({"a": {"c": 1}})"}},
      {R"({"items": {"properties": {"a": true}}})", {R"([{"a": 1}])"}, {R"([{"b": 1}])"}},
      {R"({"additionalProperties": {"properties": {"a": true}}})",
       {R"({"x": {"a": 1}})"},
       {R"({"x": {"b": 1}})"}},
  });
}

TEST(Closed, WhereNoneAreDeclaredOrItIsSaidAllMayBeThere) {
  hold({
      {R"({"type": "object", "required": ["a"]})", {R"({"a": 1, "b": 2})"}, {}},
      {R"({"properties": {"a": true}, "additionalProperties": true})", {R"({"b": 2})"}, {}},
      {R"({"properties": {"a": true}, "additionalProperties": {"type": "integer"}})",
       {R"({"b": 2})"},
       {}},
  });
}

TEST(Closed, NamesOfSchemasThatAllHoldCountTogether) {
  hold({
      {R"({"allOf": [{"properties": {"a": true}}, {"properties": {"b": true}}]})",
       {R"({"a": 1, "b": 2})"},
       {R"({"a": 1, "c": 2})"}},
      {R"({"$ref": "#/$defs/base", "properties": {"b": true},
           "$defs": {"base": {"properties": {"a": true}, "required": ["a"]}}})",
       {R"({"a": 1, "b": 2})"},
       {R"({"a": 1, "c": 2})"}},
      {R"({"allOf": [{"allOf": [{"$ref": "#/$defs/base"}]}], "properties": {"b": true},
           "$defs": {"base": {"properties": {"a": true}}}})",
       {R"({"a": 1, "b": 2})"},
       {R"({"c": 2})"}},
      {R"({"allOf": [{"required": ["a"]}], "properties": {"a": true}})",
       {R"({"a": 1})"},
       {R"({"a": 1, "c": 2})"}},
      {R"({"allOf": [{"properties": {"a": true}, "additionalProperties": {"type": "integer"}},
                     {"properties": {"b": true}}]})",
       {R"({"a": "x", "b": 2})"},
       {R"({"a": 1, "c": 2})"}},
      // A schema that two places use is closed with each of them.
      {R"({"properties": {"x": {"$ref": "#/$defs/n"},
                          "y": {"allOf": [{"$ref": "#/$defs/n"}], "properties": {"b": true}}},
           "$defs": {"n": {"properties": {"a": true}}}})",
       {R"({"x": {"a": 1}, "y": {"a": 1, "b": 2}})"},
       {R"({"x": {"b": 1}})", R"({"y": {"c": 1}})"}},
  });
}

TEST(Closed, OfAChoiceTheChosenBranchCounts) {
  hold({
      {R"({"anyOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": true}}]})",
       {R"({"a": 1})", R"({"b": 1})", "{}"},
       {R"({"a": 1, "b": 2})", R"({"c": 1})"}},
      {R"({"properties": {"k": true},
           "anyOf": [{"properties": {"a": true}, "required": ["a"]}, {"required": ["k"]}]})",
       {R"({"k": 1})", R"({"a": 1, "k": 1})", R"({"a": 1})"},
       {R"({"k": 1, "b": 2})", R"({"a": 1, "b": 2})"}},
      {R"({"properties": {"k": true}, "oneOf": [{"properties": {"k": {"const": 1}, "a": true}},
                                                {"properties": {"k": {"const": 2}, "b": true}}]})",
       {R"({"k": 1, "a": 1})", R"({"k": 2, "b": 1})"},
       {R"({"k": 1, "b": 1})"}},
      {R"({"anyOf": [{"properties": {"a": true}}],
           "oneOf": [{"properties": {"b": true}}]})",
       {R"({"a": 1, "b": 2})"},
       {R"({"a": 1, "c": 2})"}},
      {R"({"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}],
           "$defs": {"n": {"properties": {"a": true}}}})",
       {R"({"a": 1})", "null"},
       {R"({"b": 1})"}},
      {R"({"oneOf": [{"properties": {"a": true}, "required": ["a"]},
                     {"properties": {"b": true}, "required": ["b"]}]})",
       {R"({"a": 1})", R"({"b": 1})"},
       {R"({"a": 1, "c": 1})"}},
      {R"({"properties": {"a": true},
           "anyOf": [{"properties": {"b": true}, "additionalProperties": true}]})",
       {R"({"a": 1, "b": 1})"},
       {R"({"a": 1, "c": 1})"}},
      {R"({"anyOf": [{"properties": {"a": true}}, {"type": "object"}]})", {R"({"b": 1})"}, {}},
      {R"({"properties": {"k": true}, "if": {"properties": {"k": {"const": 1}}},
           "then": {"properties": {"a": true}}})",
       {R"({"k": 1, "a": 1})", R"({"k": 2})"},
       {R"({"k": 2, "a": 1})", R"({"k": 1, "b": 1})"}},
      {R"({"properties": {"k": true}, "dependentSchemas": {"k": {"properties": {"a": true}}}})",
       {R"({"k": 1, "a": 1})"},
       {R"({"k": 1, "b": 1})"}},
      {R"({"anyOf": [{"anyOf": [{"properties": {"a": true}}, {"properties": {"b": true}}],
                      "properties": {"k": true}}]})",
       {R"({"k": 1, "a": 1})", R"({"k": 1, "b": 1})"},
       {R"({"a": 1, "b": 1})", R"({"c": 1})"}},
  });
}

TEST(Closed, UnderNotIfAndContainsTheStandardsMeaningStays) {
  EXPECT_NE(fault(R"({"not": {"properties": {"a": {"const": 1}}}})", R"({"b": 1})", true), "");
  EXPECT_EQ(fault(R"({"contains": {"properties": {"a": true}}})", R"([{"b": 1}])", true), "");
  EXPECT_NE(fault(R"({"if": {"properties": {"a": true}}, "then": false})", R"({"b": 1})", true),
            "");
}

TEST(Closed, WhatTwoBranchesOfOneOfTakeByTheStandardIsInvalid) {
  constexpr std::string_view kSchema =
      R"({"oneOf": [{"properties": {"a": true}}, {"properties": {"b": true}}]})";
  EXPECT_NE(fault(kSchema, R"({"a": 1})", false), "");
  EXPECT_NE(fault(kSchema, R"({"a": 1})", true), "");
}

TEST(Closed, SaysWhichMemberWhere) {
  EXPECT_EQ(
      fault(R"({"properties": {"o": {"properties": {"a": true}}}})", R"({"o": {"b": 1}})", true),
      "/o has a member \"b\", which the schema does not name "
      "(/properties/o/additionalProperties of the schema)");
}

TEST(Closed, RecursiveSchemasAreClosedAtEachLevel) {
  hold({{R"({"$defs": {"node": {"type": "object", "properties": {
               "value": {"type": "integer"},
               "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}}},
             "$ref": "#/$defs/node"})",
         {R"({"value": 1, "next": {"value": 2, "next": null}})"},
         {}}});
  EXPECT_NE(
      fault(R"({"properties": {"next": {"$ref": "#"}}})", R"({"next": {"next": {"x": 1}}})", true),
      "");
}

}  // namespace
}  // namespace windrow::schema
