// Objects with their members in any order: every order of every allowed set of members, and nothing
// else.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "grammar/schema/schema_grammar.h"
#include "grammar/schema/testing/expect_language.h"
#include "grammar/schema/testing/schema_language.h"
#include "grammar/schema/testing/walk.h"

namespace windrow::grammar {
namespace {

using ::testing::HasSubstr;
using testing::random_walk;
using testing::SchemaLanguage;
using testing::Walk;
using Texts = std::vector<std::string>;

const SchemaOptions kAny{.property_order = PropertyOrder::kAny};
const SchemaOptions kAnyOpen{.open = true, .property_order = PropertyOrder::kAny};

void expect_language(const std::string& schema, const Texts& in, const Texts& out,
                     const SchemaOptions& options = kAny) {
  testing::expect_language(schema, in, out, options);
}

// All sequences of different members of `members`, as texts of objects.
void for_each_sequence(const Texts& members,
                       const std::function<void(const std::string&, const std::set<size_t>&)>& use,
                       const std::string& text = "{", const std::set<size_t>& used = {}) {
  use(text + "}", used);
  for (size_t i = 0; i < members.size(); ++i) {
    if (used.contains(i)) continue;
    std::set<size_t> more = used;
    more.insert(i);
    for_each_sequence(members, use, text + (used.empty() ? "" : ",") + members[i], more);
  }
}

TEST(AnyOrder, EveryOrderOfEveryAllowedSetIsAText) {
  const Texts names = {"a", "ab", "b\"", "c"};
  const Texts members = {R"("a":1)", R"("ab":2)", R"("b\"":3)", R"("c":4)"};
  for (uint32_t required = 0; required < 16; ++required) {
    boost::json::object properties;
    boost::json::array needed;
    for (size_t i = 0; i < names.size(); ++i) {
      properties[names[i]] = {{"type", "integer"}};
      if ((required >> i & 1) != 0) needed.emplace_back(names[i]);
    }
    const boost::json::object schema = {
        {"type", "object"}, {"properties", properties}, {"required", needed}};
    const SchemaLanguage language(schema, kAny);
    ASSERT_TRUE(language.made()) << language.error();
    int count = 0;
    for_each_sequence(members, [&](const std::string& text, const std::set<size_t>& used) {
      uint32_t bits = 0;
      for (const size_t member : used)
        bits |= 1U << member;
      ++count;
      EXPECT_EQ(language.has(text), (bits & required) == required) << text;
      // None comes twice.
      const std::string open = text.substr(0, text.size() - 1);
      for (const size_t member : used)
        EXPECT_FALSE(language.begins(open + "," + members[member])) << text;
      EXPECT_EQ(language.begins(open + ","), !used.empty() && used.size() < names.size());
    });
    EXPECT_EQ(count, 65);
  }
}

TEST(AnyOrder, UndeclaredMembersStandAnywhere) {
  const std::string schema =
      R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"null"}},
          "required":["b"],"additionalProperties":{"type":"boolean"}})";
  expect_language(
      schema,
      {R"({"b":null})", R"({"x":true,"b":null})", R"({"b":null,"x":true,"a":1})",
       R"({"x":true,"b":null,"y":false,"a":1,"z":true})", R"({"aa":true,"b":null})",
       R"({"":true,"b":null})"},
      {"{}", R"({"x":true})", R"({"a":true,"b":null})", R"({"b":true})", R"({"x":1,"b":null})",
       R"({"b":null,"x":true,"b":null})", R"({"b":null,"x":true,"b":true})", R"({"b":null,})"});
  expect_language(R"({"type":"object","properties":{"a":{"type":"integer"}}})",
                  {"{}", R"({"a":1})", R"({"b":[{}],"a":1,"c":"x"})"}, {R"({"a":"x","b":1})"},
                  kAnyOpen);
  expect_language(R"({"type":"object","patternProperties":{"^x":{"type":"integer"}},
                      "properties":{"a":{"const":0}}})",
                  {"{}", R"({"x":1,"a":0,"xx":2})"}, {R"({"x":"s"})", R"({"y":1})"});
}

TEST(AnyOrder, HoldsForObjectsWithinObjects) {
  expect_language(
      R"({"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},
          "next":{"$ref":"#/$defs/node"},"all":{"type":"array","items":{"$ref":"#/$defs/node"}}},
          "required":["v"]}},"$ref":"#/$defs/node"})",
      {R"({"v":1})", R"({"next":{"v":2},"v":1})",
       R"({"v":1,"next":{"all":[{"v":1},{"v":2}],"v":2}})",
       R"({"all":[],"next":{"next":{"next":{"v":1},"v":2},"v":3},"v":4})"},
      {"{}", R"({"next":{"v":2}})", R"({"next":{"next":{}},"v":1})",
       R"({"next":{"v":1},"v":1,"next":{"v":1}})"});
}

TEST(AnyOrder, PartsOfOneObjectShareTheOrder) {
  expect_language(
      R"({"allOf":[{"type":"object","properties":{"a":{"minimum":3}},"required":["a"]},
                   {"properties":{"b":{"type":"null"},"a":{"type":"integer"}}}]})",
      {R"({"a":3})", R"({"b":null,"a":4})", R"({"a":4,"b":null})"},
      {"{}", R"({"a":2})", R"({"b":null})", R"({"a":3,"a":3})", R"({"a":3,"c":1})"});
  expect_language(
      R"({"type":"object","properties":{"k":{"enum":["x","y"]}},"required":["k"],
          "anyOf":[{"properties":{"k":{"const":"x"},"a":{"type":"integer"}},"required":["a"]},
                   {"properties":{"k":{"const":"y"},"b":{"type":"integer"}},"required":["b"]}]})",
      {R"({"k":"x","a":1})", R"({"a":1,"k":"x"})", R"({"b":1,"k":"y"})"},
      {R"({"a":1,"k":"y"})", R"({"b":1,"k":"x"})", R"({"k":"x"})", R"({"a":1})"});
}

TEST(AnyOrder, ValuesOfEnumKeepTheirOwnOrder) {
  expect_language(R"({"enum":[{"b":1,"a":2}]})", {R"({"b":1,"a":2})"}, {R"({"a":2,"b":1})"});
  expect_language(R"({"type":"object","properties":{"x":{"const":{"b":1,"a":2}},"y":{}}})",
                  {R"({"y":0,"x":{"b":1,"a":2}})"}, {R"({"x":{"a":2,"b":1}})"});
}

TEST(AnyOrder, WhiteSpaceIsWhereItMayBe) {
  const std::string schema =
      R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"null"}},
          "required":["b"],"additionalProperties":{"type":"boolean"}})";
  SchemaOptions options = kAny;
  options.whitespace = Whitespace::kFlexible;
  expect_language(
      schema,
      {"{ \"x\" : true ,\n\t\"b\" : null , \"a\" : 1 }", R"({"a":1,"b":null})", "{\"b\"\n:\nnull}"},
      {"{ }", " {\"b\":null}", "{\"b\" : null , }", "{\"b\":null} "}, options);
  options.whitespace = Whitespace::kSpaced;
  expect_language(schema, {R"({"b": null})", R"({"a": 1, "b": null})", R"({"x": true, "b": null})"},
                  {R"({"b":null})", R"({"a": 1,"b": null})", R"({ "b": null})"}, options);
}

TEST(AnyOrder, AMemberWithoutAValueIsLeftOut) {
  expect_language(R"({"type":"object","properties":{"a":false,"b":{"type":"null"}}})",
                  {"{}", R"({"b":null})"}, {R"({"a":1})", R"({"b":null,"a":1})"});
  expect_language(R"({"type":"object","properties":{"b":{"type":"null"},
                      "a":{"$ref":"#/$defs/endless"}},"$defs":{"endless":{"type":"object",
                      "properties":{"e":{"$ref":"#/$defs/endless"}},"required":["e"]}}})",
                  {"{}", R"({"b":null})"}, {R"({"a":{"e":1}})"});
  const SchemaLanguage endless(
      std::string_view(R"({"type":"object","properties":{"e":{"$ref":"#"}},"required":["e"]})"),
      kAny);
  EXPECT_FALSE(endless.made());
}

// Random ways end, in many orders, in texts that the schema's definition order has as well once
// their members are sorted: the two grammars agree about what is valid.
TEST(AnyOrder, RandomWaysEndValid) {
  const std::string schema =
      R"({"type":"object","properties":{"a":{"enum":[1,23]},"b":{"type":"object","properties":{
          "c":{"type":"boolean"},"d":{"type":"array","items":{"type":"object","properties":{
          "e":{"type":"null"},"f":{"type":"null"}},"required":["e"]}}},"required":["d","c"]},
          "g":{"enum":["x","y"]}},"required":["g","a"]})";
  const SchemaLanguage any(schema, kAny);
  const SchemaLanguage defined(schema, {});
  ASSERT_TRUE(any.made() && defined.made());
  const std::function<boost::json::value(const boost::json::value&)> sorted =
      [&](const boost::json::value& value) -> boost::json::value {
    if (const boost::json::array* array = value.if_array()) {
      boost::json::array made;
      for (const boost::json::value& item : *array)
        made.push_back(sorted(item));
      return made;
    }
    const boost::json::object* object = value.if_object();
    if (object == nullptr) return value;
    boost::json::object made;
    for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) {
      if (const auto* member = object->if_contains(name)) made[name] = sorted(*member);
    }
    EXPECT_EQ(made.size(), object->size());
    return made;
  };
  std::set<std::string> firsts;
  int others = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    const Walk walk = random_walk(any.matcher(), random, 150);
    ASSERT_NE(walk.end, Walk::End::kStuck) << walk.text;
    if (walk.end == Walk::End::kLong || walk.text.find('e') == std::string::npos) continue;
    firsts.insert(walk.text.substr(0, 3));
    const std::string in_order = boost::json::serialize(sorted(boost::json::parse(walk.text)));
    if (in_order != walk.text) ++others;
    EXPECT_TRUE(defined.has(in_order)) << walk.text;
  }
  EXPECT_EQ(firsts.size(), 3U);
  EXPECT_GT(others, 50);
}

// What is allowed is what some text goes on with.
TEST(AnyOrder, ManyMembersCostLittle) {
  for (const int count : {30, 500}) {
    boost::json::object properties;
    for (int i = 0; i < count; ++i)
      properties[fmt::format("member_{:03}", i)] = {{"type", "integer"}};
    const boost::json::object schema = {{"type", "object"}, {"properties", properties}};
    const SchemaLanguage language(schema, kAny);
    ASSERT_TRUE(language.made()) << language.error();
    Random random(1);
    Matcher matcher = language.matcher();
    std::vector<int> left(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i)
      left[static_cast<size_t>(i)] = i;
    ASSERT_TRUE(matcher.accept_bytes("{"));
    while (!left.empty()) {
      const size_t at = random.below(left.size());
      const std::string name = fmt::format("\"member_{:03}\":", left[at]);
      left.erase(left.begin() + static_cast<ptrdiff_t>(at));
      ASSERT_TRUE(matcher.accept_bytes(name));
      ASSERT_TRUE(matcher.accept_bytes("1"));
      Matcher copy = matcher;
      EXPECT_FALSE(copy.accept_bytes("," + name));
      EXPECT_EQ(matcher.accept_bytes(","), !left.empty());
      if (left.empty()) continue;
      ASSERT_TRUE(matcher.forced_bytes(20).starts_with("\"member_"));
      EXPECT_FALSE(matcher.mask()->allows('}'));
    }
    EXPECT_TRUE(matcher.accept_bytes("}"));
    EXPECT_TRUE(matcher.must_end());
  }
}

}  // namespace
}  // namespace windrow::grammar
