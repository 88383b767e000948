// What a schema lets through, text by text. Texts are compact and in definition order, as the
// grammar writes them.
#include "grammar/schema/schema_grammar.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <vector>

#include "grammar/schema/testing/expect_language.h"
#include "grammar/schema/testing/schema_language.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;
using testing::expect_language;
using ::testing::HasSubstr;
using testing::SchemaLanguage;
using Texts = std::vector<std::string>;

std::string error_of(const std::string& schema, const SchemaOptions& options = {}) {
  const SchemaLanguage language(schema, options);
  return language.made() ? "no error" : language.error();
}

const SchemaOptions kOpen{.open = true};
const SchemaOptions kFlexible{.whitespace = Whitespace::kFlexible};

TEST(SchemaGrammar, KnowsTheTypes) {
  const Texts all{"null", "true", "0", "-1.5", "\"\"", "[]", "{}"};
  const auto only = [&](const std::string& schema, const Texts& in) {
    Texts out;
    for (const std::string& text : all) {
      if (std::ranges::find(in, text) == in.end()) out.push_back(text);
    }
    expect_language(schema, in, out);
  };
  only("true", all);
  only("{}", all);
  only(R"({"type":"null"})", {"null"});
  only(R"({"type":"boolean"})", {"true"});
  only(R"({"type":"integer"})", {"0"});
  only(R"({"type":"number"})", {"0", "-1.5"});
  only(R"({"type":"string"})", {"\"\""});
  only(R"({"type":"array"})", {"[]"});
  only(R"({"type":"object"})", {"{}"});
  only(R"({"type":["string","null"]})", {"\"\"", "null"});
  only(R"({"type":["number","integer","object"]})", {"0", "-1.5", "{}"});
  only(R"({"type":"string","nullable":true})", {"\"\"", "null"});
  only(R"({"type":"string","nullable":false})", {"\"\""});
  only(R"({"minLength":1,"minItems":1})", {"null", "true", "0", "-1.5", "{}"});
}

TEST(SchemaGrammar, WritesObjectsInTheOrderOfTheSchema) {
  expect_language(R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"null"},
                      "c":{"type":"boolean"}},"required":["b"]})",
                  {R"({"b":null})", R"({"a":1,"b":null})", R"({"b":null,"c":true})",
                   R"({"a":1,"b":null,"c":false})"},
                  {"{}", R"({"a":1})", R"({"b":null,"a":1})", R"({"a":1,"c":true})", R"({"b":1})",
                   R"({"b":null,"d":1})", R"({"b":null,})", R"({,"b":null})",
                   R"({"b":null,"b":null})", R"({ "b":null})"});
  expect_language(R"({"type":"object","properties":{"a":{"const":1},"b":{"const":2}}})",
                  {"{}", R"({"a":1})", R"({"b":2})", R"({"a":1,"b":2})"},
                  {R"({"b":2,"a":1})", R"({"c":1})"});
  expect_language(R"({"type":"object","properties":{}})", {"{}"}, {R"({"a":1})"});
  expect_language(R"({"type":"object","properties":{"a\"\n":true}})", {R"({"a\"\n":[1]})"},
                  {R"({"a":1})"});
}

TEST(SchemaGrammar, ClosesObjectsThatDeclareUnlessOpen) {
  const std::string schema = R"({"type":"object","properties":{"a":{"type":"integer"}}})";
  expect_language(schema, {"{}", R"({"a":1})"}, {R"({"b":1})", R"({"a":1,"b":1})"});
  expect_language(schema, {"{}", R"({"a":1})", R"({"b":[{}]})", R"({"a":1,"b":1,"":2})"},
                  {R"({"a":"x"})", R"({"b":1,"a":"x"})", R"({"\u0061":"x"})"}, kOpen);
  expect_language(R"({"type":"object"})", {"{}", R"({"b":1})", R"({"\u0061":1})"}, {"[]"});
  expect_language(R"({"type":"object","properties":{"a":true},"additionalProperties":{
                      "type":"integer"}})",
                  {R"({"a":"x","b":1})", R"({"b":1,"c":2})"}, {R"({"b":"x"})"});
  expect_language(R"({"type":"object","properties":{"a":true},"additionalProperties":false})",
                  {R"({"a":"x"})"}, {R"({"b":1})"}, kOpen);
  expect_language(R"({"type":"object","additionalProperties":{"type":"integer"},
                      "required":["x"]})",
                  {R"({"x":1})", R"({"x":1,"y":2})"}, {"{}", R"({"y":1})", R"({"x":"s"})"});
}

TEST(SchemaGrammar, MatchesNamesWithPatterns) {
  const std::string patterns =
      R"({"type":"object","properties":{"id":{"type":"integer"}},"patternProperties":
          {"^a":{"type":"integer"},"z$":{"minimum":5}}})";
  expect_language(patterns,
                  {R"({"id":1})", R"({"a":1})", R"({"z":"text"})", R"({"az":5})", R"({"z":7})",
                   R"({"id":1,"ab":2,"az":5,"a":1})"},
                  {R"({"a":"x"})", R"({"az":4})", R"({"az":"x"})", R"({"z":4})", R"({"b":1})",
                   R"({"id":"a"})"});
  expect_language(patterns, {R"({"b":1})", R"({"b":1,"a":1})"},
                  {R"({"a":"x"})", R"({"az":4})", R"({"b":1,"z":4})"}, kOpen);
  expect_language(R"({"patternProperties":{"^i":{"maximum":3}},"properties":{"id":{"minimum":1}}})",
                  {R"({"id":2})"}, {R"({"id":4})", R"({"id":0})", R"({"i":4})"});
  EXPECT_THAT(error_of(R"({"patternProperties":{"a":true,"b":true,"c":true,"d":true,"e":true,
                           "f":true,"g":true}})"),
              HasSubstr("at #/patternProperties: 7 patterns"));
}

TEST(SchemaGrammar, CountsItems) {
  expect_language(R"({"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3})",
                  {"[1,2]", "[1,2,3]"}, {"[]", "[1]", "[1,2,3,4]", "[1,\"a\"]", "[1,2,]"});
  expect_language(R"({"type":"array","items":{"type":"integer"},"maxItems":0})", {"[]"}, {"[1]"});
  expect_language(R"({"type":"array","items":false})", {"[]"}, {"[1]"});
  expect_language(R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],
                      "items":{"type":"null"}})",
                  {"[]", "[1]", "[1,\"a\"]", "[1,\"a\",null,null]"},
                  {"[\"a\"]", "[1,2]", "[1,\"a\",1]"});
  expect_language(R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],
                      "items":false,"minItems":1})",
                  {"[1]", "[1,\"a\"]"}, {"[]", "[1,\"a\",1]"});
  expect_language(R"({"type":"array","items":[{"type":"integer"}],"additionalItems":
                      {"type":"null"},"minItems":3,"maxItems":4})",
                  {"[1,null,null]", "[1,null,null,null]"},
                  {"[1,null]", "[1,null,null,null,null]", "[1,1,null]"});
  expect_language(R"({"type":"array","prefixItems":[{"type":"integer"}],"maxItems":2})",
                  {"[]", "[1]", "[1,{}]"}, {"[1,2,3]"});
  expect_language(R"({"type":"array","prefixItems":[true,false,true]})", {"[]", "[1]"},
                  {"[1,1]", "[1,1,1]"});
}

TEST(SchemaGrammar, BoundsStrings) {
  expect_language(R"({"type":"string","minLength":2,"maxLength":3})",
                  {R"("ab")", R"("äöü")", R"("\n😀")", R"("\ud83d\ude00x")"},
                  {R"("a")", R"("abcd")", R"("😀")", "\"a\nb\""});
  expect_language(R"({"type":"string","pattern":"^a+$","maxLength":3})", {R"("a")", R"("aaa")"},
                  {R"("")", R"("aaaa")", R"("b")"});
  expect_language(R"({"type":"string","pattern":"b"})", {R"("abc")", R"("b")"}, {R"("ac")"});
  expect_language(R"({"type":"string","format":"date","pattern":"^2024"})", {R"("2024-02-29")"},
                  {R"("2023-02-28")", R"("2024-02-30")"});
  expect_language(R"({"allOf":[{"type":"string","pattern":"a"},{"pattern":"b"}]})", {R"("xba")"},
                  {R"("xa")", R"("b")"});
  EXPECT_THAT(error_of(R"x({"properties":{"a":{"pattern":"(?=a)"}}})x"),
              HasSubstr("at #/properties/a/pattern: "));
}

TEST(SchemaGrammar, BoundsNumbers) {
  expect_language(R"({"type":"integer","minimum":-2,"exclusiveMaximum":10})", {"-2", "0", "9"},
                  {"-3", "10", "1.0", "-0"});
  expect_language(R"({"type":"number","minimum":0.5,"maximum":1})", {"0.5", "0.75", "1"},
                  {"0.4", "1.1", "2"});
  expect_language(R"({"type":"integer","multipleOf":3,"minimum":0})", {"0", "3", "333"},
                  {"1", "4"});
  expect_language(R"({"allOf":[{"type":"number","multipleOf":4},{"type":"integer",
                      "multipleOf":6}],"maximum":40,"minimum":1})",
                  {"12", "24", "36"}, {"4", "6", "48", "0"});
  expect_language(R"({"type":"integer","multipleOf":0.5,"minimum":0,"maximum":2})", {"0", "1", "2"},
                  {"0.5", "3"});
  EXPECT_THAT(error_of(R"({"maximum":5,"exclusiveMaximum":true})"),
              HasSubstr("at #/exclusiveMaximum: "));
}

TEST(SchemaGrammar, WritesEnumsAsTheyAre) {
  expect_language(R"({"enum":["a","ab","\n",1.0,null,[1,{"x":2.50}],true]})",
                  {R"("a")", R"("ab")", R"("\n")", "1", "null", R"([1,{"x":2.5}])", "true"},
                  {R"("b")", "1.0", "2", "false", "[1]"});
  expect_language(R"({"type":"integer","enum":[1,2.0,2.5,"a"],"maximum":2})", {"1", "2"},
                  {"2.5", R"("a")"});
  expect_language(R"({"const":{"b":1,"a":2}})", {R"({"b":1,"a":2})"}, {R"({"a":2,"b":1})"});
  expect_language(R"({"enum":["a","b","c"],"allOf":[{"enum":["b","c","d"]}],"pattern":"[a-b]"})",
                  {R"("b")"}, {R"("a")", R"("c")", R"("d")"});
  expect_language(R"({"enum":[{"a":1},{"a":"x"},{"b":1}],"properties":{"a":{"type":"integer"}},
                      "additionalProperties":true,"required":["a"]})",
                  {R"({"a":1})"}, {R"({"a":"x"})", R"({"b":1})"});
}

TEST(SchemaGrammar, TakesOneBranchOrAnother) {
  expect_language(R"({"anyOf":[{"type":"string","maxLength":1},{"type":"null"}]})",
                  {R"("a")", "null"}, {R"("ab")", "1"});
  expect_language(R"({"type":"object","properties":{"a":{"type":"integer"},
                      "b":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]})",
                  {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":1})"}, {"{}"});
  expect_language(R"({"type":"object","properties":{"k":true},"required":["k"],"anyOf":[
                      {"properties":{"x":{"const":1}}},{"properties":{"y":{"const":2}}}]})",
                  {R"({"k":0})", R"({"k":0,"x":1})", R"({"k":0,"y":2})"},
                  {R"({"k":0,"x":1,"y":2})", R"({"k":0,"x":2})"});
  expect_language(R"({"anyOf":[{"minimum":5},{"maximum":1}],"type":"integer"})", {"5", "0"}, {"3"});
}

TEST(SchemaGrammar, TellsTheBranchesOfOneOfApart) {
  expect_language(R"({"oneOf":[{"type":"string"},{"type":"integer"}]})", {R"("a")", "1"}, {"1.5"});
  expect_language(R"({"oneOf":[{"type":"object","properties":{"k":{"const":"a"},"x":true},
                      "required":["k"]},{"type":"object","properties":{"k":{"enum":["b","c"]},
                      "y":true},"required":["k"]}]})",
                  {R"({"k":"a","x":1})", R"({"k":"c"})"}, {R"({"k":"a","y":1})", "{}"});
  expect_language(R"({"oneOf":[{"type":"object","properties":{"a":true},"required":["a"]},
                      {"type":"object","properties":{"b":true},"required":["b"]}]})",
                  {R"({"a":1})", R"({"b":1})"}, {R"({"a":1,"b":1})"});
  expect_language(R"({"oneOf":[{"type":"integer","maximum":4},{"type":"integer","minimum":5}]})",
                  {"4", "5"}, {});
  expect_language(R"({"oneOf":[{"type":"integer"}]})", {"4"}, {"\"a\""});
  expect_language(R"({"oneOf":[{"type":"integer"},false]})", {"4"}, {"\"a\""});
  expect_language(R"({"type":"string","oneOf":[{"type":"integer"},{"maxLength":2}]})", {"\"a\""},
                  {"\"abc\"", "1"});
}

TEST(SchemaGrammar, KeepsToOneBranchWhereTheyOverlap) {
  expect_language(R"({"oneOf":[{"type":"integer"},{"type":"number"}]})", {"1.5", "-0.25"},
                  {"1", "1.0", "-2.00", "\"a\""});
  expect_language(R"({"oneOf":[{"minimum":2},{"maximum":3}]})", {"1", "4", "3.5"},
                  {"2", "2.5", "3.0", "\"a\"", "null"});
  expect_language(R"({"oneOf":[{"type":"string","pattern":"a"},{"type":"string","pattern":"b"}]})",
                  {"\"a\"", "\"xb\""}, {"\"ab\"", "\"c\""});
  expect_language(R"({"oneOf":[{"type":"object","properties":{"a":true},"required":["a"]},
                      {"type":"object","properties":{"b":true},"required":["b"]}]})",
                  {R"({"a":1})", R"({"b":1})", R"({"a":1,"c":2})"}, {R"({"a":1,"b":1})", "{}"},
                  kOpen);
  expect_language(R"({"oneOf":[{"type":"object","properties":{"a":{"type":"integer"}},
                      "required":["a"]},{"type":"object","properties":{"a":true,"b":true},
                      "required":["a"]}]})",
                  {R"({"a":"x"})", R"({"a":"x","b":1})"}, {R"({"a":1})", R"({"a":1,"b":1})"});
  EXPECT_THAT(error_of(R"({"oneOf":[{"type":"object","properties":{"a":true}},
                                    {"type":"object","properties":{"b":true}}]})"),
              HasSubstr("at #/oneOf: every value of branch 0 of oneOf is one of another branch too "
                        "(of branch 1, say), and exactly one may hold; use anyOf"));
}

TEST(SchemaGrammar, JoinsWhatHoldsTogether) {
  const std::string schema = R"({"$defs":{"base":{"type":"object","properties":{
      "id":{"type":"integer"}},"required":["id"]}},
      "allOf":[{"$ref":"#/$defs/base"}],"properties":{"name":{"type":"string"}}})";
  expect_language(schema, {R"({"id":1})", R"({"id":1,"name":"a"})"},
                  {"{}", R"({"name":"a"})", R"({"id":1,"x":1})", R"({"name":"a","id":1})"});
  expect_language(R"({"allOf":[{"properties":{"a":{"minimum":1}}},
                      {"properties":{"a":{"maximum":2}}}],"type":"object"})",
                  {R"({"a":1})", R"({"a":2})"}, {R"({"a":0})", R"({"a":3})"});
  expect_language(R"({"type":"object","allOf":[{"properties":{"a":true},
                      "additionalProperties":{"type":"integer"}},{"properties":{"b":true}}]})",
                  {R"({"a":"x","b":1})"}, {R"({"b":"x"})", R"({"c":1})"});
  expect_language(R"({"allOf":[{"prefixItems":[{"type":"integer"}]},{"items":{"minimum":3}}],
                      "type":"array","maxItems":2})",
                  {"[3]", "[3,\"a\"]"}, {"[2]", "[\"a\"]", "[3,2]"});
  expect_language(R"({"$ref":"#/$defs/text","maxLength":2,"$defs":{"text":{"type":"string"}}})",
                  {R"("ab")"}, {R"("abc")", "1"});
}

TEST(SchemaGrammar, FollowsRecursion) {
  expect_language(R"({"type":"object","properties":{"v":{"type":"integer"},
                      "next":{"$ref":"#"}},"required":["v"]})",
                  {R"({"v":1})", R"({"v":1,"next":{"v":2,"next":{"v":3}}})"},
                  {R"({"v":1,"next":{}})", "{}"});
  expect_language(R"({"$ref":"#/$defs/tree","$defs":{"tree":{"anyOf":[{"type":"integer"},
                      {"type":"array","items":{"$ref":"#/$defs/tree"}}]}}})",
                  {"1", "[]", "[1,[2,[]]]"}, {"[\"a\"]", "[1"});
  expect_language(R"({"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{
                      "A":{"type":"object","properties":{"b":{"$ref":"#/$defs/B"}}},
                      "B":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}}}}})",
                  {R"({"a":{"b":{"a":{"b":{}}}}})"}, {R"({"b":{}})"});
}

TEST(SchemaGrammar, SaysWhatCanNeverBe) {
  EXPECT_THAT(error_of("false"), HasSubstr("no value is valid under this schema: at #: false"));
  EXPECT_THAT(error_of(R"({"type":"object","properties":{"a":{"type":"string","minLength":3,
                           "maxLength":2}},"required":["a"]})"),
              HasSubstr("at #/properties/a: minLength 3 is more than maxLength 2"));
  EXPECT_THAT(error_of(R"({"type":"object","properties":{"next":{"$ref":"#"}},
                           "required":["next"]})"),
              HasSubstr("#"));
  EXPECT_THAT(error_of(R"({"$ref":"#"})"), HasSubstr("refers to itself"));
  EXPECT_THAT(error_of(R"({"anyOf":[{"$ref":"#"},{"type":"null"}]})"),
              HasSubstr("refers to itself"));
  EXPECT_THAT(error_of(R"({"type":"object","properties":{"a":true},"required":["b"]})"),
              HasSubstr("the required property \"b\" can have no value: it is not in properties"));
  expect_language(R"({"type":"object","properties":{"a":false,"b":{"const":1}}})",
                  {"{}", R"({"b":1})"}, {R"({"a":1})"});
  expect_language(R"({"type":"object","properties":{"a":{"$ref":"#/$defs/endless"},
                      "b":{"const":1}},"$defs":{"endless":{"type":"object","properties":{
                      "e":{"$ref":"#/$defs/endless"}},"required":["e"]}}})",
                  {"{}", R"({"b":1})"}, {R"({"a":{}})", R"({"a":{"e":{}}})"});
}

TEST(SchemaGrammar, WritesOneBlankBehindCommasAndColonsWhereItIsAsked) {
  const SchemaOptions kSpaced{.whitespace = Whitespace::kSpaced};
  expect_language(R"({"type":"object","properties":{"a":{"enum":[1,{"x":[2,[],{}]}]},"b":true},)"
                  R"("required":["a"]})",
                  {R"({"a": 1})", R"({"a": {"x": [2, [], {}]}, "b": {"y": [1, "z"], "w": {}}})"},
                  {R"({"a":1})", R"({"a": 1,"b": 2})", R"({"a": 1, "b":2})", R"({ "a": 1})",
                   R"({"a": {"x":[2, [], {}]}})", R"({"a": 1, "b": {"y": [1,2]}})", R"({"a":  1})"},
                  kSpaced);
}

TEST(SchemaGrammar, AllowsBoundedWhitespace) {
  const std::string schema =
      R"({"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}},
          "b":{"enum":[[1,2]]}}})";
  const std::string eight(8, ' ');
  expect_language(schema,
                  {R"({"a":[1,2],"b":[1,2]})", "{ \"a\" : [ 1 , 2 ] , \"b\" : [ 1 , 2 ] }",
                   "{" + eight + "\"a\"" + eight + ":" + eight + "[" + eight + "]" + eight + "}",
                   "{\n\t\"a\":\r\n []}", "{ }"},
                  {" {}", "{} ", "{" + eight + " }", "{\"a\": [1" + eight + " ]}", "{\"a\":[1 2]}"},
                  kFlexible);
  expect_language(schema, {R"({"a":[1,2],"b":[1,2]})"}, {"{ }", R"({"a": []})", R"({"a":[1, 2]})"});
  expect_language("{}", {"[ 1 , { \"a\" : { } } ]"}, {"[ 1 , ]"}, kFlexible);
}

TEST(SchemaGrammar, HasJsonItself) {
  const auto any = schema_grammar(true, {.open = true});
  const auto object = schema_grammar(boost::json::object{{"type", "object"}}, {.open = true});
  ASSERT_TRUE(any);
  ASSERT_TRUE(object);
  const auto has = [](const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
    Matcher at(std::make_shared<CompiledGrammar>(grammar, testing::byte_vocabulary()));
    return at.accept_bytes(text) && at.can_end();
  };
  const std::string text = R"({"a":[1,-2.5e3,{"b":null,"c":"\u00e4\n"}],"d":{}})";
  EXPECT_TRUE(has(*any, text));
  EXPECT_TRUE(has(*object, text));
  EXPECT_TRUE(has(*any, "[true,[]]"));
  EXPECT_FALSE(has(*object, "[true,[]]"));
  EXPECT_FALSE(has(*any, "[01]"));
  EXPECT_FALSE(has(*any, "{\"a\"}"));
}

TEST(SchemaGrammar, GivesUpWhenAsked) {
  const boost::json::value schema = boost::json::object{{"type", "object"}};
  int left = 1;
  const auto grammar = schema_grammar(schema, {}, [&] { return left-- == 0; });
  ASSERT_FALSE(grammar);
  EXPECT_EQ(grammar.error().kind, ErrorKind::kUnavailable);
}

TEST(SchemaGrammar, FormatsOfIntegersAreRanges) {
  const auto of = [](std::string_view format) {
    return fmt::format(R"({{"type":["integer","null"],"format":"{}"}})", format);
  };
  expect_language(of("int8"), {"-128", "127", "null"}, {"128", "-129"});
  expect_language(of("int32"), {"-2147483648", "2147483647", "0"}, {"2147483648", "-2147483649"});
  expect_language(of("int64"), {"-9223372036854775808"}, {"9223372036854775808"});
  expect_language(of("uint32"), {"0", "4294967295"}, {"-5", "4294967296"});
  expect_language(of("uint64"), {"18446744073709551615"}, {"18446744073709551616", "-1"});
  expect_language(R"({"type":"number","format":"double"})", {"1.5"}, {});
}

// Pydantic's HttpUrl.
TEST(SchemaGrammar, LargeLengthsBesideFormatsAreCounted) {
  const std::string url = R"("type":"string","format":"uri","minLength":1,"maxLength":2083)";
  const std::string longest = "http://a.example/" + std::string(2066, 'a');
  expect_language("{" + url + "}", {R"("https://a.example/b?c=d")", "\"" + longest + "\""},
                  {R"("")", R"("no")", "\"" + longest + "a\""});
  expect_language(fmt::format(R"({{"enum":["{}","{}a"],{}}})", longest, longest, url),
                  {"\"" + longest + "\""}, {"\"" + longest + "a\""});
  expect_language(R"({"type":"string","format":"uri","minLength":2000,"maxLength":2083})",
                  {"\"" + longest + "\""}, {R"("https://a.example")", "\"" + longest + "a\""});
}

TEST(SchemaGrammar, PatternsThatOnlyCountInTheEndHaveTheirLengths) {
  const std::string name = R"("type":"string","pattern":"^[a-z][a-z0-9]{2,40}$")";
  expect_language("{" + name + "}", {R"("a12")", "\"a" + std::string(40, '0') + '"'},
                  {R"("a1")", R"("")", R"("012")", "\"a" + std::string(41, '0') + '"'});
  expect_language("{" + name + R"(,"minLength":5,"maxLength":6})", {R"("a1234")", R"("a12345")"},
                  {R"("a123")", R"("a123456")"});
  expect_language(R"({"enum":["a","abc","abcd"],)" + name + "}", {R"("abc")", R"("abcd")"},
                  {R"("a")"});
  expect_language(
      R"({"not":{"pattern":"^[a-c]{9,12}$"},"type":"string","pattern":"^[a-c]{8,13}$"})",
      {R"("aaaaaaaa")", R"("aaaaaaaaaaaaa")"}, {R"("aaaaaaaaa")", R"("aaaaaaaaaaaa")"});
  EXPECT_THAT(error_of("{" + name + R"(,"minLength":42})"), HasSubstr("no text follows"));
}

TEST(SchemaGrammar, LargeLengthsBesideLargePatternsAreCounted) {
  const auto words = [](size_t count, size_t bytes) {
    std::string text = "\"";
    for (size_t i = 0; i < count; ++i)
      text += (i == 0 ? "" : " ") + std::string(bytes, 'w');
    return text;
  };
  expect_language(R"({"type":"string","pattern":"^(?:\\S+\\s+){0,49}\\S+$","maxLength":500})",
                  {words(10, 49) + "w\"", words(50, 1) + '"', words(50, 9) + '"'},
                  {words(10, 49) + "ww\"", words(51, 1) + '"', "\" w\"", "\"w \""});
  expect_language(R"({"type":"string","pattern":"^(?:\\S+\\s+){0,99}\\S+$","maxLength":5000})",
                  {words(98, 49) + '"', words(100, 49) + "w\""}, {words(100, 49) + "ww\""});
  expect_language(R"({"type":"string","pattern":"^([a-f]{2})+$","minLength":3,"maxLength":5})",
                  {R"("abcd")"}, {R"("ab")", R"("abcdef")", R"("abc")"});
  EXPECT_THAT(
      error_of(R"({"type":"string","pattern":"^([a-f]{2})+$","minLength":3,"maxLength":3})"),
      HasSubstr("no text follows its patterns, formats and lengths together"));
}

TEST(SchemaGrammar, SaysWhatNeverEnds) {
  const auto endless = [](std::string_view pointer) {
    return HasSubstr(fmt::format("at {}: a value never ends: it must hold another one", pointer));
  };
  EXPECT_THAT(error_of(R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})"),
              endless("#"));
  EXPECT_THAT(error_of(R"({"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"],
                           "$defs":{"n":{"type":"array","minItems":1,"items":{"anyOf":[
                             {"$ref":"#/$defs/n"},{"$ref":"#"}]}}}})"),
              ::testing::AnyOf(endless("#/$defs/n"), endless("#/$defs/n/items/anyOf")));
  expect_language(R"({"type":"object","properties":{"a":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},
                      "required":["a"]})",
                  {R"({"a":{"a":null}})"}, {"{}"});
}

TEST(SchemaGrammar, IdentifiersInValuesDoNotCount) {
  expect_language(R"({"type":"object","$defs":{"x":{"$anchor":"A","type":"integer"}},
                      "properties":{"a":{"const":{"$anchor":"A"}},"b":{"$ref":"#A"}}})",
                  {R"({"b":1})", R"({"a":{"$anchor":"A"}})"}, {R"({"b":"x"})", R"({"b":{"b":1}})"});
  expect_language(R"({"type":"object","$defs":{"x":{"$id":"http://e/x","type":"integer"}},
                      "properties":{"a":{"const":{"$id":"http://e/x","b":1}},
                                    "b":{"$ref":"http://e/x"}}})",
                  {R"({"b":1})"}, {R"({"b":"x"})"});
  EXPECT_THAT(error_of(R"({"$ref":"#/parts/x","parts":{"x":{"$id":"http://e/x"}}})"),
              HasSubstr("at #/parts/x/$id: $id names a schema only where"));
}

TEST(SchemaGrammar, ReferencesBesideIdentifiersAreRefused) {
  EXPECT_THAT(error_of(R"({"$defs":{"x":{"$id":"http://o/","$ref":"y.json"}},
                           "properties":{"a":{"$ref":"#/$defs/x"}}})"),
              HasSubstr("at #/$defs/x/$ref: what $ref means beside $id depends on the draft"));
  expect_language(R"({"$id":"http://o/","$ref":"#/$defs/x","$defs":{"x":{"type":"null"}}})",
                  {"null"}, {"1"});
}

// An item that is of two branches by the widest reading of a format is none.
TEST(SchemaGrammar, ValuesOfAnEnumAreAskedInTheWidestReading) {
  expect_language(R"({"$ref":"#/$defs/n","$defs":{"n":{"enum":["a@b",["a@b"],["zz"],"zz"],
                      "anyOf":[{"items":{"$ref":"#/$defs/n"}},{"const":7}],
                      "oneOf":[{"type":"string","format":"email"},
                               {"type":"string","maxLength":3},{"type":"array"}]}}})",
                  {"\"zz\"", R"(["zz"])"}, {"\"a@b\"", R"(["a@b"])"});
}

TEST(SchemaGrammar, LongListsAskWhetherToGoOn) {
  const auto list = [](int count, std::string_view one) {
    std::string all;
    for (int i = 0; i < count; ++i)
      all += fmt::format(fmt::runtime(one), i) + (i + 1 < count ? "," : "");
    return all;
  };
  const std::string names = list(2'000, R"("name{0}":{{}})");
  const std::vector<std::string> schemas = {
      fmt::format(R"({{"properties":{{{}}},"not":{{"anyOf":[{}]}}}})", names,
                  list(2'000, R"({{"required":["name{0}"]}})")),
      fmt::format(R"({{"properties":{{{}}},"propertyNames":{{"pattern":"1"}}}})", names),
      fmt::format(R"({{"type":"string","allOf":[{}]}})",
                  list(60, R"({{"not":{{"pattern":"^x{0}y"}}}})")),
  };
  for (const std::string& schema : schemas) {
    SCOPED_TRACE(schema.substr(schema.size() - 60));
    int questions = 0;
    const json::value read = json::parse(schema);
    EXPECT_TRUE(schema_grammar(read, {}, [&] { return ++questions < 0; }));
    EXPECT_GE(questions, 60);
    const auto stopped = schema_grammar(read, {}, [&] { return --questions < 5; });
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().kind, ErrorKind::kUnavailable) << stopped.error().message;
  }
}

}  // namespace
}  // namespace windrow::grammar
