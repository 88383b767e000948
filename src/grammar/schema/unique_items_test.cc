// Items of a uniqueItems that must be there although others may use their values up: no text leads
// to where none is left. What cannot be kept clear of that is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammar/schema/schema_grammar.h"
#include "grammar/schema/testing/schema_language.h"
#include "grammar/schema/testing/walk.h"

namespace windrow::grammar {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::SchemaLanguage;
using testing::Walk;

std::string refusal(const std::string& schema) {
  const SchemaLanguage language(schema);
  return language.made() ? "no error" : language.error();
}

std::string unique(const std::string& rules) {
  return R"({"type":"array","uniqueItems":true,)" + rules + "}";
}

// The schema is accepted, and no random text of it is stuck.
void expect_ends(const std::string& schema, int bytes_free = 200) {
  SCOPED_TRACE(schema);
  const SchemaLanguage language(schema);
  ASSERT_TRUE(language.made()) << language.error();
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const Walk walk = testing::random_walk(language.matcher(), random, bytes_free);
    ASSERT_NE(walk.end, Walk::End::kStuck) << walk.text;
  }
}

TEST(UniqueItems, PlacesWhoseFewValuesOthersMayUseUpAreRefused) {
  EXPECT_THAT(
      refusal(R"({"properties":{"a":)" +
              unique(R"("minItems":3,"prefixItems":[{"enum":[1,2,3]},{"enum":[1,2]},
                                {"enum":[1,2]}],"items":false)") +
              "}}"),
      AllOf(
          HasSubstr("at #/properties/a: uniqueItems with minItems 3: the item with index 2 must be "
                    "there and has only 2 values"),
          HasSubstr("leave uniqueItems out")));
  EXPECT_THAT(refusal(unique(R"("minItems":4,"prefixItems":[{"enum":[1,2,3,9]}],
                                "items":{"enum":[1,2,3]})")),
              HasSubstr("items from index 1 must be there and have only 3 values"));
}

TEST(UniqueItems, PlacesThatKeepAValueAreAccepted) {
  expect_ends(unique(R"("minItems":3,"prefixItems":[{"const":"a"},{"const":"b"},{"enum":["c"]}],
                        "items":false)"));
  expect_ends(unique(R"("minItems":3,"prefixItems":[{"enum":[1]},{"enum":[1,2]},{"enum":[1,2,3]}],
                        "items":false)"));
  expect_ends(unique(R"("minItems":1,"prefixItems":[{"enum":[1,2,3]},{"enum":[1,2]},
                        {"enum":[1,2]}],"items":false)"));
  expect_ends(unique(R"("minItems":3,"prefixItems":[{"enum":["x","y"]}],"items":{"enum":[1,2]})"));
  expect_ends(unique(R"("minItems":3,"items":{"enum":["a","b","c"]})"));
}

TEST(UniqueItems, CountsThatMayUseUpValuesOfEachOtherAreRefused) {
  EXPECT_THAT(refusal(unique(R"("minItems":3,"items":{"enum":["a","b","c","d"]},
                  "allOf":[{"contains":{"enum":["a","b"]},"minContains":0,"maxContains":1},
                           {"contains":{"enum":["b","c"]},"minContains":0,"maxContains":1}])")),
              AllOf(HasSubstr("at #: uniqueItems, together with contains"),
                    HasSubstr("leave uniqueItems out")));
  EXPECT_NE(refusal(unique(R"("minItems":3,"not":{"contains":{"enum":[1,2]},"minContains":2},
                              "items":{"enum":[1,2,3]})")),
            "no error");
  EXPECT_NE(refusal(unique(R"("contains":{"enum":[1,2]},"minContains":3)")), "no error");
  EXPECT_NE(refusal(unique(R"("prefixItems":[{"enum":[1,2]}],"items":{"enum":[1,2,3]},
                              "minItems":3,"contains":{"enum":[1,2]},"maxContains":1)")),
            "no error");
}

TEST(UniqueItems, CountsThatLeaveValuesAreAccepted) {
  expect_ends(unique(R"("items":{"type":"string"},"contains":{"const":"x"})"));
  expect_ends(unique(R"("items":{"enum":["a","b","c"]},"contains":{"const":"a"},"minItems":2)"));
  expect_ends(unique(R"("items":{"enum":[1,2,3,4]},"contains":{"enum":[1,2]},"minContains":2,
                        "maxItems":3)"));
  expect_ends(unique(R"("items":{"enum":[1,2,3,4]},"contains":{"enum":[1,2]},"maxContains":1,
                        "minItems":3)"));
  expect_ends(unique(R"("items":{"enum":[1,2,3,4,5]},"minItems":2,"allOf":[
      {"contains":{"const":1}},{"contains":{"enum":[1,2]},"maxContains":1}])"));
  expect_ends(unique(R"("prefixItems":[{"enum":[1,2]}],"items":{"enum":[1,2,3,4]},
                        "contains":{"minimum":3},"minContains":1,"maxContains":2)"));
}

TEST(UniqueItems, AreCountedAsFarAsMinItemsDemands) {
  EXPECT_THAT(refusal(unique(R"("minItems":1500,"items":{"type":"integer","minimum":0,
                                "maximum":1400})")),
              HasSubstr("only 1401 values"));
  EXPECT_THAT(refusal(unique(R"("contains":{"type":"integer","minimum":0,"maximum":1400},
                                "items":{"type":"integer","minimum":0},"minContains":1500)")),
              HasSubstr("used all of them up"));
  const SchemaLanguage language(
      unique(R"("minItems":1101,"items":{"type":"integer","minimum":0,"maximum":1100})"));
  ASSERT_TRUE(language.made()) << language.error();
  std::string text = "[0";
  for (int i = 1; i < 1100; ++i)
    text += fmt::format(",{}", i);
  EXPECT_FALSE(language.has(text + "]"));
  EXPECT_TRUE(language.has(text + ",1100]"));
  EXPECT_FALSE(language.begins(text + ",1100,"));
}

TEST(UniqueItems, NamesAreCountedAsFarAsMinPropertiesDemands) {
  std::string names;
  for (int i = 0; i < 1100; ++i)
    names += fmt::format(R"({}"n{}")", i == 0 ? "" : ",", i);
  const auto schema = [&](int min) {
    return fmt::format(R"({{"type":"object","propertyNames":{{"enum":[{}]}},"minProperties":{}}})",
                       names, min);
  };
  for (const PropertyOrder order : {PropertyOrder::kDefinition, PropertyOrder::kAny}) {
    const SchemaLanguage all(schema(1100), {.property_order = order});
    EXPECT_TRUE(all.made()) << all.error();
    const SchemaLanguage more(schema(1101), {.property_order = order});
    EXPECT_FALSE(more.made());
  }
}

TEST(UniqueItems, ErrorsSayHowManyValuesThereAre) {
  EXPECT_EQ(refusal(R"({"type":"object","properties":{"a":)" +
                    unique(R"("minItems":11,"items":{"type":"integer","minimum":0,"maximum":9})") +
                    R"(},"required":["a"]})"),
            "no value is valid under this schema: at #/properties/a: at least 11 items that differ "
            "are demanded, and there are only 10 values; make minItems smaller or allow more "
            "values");
  EXPECT_THAT(refusal(R"({"type":"object","propertyNames":{"enum":["a","b"]},"minProperties":3})"),
              AllOf(HasSubstr("at #: no object has enough members"),
                    HasSubstr("make minProperties smaller")));
  const std::string few_names =
      R"({"type":"object","properties":{"c":true},"propertyNames":{"enum":["a","b","c"]},
          "additionalProperties":{"type":"integer"},"minProperties":4})";
  const SchemaLanguage any(few_names, {.property_order = PropertyOrder::kAny});
  EXPECT_EQ(any.error(),
            "no value is valid under this schema: at #: at least 4 members are demanded, and there "
            "are only 3 names; make minProperties smaller, or allow more names in properties or "
            "propertyNames");
}

TEST(UniqueItems, StringsAreOfAsManyCharactersAsCanBeCompared) {
  const auto of_length = [](int max) {
    return unique(fmt::format(R"("items":{{"type":"string","maxLength":{}}})", max));
  };
  const SchemaLanguage language(of_length(5'000));
  ASSERT_TRUE(language.made()) << language.error();
  const std::string longest = std::string(5'000, 'x');
  EXPECT_TRUE(language.has(R"(["a",")" + longest + "\"]"));
  EXPECT_FALSE(language.begins(R"(["a",")" + longest + "x"));
  EXPECT_THAT(refusal(of_length(20'000)),
              AllOf(HasSubstr("at #/items: items of uniqueItems"), HasSubstr("make lengths"),
                    HasSubstr("leave uniqueItems out")));
}

// --- readings ------------------------------------------------------------------------------------

std::string any_of(const std::string& one, const std::string& other) {
  return fmt::format(R"({{"anyOf":[{},{}]}})", one, other);
}

TEST(UniqueItems, AlternativesThatCompareWithinAnItemAreRefused) {
  const std::string objects = unique(
      R"("items":{"type":"object","properties":{"a":{"type":"integer"}},
         "additionalProperties":false})");
  const std::string arrays = unique(R"("items":{"type":"array","items":{"type":"integer"}})");
  const std::string counted = R"({"type":"array","items":{"type":"object","minProperties":1}})";
  const std::string inner =
      R"({"type":"array","items":)" + unique(R"("items":{"type":"integer"})") + "}";
  EXPECT_THAT(refusal(any_of(objects, counted)),
              AllOf(HasSubstr("at #/anyOf/0/items: items of uniqueItems"),
                    HasSubstr("#/anyOf/1/items"), HasSubstr("leave out uniqueItems")));
  EXPECT_THAT(refusal(any_of(inner, arrays)), HasSubstr("compared by their texts as a whole"));
  EXPECT_THAT(refusal(any_of(unique(R"("items":{"enum":[[1],[2]]})"), inner)),
              HasSubstr("compared by their texts as a whole"));
  const std::string below = R"({"type":"object","properties":{"k":%},"required":["k"]})";
  const auto within = [&](const std::string& value) {
    std::string text = below;
    return text.replace(text.find('%'), 1, value);
  };
  EXPECT_THAT(refusal(any_of(within(objects), within(counted))),
              HasSubstr("compared by their texts as a whole"));
  EXPECT_THAT(refusal(R"({"type":"array","items":)" + any_of(objects, counted) + "}"),
              HasSubstr("compared by their texts as a whole"));
  EXPECT_THAT(refusal(R"({"type":"array","items":)" + inner + R"(,"contains":)" + arrays +
                      R"(,"minContains":1,"maxContains":2})"),
              ::testing::Not(HasSubstr("no error")));
}

TEST(UniqueItems, AlternativesThatAgreeAreAccepted) {
  const std::string objects = unique(
      R"("items":{"type":"object","properties":{"a":{"type":"integer"}},
         "additionalProperties":false})");
  const std::string arrays = unique(R"("items":{"type":"array","items":{"type":"integer"}})");
  const std::string counted = R"({"type":"array","items":{"type":"object","minProperties":1}})";
  const auto member = [](const char* name, const std::string& value) {
    return fmt::format(R"({{"type":"object","properties":{{"{}":{}}},"required":["{}"]}})", name,
                       value, name);
  };
  expect_ends(any_of(member("x", objects), member("y", counted)));
  expect_ends(any_of(objects, arrays));
  expect_ends(any_of(arrays, counted));
  expect_ends(any_of(objects, R"({"type":"object","minProperties":1})"));
  expect_ends(any_of(objects, R"({"type":"array","items":{"type":"object"}})"));
  expect_ends(R"({"type":"object","properties":{"x":)" + objects + R"(,"y":)" + counted + "}}");
}

TEST(UniqueItems, ThatMayBeAnythingAreRefusedAtTheirArray) {
  const std::string anything =
      "items of uniqueItems are compared by their texts, which cannot be done with items that are "
      "or hold values of any kind; give them a schema with the types that they may have, or leave "
      "uniqueItems out";
  const auto in_a = [](const std::string& schema) {
    return refusal(R"({"type":"object","properties":{"a":)" + schema + "}}");
  };
  EXPECT_EQ(refusal(R"({"type":"array","uniqueItems":true})"), "at #: " + anything);
  EXPECT_EQ(in_a(R"({"type":"array","uniqueItems":true})"), "at #/properties/a: " + anything);
  for (const char* items : {"{}", "true", R"({"description":"a thing"})", R"({"minLength":2})"})
    EXPECT_THAT(in_a(unique(fmt::format(R"("items":{})", items))),
                AllOf(HasSubstr("at #/properties/a"), HasSubstr(anything)))
        << items;
  EXPECT_EQ(in_a(unique(R"("prefixItems":[{"type":"integer"}])")),
            "at #/properties/a: " + anything);
  EXPECT_EQ(in_a(unique(R"("items":{"type":"array"})")), "at #/properties/a/items: " + anything);
  EXPECT_EQ(in_a(unique(R"("items":{"type":"object","properties":{"b":true}})")),
            "at #/properties/a/items: " + anything);
  EXPECT_THAT(
      refusal(R"({"$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"}}},)"
              R"("type":"array","uniqueItems":true,"items":{"$ref":"#/$defs/n"}})"),
      AllOf(HasSubstr("at #/$defs/n"), HasSubstr("a schema that refers to itself; change")));
}

}  // namespace
}  // namespace windrow::grammar
