// What is counted: items that contains, items that differ, members, and members that negated rules
// demand. Texts are compact and in definition order.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grammar/schema/schema_grammar.h"
#include "grammar/schema/testing/expect_language.h"
#include "grammar/schema/testing/schema_language.h"

namespace windrow::grammar {
namespace {

using testing::expect_language;
using ::testing::HasSubstr;
using testing::SchemaLanguage;
using Texts = std::vector<std::string>;

std::string refusal(const std::string& schema) {
  const SchemaLanguage language(schema);
  return language.made() ? "no error" : language.error();
}

std::string array_text(const Texts& items) {
  return fmt::format("[{}]", fmt::join(items, ","));
}

// All sequences of up to `longest` of these words.
std::vector<Texts> sequences(const Texts& words, size_t longest) {
  std::vector<Texts> all{{}};
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].size() == longest) continue;
    for (const std::string& word : words) {
      all.push_back(all[i]);
      all.back().push_back(word);
    }
  }
  return all;
}

// The grammar of the schema has just those arrays of up to five of these items that are `valid`.
void expect_arrays(const std::string& schema, const Texts& items,
                   const std::function<bool(const Texts&)>& valid) {
  SCOPED_TRACE(schema);
  const SchemaLanguage language(schema);
  const auto all = sequences(items, 5);
  if (!language.made()) {
    EXPECT_TRUE(std::ranges::none_of(all, valid)) << language.error();
    return;
  }
  for (const Texts& array : all)
    EXPECT_EQ(language.has(array_text(array)), valid(array)) << array_text(array);
}

bool within(size_t count, uint32_t min, std::optional<uint32_t> max) {
  return count >= min && (!max || count <= *max);
}

std::string bounds(const char* min_name, uint32_t min, const char* max_name,
                   std::optional<uint32_t> max) {
  std::string text = fmt::format(R"(,"{}":{})", min_name, min);
  if (max) text += fmt::format(R"(,"{}":{})", max_name, *max);
  return text;
}

// --- contains ------------------------------------------------------------------------------------

TEST(Counts, OneItemAtLeastIsContained) {
  expect_language(R"({"type":"array","contains":{"type":"integer"}})",
                  {"[1]", "[\"a\",1,null]", "[1,2]", "[[],1]"},
                  {"[]", "[\"a\"]", "[1.5]", "[[1]]", "[1,]", "[,1]"});
  expect_language(R"({"contains":{"const":"x"},"items":{"type":"string"}})",
                  {"[\"x\"]", "[\"a\",\"x\"]", "{}", "\"x\""}, {"[]", "[\"a\"]", "[\"x\",1]"});
  EXPECT_THAT(
      refusal(R"({"type":"array","contains":{"type":"integer"},"items":{"type":"string"}})"),
      HasSubstr("no "));
}

TEST(Counts, ContainedItemsAreWithinTheirBoundsAndAllItemsWithinTheirs) {
  const std::vector<std::optional<uint32_t>> maxima{std::nullopt, 0, 1, 2, 4};
  for (uint32_t min = 0; min <= 3; ++min) {
    for (const auto& max : maxima) {
      for (uint32_t items_min = 0; items_min <= 3; ++items_min) {
        for (const auto& items_max : maxima) {
          if ((max && *max < min) || (items_max && *items_max < items_min)) continue;
          const std::string schema =
              R"({"type":"array","items":{"enum":[1,2]},"contains":{"const":1})" +
              bounds("minContains", min, "maxContains", max) +
              bounds("minItems", items_min, "maxItems", items_max) + "}";
          expect_arrays(schema, {"1", "2"}, [&](const Texts& array) {
            const auto ones = static_cast<size_t>(std::ranges::count(array, "1"));
            return within(ones, min, max) && within(array.size(), items_min, items_max);
          });
        }
      }
    }
  }
}

TEST(Counts, ItemsOfThePrefixCount) {
  for (uint32_t min = 0; min <= 2; ++min) {
    for (const auto& max : std::vector<std::optional<uint32_t>>{std::nullopt, 1, 2}) {
      if (max && *max < min) continue;
      const std::string schema =
          R"({"type":"array","prefixItems":[{"const":1},{"enum":[1,3]}],"items":{"enum":[1,2]},
              "contains":{"const":1})" +
          bounds("minContains", min, "maxContains", max) + "}";
      expect_arrays(schema, {"1", "2", "3"}, [&](const Texts& array) {
        for (size_t i = 0; i < array.size(); ++i) {
          const Texts allowed = i == 0 ? Texts{"1"} : i == 1 ? Texts{"1", "3"} : Texts{"1", "2"};
          if (std::ranges::find(allowed, array[i]) == allowed.end()) return false;
        }
        return within(static_cast<size_t>(std::ranges::count(array, "1")), min, max);
      });
    }
  }
}

TEST(Counts, SeveralContainsHoldTogether) {
  const std::string two =
      R"({"type":"array","items":{"enum":[1,2,3]},"allOf":[
          {"contains":{"maximum":2},"minContains":2},
          {"contains":{"minimum":2},"minContains":1,"maxContains":2}]})";
  expect_arrays(two, {"1", "2", "3"}, [](const Texts& array) {
    const auto low = std::ranges::count_if(array, [](const auto& item) { return item != "3"; });
    const auto high = std::ranges::count_if(array, [](const auto& item) { return item != "1"; });
    return low >= 2 && high >= 1 && high <= 2;
  });
  const std::string three =
      R"({"type":"array","items":{"enum":[1,2,3]},"maxItems":4,"allOf":[
          {"contains":{"const":1}},{"contains":{"const":2}},{"contains":{"const":3}}]})";
  expect_arrays(three, {"1", "2", "3"}, [](const Texts& array) {
    return array.size() <= 4 && std::ranges::count(array, "1") > 0 &&
           std::ranges::count(array, "2") > 0 && std::ranges::count(array, "3") > 0;
  });
}

TEST(Counts, ContainedObjectsAreCountedByTheirMembers) {
  expect_language(R"({"type":"array","items":{"type":"object","properties":{"k":{"enum":["a","b"]}},
                      "required":["k"]},"contains":{"properties":{"k":{"const":"a"}}},
                      "maxContains":1})",
                  {R"([{"k":"a"}])", R"([{"k":"b"},{"k":"a"},{"k":"b"}])"},
                  {"[]", R"([{"k":"b"}])", R"([{"k":"a"},{"k":"a"}])"});
}

TEST(Counts, BoundsOfContainsMayBeLarge) {
  const SchemaLanguage language(
      R"({"type":"array","items":{"enum":[1,2]},"contains":{"const":1},"minContains":300,
          "maxContains":400})");
  ASSERT_TRUE(language.made()) << language.error();
  for (const size_t ones : {299U, 300U, 400U, 401U}) {
    Texts array(2 * ones, "2");
    for (size_t i = 0; i < ones; ++i)
      array[2 * i] = "1";
    EXPECT_EQ(language.has(array_text(array)), ones >= 300 && ones <= 400) << ones;
  }
  EXPECT_THAT(refusal(R"({"properties":{"a":{"type":"array","contains":{"const":1},
                          "minContains":300,"minItems":1000}}})"),
              ::testing::AllOf(HasSubstr("at #/properties/a: "), HasSubstr("20000 states")));
}

// --- uniqueItems ---------------------------------------------------------------------------------

TEST(Counts, ItemsThatMustDifferHaveOneSpelling) {
  expect_language(R"({"type":"array","items":{"type":"number"},"uniqueItems":true})",
                  {"[]", "[1]", "[1,1.5,-1,0,0.25,100]"},
                  {"[1,1]", "[1,1.0]", "[1.0]", "[10,1e1]", "[1e1]", "[0,-0]", "[-0]", "[0.50]",
                   "[1.5,2,1.5]", "[1.]", "[00]"});
  expect_language(R"({"type":"array","items":{"type":"integer","minimum":0},"uniqueItems":true})",
                  {"[0,1,10,100]"}, {"[0,0]", "[1,2,1]", "[-1]"});
  expect_language(R"({"type":"array","items":{"type":"string"},"uniqueItems":true})",
                  {"[]", R"(["a","b","","\n","\u001f","\"","ä😀","/"])", R"(["a","ab","b"])"},
                  {R"(["a","a"])", R"(["\u0061"])", R"(["\/"])", R"(["\u000a"])", R"(["\u001F"])",
                   R"(["","",""])"});
  expect_language(R"({"type":"array","items":{"type":["string","number","null","boolean"]},
                      "uniqueItems":true})",
                  {R"(["1",1,"null",null,true,"true",false])"},
                  {"[null,null]", "[true,false,true]", R"([1,"a",1])"});
  expect_language(
      R"({"type":"array","items":{"type":"string","pattern":"^a+$"},"uniqueItems":true})",
      {R"(["a","aa"])"}, {R"(["a","a"])", R"(["b"])"});
}

TEST(Counts, ArraysAndObjectsOfAnEnumDiffer) {
  expect_language(R"({"type":"array","items":{"enum":[[1],[2],{"a":1,"b":2},{"b":2,"a":1},1.0,1]},
                      "uniqueItems":true})",
                  {R"([[1],[2],{"a":1,"b":2},1])"},
                  {"[[1],[1]]", R"([{"a":1,"b":2},{"b":2,"a":1}])", "[1,1]", "[1,1.0]"});
  expect_language(R"({"type":"array","items":{"type":"object"},"uniqueItems":true,"maxItems":1})",
                  {"[]", "[{}]"}, {"[{},{}]"});
}

TEST(Counts, ObjectsWithDeclaredMembersDiffer) {
  const std::string schema =
      R"({"type":"array","items":{"type":"object","properties":{"n":{"type":"string"},
          "v":{"type":["number","null"]}},"required":["n"]},"uniqueItems":true})";
  expect_language(schema, {"[]", R"([{"n":"a"},{"n":"b"},{"n":"a","v":1},{"n":"a","v":null}])"},
                  {R"([{"n":"a"},{"n":"a"}])", R"([{"n":"a","v":1},{"n":"b"},{"n":"a","v":1}])",
                   R"([{"n":"a","v":1.0}])", R"([{"v":1}])", R"([{"n":"a","x":1}])"});
  expect_language(schema, {R"([{"n": "a", "v": 1}, {"n": "b"}])"},
                  {R"([{"n": "a"}, {"n": "a"}])", R"([{"n":"a"}])"},
                  {.whitespace = Whitespace::kSpaced});
  expect_language(schema, {R"([{"n": "a", "v": 1} ,{"n": "b"}])"}, {R"([{"n": "a"},{"n": "a"}])"},
                  {.whitespace = Whitespace::kFlexible});
  expect_language(R"({"type":"array","items":{"type":"object","properties":{"a":{"const":1},
                   "b":{"const":2},"c":{"const":3}}},"uniqueItems":true})",
                  {R"([{},{"a":1},{"b":2},{"c":3},{"a":1,"b":2},{"a":1,"b":2,"c":3}])",
                   R"([{"b":2,"c":3},{"a":1,"c":3}])"},
                  {R"([{},{}])", R"([{"b":2,"a":1}])", R"([{"a":1,}])", R"([{,"a":1}])"});
}

TEST(Counts, ArraysDiffer) {
  expect_language(R"({"type":"array","items":{"type":"array","items":{"type":"integer"},
                   "minItems":1,"maxItems":3},"uniqueItems":true})",
                  {"[[1],[1,2],[2,1],[1,1]]"},
                  {"[[1],[1]]", "[[]]", "[[1,2,3,4]]", "[[1,2],[1,2]]"});
  expect_language(R"({"type":"array","items":{"type":["array","string"],"prefixItems":[{"const":0}],
                   "items":{"type":"boolean"}},"uniqueItems":true})",
                  {R"([[],[0],[0,true],[0,true,false],"a"])"},
                  {"[[],[]]", "[[true]]", "[[0,true],[0,true]]"});
}

TEST(Counts, ItemsWhoseTextsSayNotWhetherTheyAreEqualAreRefused) {
  const auto of_items = [](const std::string& items) {
    return refusal(R"({"properties":{"a":{"type":"array","items":)" + items +
                   R"(,"uniqueItems":true}}})");
  };
  EXPECT_THAT(of_items(R"({"type":["string","object"]})"),
              ::testing::AllOf(HasSubstr("at #/properties/a/items: items of uniqueItems"),
                               HasSubstr("leave uniqueItems out")));
  EXPECT_THAT(of_items(R"({"anyOf":[{"type":"object","properties":{"a":true,"b":{"const":1}}},
                           {"type":"object","properties":{"b":{"const":1}}}]})"),
              HasSubstr("values of any kind"));
  EXPECT_THAT(
      of_items(R"({"anyOf":[{"type":"object","properties":{"a":{"const":1},"b":{"const":1}}},
                   {"type":"object","properties":{"b":{"const":1},"a":{"const":1}}}]})"),
      HasSubstr("different orders"));
  EXPECT_THAT(
      of_items(R"({"anyOf":[{"type":"object","properties":{"a":{"const":1},"b":{"const":1}}},
                   {"enum":[{"b":1,"a":1}]}]})"),
      HasSubstr("different orders"));
  EXPECT_THAT(refusal(R"({"type":"array","uniqueItems":true})"), HasSubstr("values of any kind"));
}

TEST(Counts, ThereAreNoMoreDifferentItemsThanValues) {
  const SchemaLanguage language(
      R"({"type":"array","items":{"enum":["a","b","c"]},"uniqueItems":true})");
  ASSERT_TRUE(language.made()) << language.error();
  EXPECT_TRUE(language.has(R"(["b","a","c"])"));
  EXPECT_FALSE(language.begins(R"(["b","a","c",)"));
  expect_language(R"({"type":"array","items":{"enum":[1,2]},"uniqueItems":true,"minItems":2})",
                  {"[1,2]", "[2,1]"}, {"[1]", "[1,1]", "[1,2,1]"});
  EXPECT_NE(refusal(R"({"type":"array","items":{"type":"boolean"},"uniqueItems":true,
                        "minItems":3})"),
            "no error");
}

TEST(Counts, DifferentItemsOfAPrefixAndContains) {
  expect_arrays(
      R"({"type":"array","prefixItems":[{"enum":[1,2]}],"items":{"enum":[1,2,3,4]},
          "contains":{"minimum":3},"minContains":1,"maxContains":2,"uniqueItems":true})",
      {"1", "2", "3", "4"}, [](const Texts& array) {
        Texts sorted = array;
        std::ranges::sort(sorted);
        const bool unique = std::ranges::adjacent_find(sorted) == sorted.end();
        return unique && !array.empty() && array.front() < "3" && sorted.back() >= "3";
      });
}

// --- members -------------------------------------------------------------------------------------

// All objects with some of these members, each once, in this order, and then some of `more` in any
// order.
std::vector<Texts> objects(const Texts& declared, const Texts& more) {
  std::vector<Texts> all;
  for (size_t set = 0; set < 1U << declared.size(); ++set) {
    Texts members;
    for (size_t i = 0; i < declared.size(); ++i) {
      if ((set >> i & 1U) != 0) members.push_back(declared[i]);
    }
    for (const Texts& rest : sequences(more, more.size())) {
      all.push_back(members);
      all.back().insert(all.back().end(), rest.begin(), rest.end());
    }
  }
  return all;
}

bool has_name_twice(const Texts& members) {
  Texts names;
  for (const std::string& member : members)
    names.push_back(member.substr(0, member.find(':')));
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) != names.end();
}

TEST(Counts, MembersAreWithinTheirBounds) {
  const Texts declared{"\"a\":1", "\"b\":1", "\"c\":1"};
  const Texts more{"\"x\":1", "\"y\":1"};
  for (const bool open : {false, true}) {
    for (uint32_t min = 0; min <= 5; ++min) {
      for (const auto& max : std::vector<std::optional<uint32_t>>{std::nullopt, 0, 1, 2, 3, 4}) {
        if (max && *max < min) continue;
        if (min == 0 && !max) continue;
        const std::string schema =
            R"({"type":"object","properties":{"a":{"const":1},"b":{"const":1},"c":{"const":1}},
                "required":["b"],"additionalProperties":)" +
            std::string(open ? R"({"const":1})" : "false") +
            bounds("minProperties", min, "maxProperties", max) + "}";
        SCOPED_TRACE(schema);
        const SchemaLanguage language(schema);
        for (const Texts& members : objects(declared, open ? more : Texts{})) {
          const bool valid = within(members.size(), min, max) && !has_name_twice(members) &&
                             std::ranges::find(members, declared[1]) != members.end();
          const std::string text = fmt::format("{{{}}}", fmt::join(members, ","));
          if (!language.made()) EXPECT_FALSE(valid) << text << language.error();
          // A name that comes twice is harmless where bounds cannot be broken by it.
          if (language.made() && (min > 1 || max || !has_name_twice(members))) {
            EXPECT_EQ(language.has(text), valid) << text;
          }
        }
      }
    }
  }
}

TEST(Counts, MembersWithoutPropertiesAreCounted) {
  expect_language(R"({"type":"object","minProperties":2,"maxProperties":3})",
                  {R"({"a":1,"b":[]})", R"({"a":1,"b":{"a":1},"c":2})", R"({"a":1,"":{}})"},
                  {"{}", R"({"a":1})", R"({"a":1,"a":2})", R"({"a":1,"b":2,"c":3,"d":4})",
                   R"({"a":1,"\u0061":2})", R"({"a":1,"b":2,"b":2})"});
  expect_language(R"({"type":"object","maxProperties":0})", {"{}"}, {R"({"a":1})"});
  expect_language(R"({"type":"object","patternProperties":{"^x":{"type":"integer"}},
                   "additionalProperties":false,"minProperties":1})",
                  {R"({"x":1})", R"({"x":1,"xy":2})"}, {"{}", R"({"a":1})", R"({"x":"1"})"});
  expect_language(R"({"type":"object","additionalProperties":{"type":"object","minProperties":2,
                   "additionalProperties":{"type":"integer"}},"minProperties":1})",
                  {R"({"a":{"a":1,"b":2},"b":{"a":1,"b":2}})"},
                  {"{}", R"({"a":{"a":1}})", R"({"a":{"a":1,"b":2},"a":{"a":1,"b":2}})"});
}

TEST(Counts, NamesOfMembersFollowPropertyNames) {
  expect_language(R"({"type":"object","propertyNames":{"pattern":"^[a-z]+$"}})",
                  {"{}", R"({"ab":1})", R"({"a":1,"b":{"A":1}})"}, {R"({"A":1})", R"({"":1})"});
  expect_language(R"({"type":"object","propertyNames":{"enum":["a","b"]},
                   "additionalProperties":{"type":"integer"}})",
                  {"{}", R"({"a":1})", R"({"b":1,"a":2})"}, {R"({"c":1})", R"({"a":"x"})"});
  expect_language(
      R"({"type":"object","propertyNames":{"maxLength":2},"properties":{"ab":{"const":1},
                   "abc":{"const":2}},"additionalProperties":{"const":3}})",
      {"{}", R"({"ab":1})", R"({"ab":1,"c":3})", R"({"xy":3})"},
      {R"({"abc":2})", R"({"abc":3})", R"({"xyz":3})", R"({"ab":3})"});
  expect_language(R"({"type":"object","propertyNames":false})", {"{}"}, {R"({"":1})"});
  expect_language(R"({"type":"object","propertyNames":{"anyOf":[{"const":"x"},{"pattern":"^y"}]}})",
                  {R"({"x":1})", R"({"yes":1})"}, {R"({"xx":1})", R"({"z":1})"});
  expect_language(R"({"type":"object","propertyNames":{"enum":["a","b"]},"minProperties":2})",
                  {R"({"a":1,"b":2})", R"({"b":1,"a":2})"},
                  {R"({"a":1})", R"({"a":1,"a":1})", R"({"a":1,"b":2,"a":3})"});
  const SchemaLanguage few(R"({"type":"object","propertyNames":{"enum":["a","b"]},
                               "minProperties":1})");
  ASSERT_TRUE(few.made()) << few.error();
  EXPECT_FALSE(few.begins(R"({"a":1,"b":2,)"));
}

// --- demands -------------------------------------------------------------------------------------

TEST(Counts, SomeMemberBreaksANegatedRule) {
  expect_language(R"({"type":"object","not":{"additionalProperties":{"type":"integer"}}})",
                  {R"({"a":"x"})", R"({"a":1,"b":"x"})", R"({"b":null,"a":1,"c":[]})"},
                  {"{}", R"({"a":1})", R"({"a":1,"b":2})", R"({"a":"x","a":1})"});
  expect_language(R"({"type":"object","not":{"patternProperties":{"^x":{"type":"integer"}}}})",
                  {R"({"x":"a"})", R"({"a":1,"xx":null})", R"({"x":1,"xy":"a"})"},
                  {"{}", R"({"x":1})", R"({"a":"x"})", R"({"x":1,"xx":2})"});
  expect_language(R"({"type":"object","not":{"propertyNames":{"maxLength":2}}})",
                  {R"({"abc":1})", R"({"a":1,"abc":1})", R"({"abc":1,"a":1})"},
                  {"{}", R"({"ab":1})", R"({"a":1,"b":2})"});
  expect_language(R"({"type":"object","not":{"properties":{"a":{"type":"integer"}}}})",
                  {R"({"a":"x"})", R"({"a":null})"}, {"{}", R"({"a":1})", R"({"b":"x"})"});
}

TEST(Counts, DeclaredMembersMayMeetADemand) {
  const std::string schema =
      R"({"type":"object","properties":{"a":{"type":["integer","null"]},
          "b":{"type":["integer","string"]}},"required":["a"],
          "not":{"additionalProperties":{"type":"integer"}}})";
  expect_language(schema, {R"({"a":null})", R"({"a":1,"b":"x"})", R"({"a":null,"b":1})"},
                  {"{}", R"({"a":1})", R"({"a":1,"b":1})", R"({"b":"x"})"});
}

TEST(Counts, SeveralDemandsAndBoundsHoldTogether) {
  const std::string schema =
      R"({"type":"object","additionalProperties":{"enum":[1,2,3]},"maxProperties":2,"allOf":[
          {"not":{"additionalProperties":{"maximum":2}}},
          {"not":{"patternProperties":{"^x":{"minimum":2}}}}]})";
  expect_language(
      schema, {R"({"x":1,"y":3})", R"({"y":3,"x":1})", R"({"x":1,"xx":3})", R"({"xx":3,"x":1})"},
      {"{}", R"({"x":1})", R"({"x":3})", R"({"y":3})", R"({"y":1,"z":3})", R"({"x":1,"y":3,"z":1})",
       R"({"x":1,"y":2})"});
}

// Each of two demands has to be met by a member of its own, and there are two names.
TEST(Counts, DemandsOnFewNamesAreMetOneByOne) {
  const auto schema = [](std::string_view names, std::string_view types) {
    return fmt::format(
        R"({{"type":"object","propertyNames":{{"enum":{}}},"additionalProperties":{{"type":{}}},
             "allOf":[{{"not":{{"patternProperties":{{"^[abc]$":{{"type":"integer"}}}}}}}},
                      {{"not":{{"patternProperties":{{"^[abc]$":{{"type":"string"}}}}}}}}]}})",
        names, types);
  };
  expect_language(
      schema(R"(["a","b"])", R"(["integer","string"])"),
      {R"({"a":"x","b":1})", R"({"b":1,"a":"x"})"},
      {"{}", R"({"a":"x"})", R"({"a":"x","b":"y"})", R"({"a":1,"b":2})", R"({"a":"x","a":1})"});
  expect_language(schema(R"(["a","b","c"])", R"(["integer","string","null"])"),
                  {R"({"a":"x","b":1})", R"({"a":"x","b":1,"c":null})", R"({"a":null,"b":null})"},
                  {"{}", R"({"a":1,"b":2,"c":3})", R"({"a":"x","b":"y","c":"z"})"});
  // One name cannot hold both an integer and a text; null is neither.
  expect_language(schema(R"(["a"])", R"(["integer","string","null"])"), {R"({"a":null})"},
                  {R"({"a":1})", R"({"a":"x"})"});
}

// A demand is not met by what another one needs.
TEST(Counts, SeveralDemandsShareFewNames) {
  const auto schema = [](const std::string& names, const std::string& types) {
    std::string demands;
    for (const char* type : {"integer", "string", "boolean"}) {
      if (types.find(type) == std::string::npos) continue;
      demands += std::string(demands.empty() ? "" : ",") +
                 R"({"not":{"patternProperties":{"^[a-d]$":{"type":")" + type + R"("}}}})";
    }
    return R"({"type":"object","propertyNames":{"enum":)" + names +
           R"(},"additionalProperties":{"type":)" + types + R"(},"allOf":[)" + demands + "]}";
  };
  expect_language(schema(R"(["a","b"])", R"(["integer","string"])"),
                  {R"({"a":"x","b":1})", R"({"a":1,"b":"x"})", R"({"b":1,"a":"x"})"},
                  {"{}", R"({"a":1})", R"({"a":"x"})", R"({"a":1,"b":2})", R"({"a":"x","b":"x"})"});
  expect_language(schema(R"(["a","b"])", R"(["integer","string","null"])"),
                  {R"({"a":"x","b":1})", R"({"a":null})", R"({"a":null,"b":1})"},
                  {"{}", R"({"a":1})", R"({"a":1,"b":2})", R"({"a":"x","b":"x"})"});
  // Three demands, and a value meets two.
  expect_language(schema(R"(["a","b","c"])", R"(["integer","string","boolean"])"),
                  {R"({"a":"x","b":1})", R"({"a":1,"b":true})", R"({"c":true,"a":"x","b":2})"},
                  {"{}", R"({"a":1})", R"({"a":1,"b":2,"c":3})"});
  const SchemaLanguage fewer(schema(R"(["a","b"])", R"(["integer","string","boolean"])"));
  EXPECT_NE(fewer.error().find("fewer names than that"), std::string::npos) << fewer.error();
  EXPECT_EQ(fewer.error().find("no value is valid"), std::string::npos) << fewer.error();
}

// Names that could be counted, but not written.
TEST(Counts, NamesWhoseValuesNeverEndDoNotCount) {
  const auto schema = [](const std::string& names) {
    return R"({"type":"object","minProperties":2,"propertyNames":{"enum":)" + names +
           R"(},"patternProperties":{"^a$":{"$ref":"#/$defs/endless"}},
             "additionalProperties":{"type":"null"},
             "$defs":{"endless":{"type":"object","required":["e"],
                                 "properties":{"e":{"$ref":"#/$defs/endless"}}}}})";
  };
  expect_language(schema(R"(["a","b","c"])"), {R"({"b":null,"c":null})", R"({"c":null,"b":null})"},
                  {"{}", R"({"b":null})", R"({"b":null,"b":null})"});
  EXPECT_FALSE(SchemaLanguage(schema(R"(["a","b","c"])")).begins(R"({"a")"));
  EXPECT_THAT(refusal(schema(R"(["a","b"])")), HasSubstr("at #/$defs/endless: a value never ends"));
  SchemaOptions any_order;
  any_order.property_order = PropertyOrder::kAny;
  EXPECT_FALSE(SchemaLanguage(schema(R"(["a","b"])"), any_order).made());
  const SchemaLanguage three(schema(R"(["a","b","c"])"), any_order);
  EXPECT_TRUE(three.has(R"({"c":null,"b":null})")) << three.error();
  EXPECT_FALSE(three.begins(R"({"a")"));
  // A value that must have as many members as there are names, one of which leads back to it.
  EXPECT_THAT(refusal(R"({"type":"object","minProperties":2,"propertyNames":{"enum":["a","b"]},
                          "patternProperties":{"^a$":{"$ref":"#"}}})"),
              HasSubstr("at #: a value never ends"));
}

// What a demand uses up is not there for the minimum.
TEST(Counts, AMinimumAndADemandOnFewNames) {
  const auto schema = [](int least) {
    return fmt::format(
        R"({{"type":"object","propertyNames":{{"enum":["a","b","c"]}},"minProperties":{},
             "additionalProperties":{{"type":["integer","string"]}},
             "not":{{"additionalProperties":{{"type":"integer"}}}}}})",
        least);
  };
  expect_language(schema(3), {R"({"a":"x","b":1,"c":1})", R"({"c":"x","a":"x","b":1})"},
                  {R"({"a":"x"})", R"({"a":"x","b":1})", R"({"a":1,"b":1,"c":1})"});
  EXPECT_TRUE(SchemaLanguage(schema(3)).begins(R"({"a":"x","b":1,"c")"));
  EXPECT_THAT(refusal(schema(4)), HasSubstr("no object has enough members"));
}

// Not only where a demand names them: here members of other names are never a text.
TEST(Counts, NamesThatADemandNeedsAreNotUsedUp) {
  const std::string schema =
      R"({"type":"object","patternProperties":{"^a$":{"type":["integer","string"]}},
          "additionalProperties":{"type":"integer"},
          "not":{"additionalProperties":false,"patternProperties":{"":{"type":"integer"}}}})";
  expect_language(schema, {R"({"a":"x"})", R"({"b":1,"a":"x"})", R"({"a":"x","b":1})"},
                  {"{}", R"({"a":1})", R"({"b":1})", R"({"b":"x"})"});
  EXPECT_FALSE(SchemaLanguage(schema).begins(R"({"a":1)"));
}

}  // namespace
}  // namespace windrow::grammar
