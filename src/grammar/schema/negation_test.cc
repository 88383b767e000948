// What must not hold: which values are left, for each way of saying it. tests/structured has the
// same for random schemas, against the validator.
#include "grammar/schema/negation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/schema/conjunctions.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;

// A schema, and with it its negation.
class Places {
 public:
  explicit Places(std::string_view text, bool open = true) : value_(json::parse(text)) {
    Result<Schema> read = read_schema(value_, {.open = open}, {});
    if (!read) {
      error_ = read.error().message;
      return;
    }
    schema_ = *std::move(read);
    not_ = SchemaId(static_cast<uint32_t>(schema_.nodes.size()));
    SchemaNode& node = schema_.nodes.emplace_back();
    node.kind = SchemaNode::Kind::kNot;
    node.parts = {schema_.root};
    conjunctions_.emplace(schema_, give_up_);
  }

  std::string holds(std::string_view value) { return judged(schema_.root, value); }
  std::string breaks(std::string_view value) { return judged(not_, value); }

  // Why no value is left; "possible" if one is.
  std::string why() {
    if (!error_.empty()) return error_;
    Result<NodeId> node = conjunctions_->find({{schema_.root, false}});
    if (!node) return node.error().message;
    return conjunctions_->possible(*node) ? "possible" : (*conjunctions_)[*node].why;
  }

  Node::Kind kind() { return (*conjunctions_)[*conjunctions_->find({{schema_.root, false}})].kind; }
  const std::string& error() const { return error_; }

 private:
  std::string judged(SchemaId place, std::string_view text) {
    if (!error_.empty()) return error_;
    Result<NodeId> node = conjunctions_->find({{place, false}});
    if (!node) return node.error().message;
    Result<bool> held = value_holds(*conjunctions_, *node, json::parse(text));
    if (!held) return held.error().message;
    return *held ? "yes" : "no";
  }

  json::value value_;
  GiveUp give_up_;
  std::string error_;
  Schema schema_;
  SchemaId not_;
  std::optional<Conjunctions> conjunctions_;
};

struct Example {
  const char* schema;
  std::vector<const char*> valid;
  std::vector<const char*> invalid;
};

void check(const std::vector<Example>& examples) {
  for (const Example& one : examples) {
    SCOPED_TRACE(one.schema);
    Places places(one.schema);
    for (const char* value : one.valid) {
      EXPECT_EQ(places.holds(value), "yes") << value;
      EXPECT_EQ(places.breaks(value), "no") << value;
    }
    for (const char* value : one.invalid) {
      EXPECT_EQ(places.holds(value), "no") << value;
      EXPECT_EQ(places.breaks(value), "yes") << value;
    }
  }
}

TEST(Negations, OfOtherTypesAndValues) {
  check({
      {R"({"not":{"type":"null"}})", {"0", "[]", "\"null\""}, {"null"}},
      {R"({"not":{"type":["integer","string"]}})", {"0.5", "null", "{}"}, {"0", "1.0", "\"\""}},
      {R"({"type":"number","not":{"type":"integer"}})", {"0.5", "-1.25"}, {"3", "3.0", "null"}},
      {R"({"not":{"const":"a"}})", {"\"b\"", "1", "[\"a\"]"}, {"\"a\""}},
      {R"({"not":{"enum":[1,2.5,"a",null,true]}})",
       {"2", "false", "\"\"", "[]"},
       {"1.0", "2.5", "\"a\"", "null", "true"}},
      {R"({"not":{"enum":[true,false]}})", {"null", "0"}, {"true", "false"}},
      {R"({"not":{"const":[1,{"a":null}]}})",
       {"[]", "[1]", "[1,{\"a\":0}]", "[1,{}]", "[1,{\"a\":null,\"b\":1}]", "[1,{\"a\":null},2]",
        "[2,{\"a\":null}]"},
       {"[1,{\"a\":null}]", "[1.0,{\"a\":null}]"}},
      {R"({"not":{"enum":[{},{"a":1},[]]}})",
       {"{\"a\":2}", "{\"b\":1}", "[null]", "0"},
       {"{}", "{\"a\":1}", "[]"}},
      {R"({"enum":[1,2,3],"not":{"const":2}})", {"1", "3"}, {"2", "4"}},
  });
}

TEST(Negations, OfNumbersAndTexts) {
  check({
      {R"({"type":"integer","not":{"minimum":3}})", {"2", "-9"}, {"3", "4"}},
      {R"({"type":"number","not":{"minimum":0,"exclusiveMaximum":1}})",
       {"-0.1", "1", "7"},
       {"0", "0.9"}},
      {R"({"type":"integer","not":{"multipleOf":3}})", {"1", "-2"}, {"0", "-3", "9"}},
      {R"({"type":"number","not":{"multipleOf":0.1}})", {"0.05", "1.234"}, {"0.3", "2"}},
      {R"({"type":"string","not":{"minLength":2}})", {"\"\"", "\"a\""}, {"\"ab\""}},
      {R"({"type":"string","not":{"minLength":1,"maxLength":2}})", {"\"\"", "\"abc\""}, {"\"a\""}},
      {R"({"type":"string","not":{"pattern":"^a"}})", {"\"ba\"", "\"\""}, {"\"a\"", "\"ab\""}},
      {R"({"type":"string","pattern":"^[a-c]$","not":{"enum":["b","x"]}})", {"\"a\""}, {"\"b\""}},
      {R"({"not":{"format":"ipv4"}})", {"\"1.2.3\""}, {"\"1.2.3.4\"", "4"}},
      {R"({"not":{"format":"date"}})", {"\"2024-02-30x\""}, {"\"2024-02-03\""}},
  });
}

TEST(Negations, OfArraysAndObjects) {
  check({
      {R"({"type":"array","not":{"items":{"type":"integer"}}})", {"[1,\"a\"]"}, {"[]", "[1,2]"}},
      {R"({"type":"array","not":{"prefixItems":[true,{"const":1}],"items":{"type":"string"}}})",
       {"[0,2]", "[0,1,2]", "[0,1,\"a\",2]"},
       {"[]", "[5]", "[5,1]", "[5,1,\"a\"]"}},
      {R"({"type":"array","not":{"minItems":1,"maxItems":2}})", {"[]", "[1,2,3]"}, {"[1]"}},
      {R"({"type":"array","not":{"prefixItems":[true],"items":false}})", {"[1,2]"}, {"[]", "[1]"}},
      {R"({"type":"object","not":{"required":["a","b"]}})",
       {"{}", "{\"a\":1}", "{\"b\":1}"},
       {"{\"a\":1,\"b\":2}"}},
      {R"({"type":"object","not":{"properties":{"a":{"type":"integer"},"b":true}}})",
       {"{\"a\":\"x\"}"},
       {"{}", "{\"a\":1}", "{\"b\":\"x\"}"}},
      {R"({"type":"object","not":{"properties":{"a":true},"additionalProperties":false}})",
       {"{\"b\":1}", "{\"a\":1,\"c\":1}"},
       {"{}", "{\"a\":1}"}},
      {R"({"type":"object","not":{"patternProperties":{"^x":{"type":"integer"}},
          "additionalProperties":{"type":"string"}}})",
       {"{\"x1\":\"a\"}", "{\"y\":1}", "{\"x\":1,\"y\":2}"},
       {"{}", "{\"x\":1,\"y\":\"a\"}"}},
  });
}

TEST(Negations, GoThroughCombinationsAndRecursion) {
  check({
      {R"({"not":{"anyOf":[{"type":"integer"},{"minLength":2}]}})",
       {"\"a\""},
       {"1", "\"ab\"", "[]"}},
      {R"({"not":{"allOf":[{"type":"integer"},{"minimum":2}]}})", {"1", "\"a\""}, {"2"}},
      {R"({"not":{"not":{"type":"integer"}}})", {"1"}, {"\"a\""}},
      {R"({"not":{"oneOf":[{"type":"integer"},{"minimum":2},{"type":["integer","string"]}]}})",
       {"1", "2", "1.5", "\"a\""},
       {"2.5", "null"}},
      // A list of integers, however deep; and what is none.
      {R"({"not":{"$ref":"#/$defs/t"},"$defs":{"t":{"type":"array","items":{"anyOf":[
          {"type":"integer"},{"$ref":"#/$defs/t"}]}}}})",
       {"1", "[\"a\"]", "[1,[2,[null]]]"},
       {"[]", "[1,[2,[3]],[]]"}},
      {R"({"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},
          "next":{"not":{"$ref":"#/$defs/n"}}}}}})",
       {"{}", "{\"next\":1}", "{\"next\":{\"v\":\"x\"}}", "{\"next\":{\"next\":{}}}"},
       {"{\"next\":{}}", "{\"next\":{\"next\":1}}", "1"}},
  });
}

TEST(Overlapping, BranchesOfAOneOf) {
  check({
      {R"({"oneOf":[{"type":"integer"},{"minimum":2}]})", {"1", "2.5", "\"a\""}, {"2", "1.5"}},
      {R"({"oneOf":[{"required":["a"]},{"required":["b"]}],"type":"object"})",
       {"{\"a\":1}", "{\"b\":1}"},
       {"{}", "{\"a\":1,\"b\":1}"}},
      {R"({"oneOf":[{"required":["a"]},{"required":["b"]},{"required":["c"]}],"type":"object"})",
       {"{\"a\":1}", "{\"c\":1}"},
       {"{}", "{\"a\":1,\"b\":1}", "{\"a\":1,\"b\":1,\"c\":1}"}},
      {R"({"oneOf":[{"pattern":"^a"},{"pattern":"b$"}],"type":"string"})",
       {"\"a\"", "\"b\"", "\"abc\""},
       {"\"ab\"", "\"c\""}},
      {R"({"oneOf":[{"type":"string"},{"enum":["a",1]}]})", {"\"b\"", "1"}, {"\"a\"", "2"}},
      {R"({"oneOf":[{"properties":{"k":{"const":"x"}}},{"properties":{"k":{"type":"string"}}}],
          "type":"object","required":["k"]})",
       {"{\"k\":\"y\"}"},
       {"{\"k\":\"x\"}", "{\"k\":1}"}},
      // Within each other.
      {R"({"oneOf":[{"oneOf":[{"type":"integer"},{"minimum":3}]},{"multipleOf":2}]})",
       {"1", "3.5", "6"},
       {"2", "3", "1.5", "\"a\""}},
  });
}

TEST(Overlapping, ABranchWithinAnotherLeavesNothingAndSaysWhy) {
  Places places(R"({"oneOf":[{"type":"integer"},{"type":"integer","minimum":2}],"minimum":5})");
  EXPECT_EQ(places.why(),
            "at #/oneOf: every value of branch 0 of oneOf is one of another branch too (of branch "
            "1, say), and exactly one may hold; use anyOf, or make them differ");
  EXPECT_NE(Places(R"({"oneOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],
                       "$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/a"}}}})")
                .why(),
            "possible");
}

TEST(Overlapping, BranchesThatExcludeEachOtherNeedNoNegation) {
  for (const char* schema :
       {R"({"oneOf":[{"type":"string","format":"idn-hostname"},{"type":"integer"}]})",
        R"({"oneOf":[{"type":"string","format":"regex","minLength":3},{"const":"a"}]})",
        R"({"oneOf":[{"type":"object","properties":{"a":true},"required":["a"],
           "additionalProperties":false},{"type":"object","properties":{"b":true},"required":["b"],
           "additionalProperties":false}]})"}) {
    EXPECT_EQ(Places(schema).why(), "possible") << schema;
  }
}

// A format is narrower here than its standard: what is between them may be of it for others.
TEST(Overlapping, AFormatIsAsWideAsItsStandardInTheOtherBranch) {
  const char* schema = R"({"oneOf":[{"type":"string","format":"hostname"},
                                    {"type":"string","pattern":"^a--b$"}]})";
  EXPECT_EQ(Places(schema).holds("\"a--b\""), "no");
  EXPECT_EQ(Places(schema).holds("\"ab\""), "yes");
  Places regex(R"({"type":"string","not":{"format":"regex"}})");
  EXPECT_NE(regex.why().find("whether a text is not of the format regex cannot be decided"),
            std::string::npos)
      << regex.why();
}

TEST(Negations, OfManyChoicesStayFew) {
  // Without looking ahead, 3^20 combinations.
  std::string all;
  for (int i = 0; i < 20; ++i) {
    all += std::string(i > 0 ? "," : "") + R"({"not":{"properties":{"k":{"const":")" +
           std::to_string(i) + R"("},"v":{"type":"null"}},"required":["k"]}})";
  }
  Places places(
      R"({"type":"object","properties":{"k":{"enum":["1","7","x"]},"v":{"type":"integer"}},
                    "required":["k","v"],"allOf":[)" +
      all + "]}");
  EXPECT_EQ(places.holds(R"({"k":"x","v":1})"), "yes");
  EXPECT_EQ(places.holds(R"({"k":"7","v":1})"), "yes");
  EXPECT_EQ(places.holds(R"({"k":"7"})"), "no");
}

// Whether a member is missing or not valid is no choice: 2^20 combinations would be too many.
TEST(Negations, OfRequiredMembersThatHaveRulesAreNoChoice) {
  std::string branches;
  for (int i = 0; i < 20; ++i) {
    branches += fmt::format(
        R"({}{{"type":"object","required":["m{}"],"properties":{{"m{}":{{"type":"integer"}}}}}})",
        i > 0 ? "," : "", i, i);
  }
  Places places(R"({"oneOf":[)" + branches + "]}");
  EXPECT_EQ(places.why(), "possible");
  for (const char* value : {R"({"m3":1})", R"({"m3":1,"x":2})", R"({"m3":1,"m4":"x","m5":null})"})
    EXPECT_EQ(places.holds(value), "yes") << value;
  for (const char* value : {"{}", "1", R"({"m3":"x"})", R"({"m3":1,"m4":2})"})
    EXPECT_EQ(places.holds(value), "no") << value;
  check({{R"({"not":{"required":["a","b"],"properties":{"a":{"type":"integer"},"c":{"const":1}}}})",
          {"{}", R"({"a":1})", R"({"a":"x","b":1})", R"({"a":1,"b":1,"c":2})"},
          {R"({"a":1,"b":1})", R"({"a":1,"b":1,"c":1})", "1"}},
         {R"({"not":{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}}})",
          {"1", "{}", R"({"a":"x"})", R"({"b":1})"},
          {R"({"a":1})", R"({"a":1,"b":2})"}},
         {R"({"type":"object","not":{"required":["a"],"properties":{"a":false}}})",
          {"{}", R"({"a":1})"},
          {"1"}},
         {R"({"type":"object","not":{"required":["a"],"properties":{"a":true}}})",
          {"{}", R"({"b":1})"},
          {R"({"a":1})"}}});
}

TEST(Negations, OfNothingButAnEnumOfLargeArraysIsRefused) {
  std::string array = "0";
  for (int i = 0; i < 400; ++i)
    array += ",0";
  Places places(R"({"not":{"const":[)" + array + "]}}");
  EXPECT_NE(places.why().find("more than 300 items"), std::string::npos) << places.why();
}

}  // namespace
}  // namespace windrow::grammar
