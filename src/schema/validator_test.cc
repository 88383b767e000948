#include "schema/validator.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/json/parse.hpp>
#include <string>
#include <thread>
#include <vector>

namespace windrow::schema {
namespace {

Result<Validator> compile(std::string_view schema, bool closed = false) {
  return Validator::compile(boost::json::parse(schema), {.closed_by_default = closed});
}

// What is wrong with `answer`, "" for nothing.
std::string fault(std::string_view schema, std::string_view answer, bool closed = false) {
  const Result<Validator> validator = compile(schema, closed);
  if (!validator) return "no schema: " + validator.error().message;
  const std::optional<Violation> violation = validator.value().check(answer);
  return violation ? violation->message : "";
}

TEST(Validator, SaysWhatIsWrongWhereAndByWhichKeyword) {
  constexpr std::string_view kSchema = R"({"properties": {"ages": {"items": {"maximum": 130}}}})";
  EXPECT_EQ(fault(kSchema, R"({"ages": [1, 130]})"), "");
  const std::optional<Violation> violation =
      compile(kSchema).value().check(R"({"ages": [1, 200]})");
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->kind, Violation::Kind::kSchema);
  EXPECT_EQ(violation->instance_pointer, "/ages/1");
  EXPECT_EQ(violation->schema_pointer, "/properties/ages/items/maximum");
  EXPECT_EQ(violation->message,
            "/ages/1 is 200, above the maximum of 130 (/properties/ages/items/maximum of the "
            "schema)");
}

TEST(Validator, WhatIsNoJsonIsSaidWithThePosition) {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\" 1}", "01", "1 2", "nul", "\"\x01\"",
                           "\"\\ud800\"", "\"\xFF\"", "NaN", "'a'", "[1]x", "// c\n1"}) {
    const auto violation = compile("true").value().check(text);
    ASSERT_TRUE(violation) << text;
    EXPECT_EQ(violation->kind, Violation::Kind::kNotJson) << text;
    EXPECT_TRUE(violation->message.starts_with("the answer is no JSON: ")) << violation->message;
  }
  EXPECT_EQ(fault("true", " [1, {\"a\": null}] \n"), "");
}

TEST(Validator, OfMembersWithOneNameTheLastCounts) {
  EXPECT_EQ(fault(R"({"properties": {"a": {"const": 2}}})", R"({"a": 1, "b": 0, "a": 2})"), "");
  EXPECT_NE(fault(R"({"properties": {"a": {"const": 1}}})", R"({"a": 1, "b": 0, "a": 2})"), "");
}

TEST(Validator, EachFaultHasWords) {
  const std::vector<std::array<std::string_view, 3>> cases = {
      {"false", "1", "the answer must not be there (all of the schema)"},
      {R"({"properties": {"a/b": {"items": {"type": ["integer", "null"]}}}})",
       R"({"a/b": [1, "x"]})",
       "/a~1b/1 is a string, not null or an integer: \"x\" (/properties/a~1b/items/type of the "
       "schema)"},
      {R"({"const": {"a": 1}})", R"({"a": 2})",
       R"(the answer is {"a":2}, not {"a":1} (/const of the schema))"},
      {R"({"enum": ["x", 1]})", "\"z\"", R"(the answer is "z", which is none of )"},
      {R"({"enum": [1,2,3,4,5,6,7,8,9,10]})", "0", " and 2 more (/enum of the schema)"},
      {R"({"exclusiveMinimum": 0})", "0", "the answer is 0, which is not above 0 (/excl"},
      {R"({"multipleOf": 0.1})", "0.25", "the answer is 0.25, no multiple of 0.1 (/multipleOf"},
      {R"({"minLength": 2})", "\"a\"", "the answer has 1 character, fewer than 2: \"a\" (/minL"},
      {R"({"pattern": "^b"})", "\"a\"", "is \"a\", which does not match the pattern \"^b\" (/pa"},
      {R"({"format": "date"})", "\"a\"", "the answer is \"a\", which is no date (/format of"},
      {R"({"maxItems": 1})", "[1, 2]", "the answer has 2 items, more than 1 (/maxItems of"},
      {R"({"uniqueItems": true})", "[5, 1, 5]", "the answer has equal items at 0 and 2: 5 (/uni"},
      {R"({"contains": {"const": 1}})", "[2]", "has 0 items as contains wants them, fewer than 1"},
      {R"({"required": ["a"]})", "{}",
       "the answer lacks the member \"a\" (/required of the schema)"},
      {R"({"minProperties": 1})", "{}", "the answer has 0 members, fewer than 1 (/minProperties"},
      {R"({"additionalProperties": false})", R"({"a": 1})",
       "the answer has a member \"a\", which the schema does not name (/additionalProperties of"},
      {R"({"propertyNames": {"maxLength": 1}})", R"({"ab": 1})",
       "the answer has a member named \"ab\", which propertyNames forbids (/propertyNames of"},
      {R"({"dependentRequired": {"a": ["b"]}})", R"({"a": 1})",
       "has the member \"a\" and lacks \"b\", which has to be beside it (/dependentRequired of"},
      {R"({"not": {}})", "1", "the answer is what not forbids: 1 (/not of the schema)"},
      {R"({"oneOf": [true, {"type": "null"}, true]})", "1",
       "the answer fits schemas 0 and 2 of oneOf, and may fit one only (/oneOf of the schema)"},
      {R"({"anyOf": [{"type": "string"}, {"properties": {"a": {"type": "integer"}}}]})",
       R"({"a": true})",
       "the answer fits none of the 2 schemas of anyOf; nearest: /a is a boolean, not an integer: "
       "true (/anyOf/1/properties/a/type of the schema) (/anyOf of the schema)"},
      {R"({"$ref": "#/$defs/n", "$defs": {"n": {"type": "null"}}})", "1",
       "the answer is an integer, not null: 1 (/$defs/n/type of the schema)"},
  };
  for (const auto& [schema, answer, message] : cases) {
    const std::string said = fault(schema, answer);
    EXPECT_NE(said.find(message), std::string::npos) << said;
  }
}

TEST(Validator, LongAnswersAreQuotedInPart) {
  const std::string said =
      fault(R"({"type": "null"})", "[\"" + std::string(1'000'000, 'x') + "\"]");
  EXPECT_LT(said.size(), 200U) << said;
}

TEST(Validator, CopiesShareOneProgramAndThreadsMayUseIt) {
  const Validator first = compile(R"({"items": {"pattern": "^a+$"}})").value();
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([validator = first] {
      for (int k = 0; k < 500; ++k) {
        EXPECT_FALSE(validator.check(R"(["aa", "a"])"));
        EXPECT_TRUE(validator.check(R"(["aa", "b"])"));
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

}  // namespace
}  // namespace windrow::schema
