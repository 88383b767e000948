// Names in a schema that are no keywords, formats that are not known, and the drafts that $schema
// names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/schema/keywords.h"
#include "grammar/schema/testing/schema_language.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SchemaLanguage;

std::vector<std::string> warnings_for(std::string_view schema) {
  std::vector<std::string> warnings;
  const SchemaLanguage language(
      schema, {.warn = [&](std::string warning) { warnings.push_back(std::move(warning)); }});
  EXPECT_TRUE(language.made()) << schema << ": " << language.error();
  return warnings;
}

std::string refusal(std::string_view schema, UnknownWords unknown = UnknownWords::kAnnotate) {
  return SchemaLanguage(schema, {.unknown = unknown}).error();
}

bool takes(std::string_view schema, std::string_view text) {
  const SchemaLanguage language(schema, {.open = true});
  EXPECT_TRUE(language.made()) << schema << ": " << language.error();
  return language.made() && language.has(text);
}

TEST(UnknownWords, NamesThatAreNoKeywordsHaveNoEffectAndAWarning) {
  constexpr std::string_view kSchema = R"({"type":"object","name":"length","_format":"iso",
    "properties":{"a/b":{"type":"integer","unit":{"type":"string"},"readonly":true}}})";
  EXPECT_THAT(warnings_for(kSchema),
              ElementsAre("at #/name: this is no keyword of JSON Schema, and has no effect",
                          "at #/_format: this is no keyword of JSON Schema, and has no effect",
                          HasSubstr("at #/properties/a~1b/unit: "),
                          HasSubstr("at #/properties/a~1b/readonly: ")));
  EXPECT_TRUE(takes(kSchema, R"({"a/b":1})"));
  EXPECT_FALSE(takes(kSchema, R"({"a/b":"1"})"));
  EXPECT_THAT(warnings_for(R"({"x-unit":"m","title":"t","type":"integer"})"), IsEmpty());
}

TEST(UnknownWords, AContainerOfReferencesIsNoCauseForAWarning) {
  EXPECT_THAT(warnings_for(R"({"$ref":"#/parts/a","parts":{"a":{"type":"null"}}})"), IsEmpty());
}

TEST(UnknownWords, AreRefusedWhereThatIsAskedFor) {
  EXPECT_THAT(refusal(R"({"items":{"unit":"m"}})", UnknownWords::kRefuse),
              HasSubstr("at #/items/unit: \"unit\" is no keyword that is known"));
  EXPECT_THAT(refusal(R"({"type":"string","format":"colour"})", UnknownWords::kRefuse),
              HasSubstr("at #/format: the format \"colour\" is not known"));
  EXPECT_THAT(refusal(R"({"type":"number","format":"int32"})", UnknownWords::kRefuse),
              HasSubstr("is one of integers"));
  EXPECT_THAT(refusal(R"({"$schema":"http://example.org/own"})", UnknownWords::kRefuse),
              HasSubstr("at #/$schema: this is no version of JSON Schema"));
}

// The keyword that a name is taken for; "": a name of another vocabulary.
std::string_view meant_by(std::string_view name, std::string_view value) {
  const Keyword* keyword = misspelt_keyword(name, json::parse(value));
  return keyword == nullptr ? "" : keyword->name;
}

TEST(MisspeltKeyword, IsFoundByItsLettersAndItsValue) {
  struct Typo {
    std::string_view name;
    std::string_view value;
    std::string_view meant;
  };
  constexpr Typo kTypos[] = {
      {"additonalProperties", "false", "additionalProperties"},
      {"additinalProperties", "false", "additionalProperties"},
      {"additionalproperties", "false", "additionalProperties"},
      {"additional_properties", "false", "additionalProperties"},
      {"minLenght", "3", "minLength"},
      {"minLegth", "3", "minLength"},
      {"maxlength", "3", "maxLength"},
      {"max_items", "3", "maxItems"},
      {"minimum:", "3", "minimum"},
      {"exclusiveMinimumm", "true", "exclusiveMinimum"},
      {"require", R"(["a"])", "required"},
      {"Required", R"(["a"])", "required"},
      {"required:", R"(["a"])", "required"},
      {"item", R"({"type":"string"})", "items"},
      {"itens", R"({"type":"string"})", "items"},
      {"propertis", R"({"a":{}})", "properties"},
      {"anyof", "[{}]", "anyOf"},
      {"OneOf", "[{}]", "oneOf"},
      {"type:", R"("string")", "type"},
      {"tpye", R"("string")", "type"},
      {"Type", R"(["string","null"])", "type"},
      {"enmu", R"(["a","b"])", "enum"},
      {"ref", R"("#/$defs/a")", "$ref"},
      {"formate", R"("date")", "format"},
      {"patern", R"("^a")", "pattern"},
      {"nto", "{}", "not"},
      {"Not", "{}", "not"},
      {"uniqueItem", "true", "uniqueItems"},
  };
  for (const Typo& typo : kTypos) {
    EXPECT_EQ(meant_by(typo.name, typo.value), typo.meant) << typo.name;
    json::object schema;
    schema[typo.name] = json::parse(typo.value);
    const SchemaLanguage language(json::object{{"properties", {{"p", schema}}}}, {});
    EXPECT_THAT(language.error(), HasSubstr(std::string(typo.meant))) << typo.name;
    EXPECT_THAT(language.error(), HasSubstr("at #/properties/p/")) << typo.name;
  }
}

TEST(MisspeltKeyword, WordsOfOtherVocabulariesAreNone) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"id", R"("http://example.org/a")"},
      {"name", R"("a")"},
      {"self", R"({"vendor":"a"})"},
      {"readonly", "true"},
      {"decription", R"("a")"},  // as little a constraint as the word that is meant
      {"Title", R"("a")"},
      {"note", R"("a")"},
      {"note", R"({"a":1})"},
      {"when", R"({"a":1})"},
      {"item", R"("a word")"},
      {"types", R"(["Person","Place"])"},
      {"ref", R"("User")"},
      {"min", "3"},
      {"max", "3"},
      {"multiple", "true"},
      {"unique", "true"},
      {"form", R"({"a":1})"},
      {"constant", R"("a")"},
      {"inclusiveMinimum", "3"},
      {"_format", R"("date")"},
      {"_uniqueItems", "true"},
      {"//pattern", R"("^a$")"},
      {"@type", R"("string")"},
      {"links", R"([{"rel":"self"}])"},
      {"version", R"("1.0")"},
      {"options", "{}"},
      {"definition", R"("a")"},
      {"requiredProperties", R"(["a"])"},
      {"", "{}"},
  };
  for (const auto& [name, value] : kWords)
    EXPECT_EQ(meant_by(name, value), "") << name << ": " << value;
}

TEST(UnknownWords, FormatsThatAreNotKnownHaveNoEffectAndAWarning) {
  constexpr std::string_view kSchema = R"({"properties":{"a":{"type":"string","format":"topic"}}})";
  EXPECT_THAT(
      warnings_for(kSchema),
      ElementsAre("at #/properties/a/format: the format \"topic\" is not known, and has no effect; "
                  "say with pattern what it means"));
  EXPECT_TRUE(takes(kSchema, R"({"a":"anything at all"})"));
  EXPECT_THAT(warnings_for(R"({"type":"number","format":"int32"})"),
              ElementsAre(HasSubstr("write \"type\": \"integer\" beside it")));
  EXPECT_TRUE(takes(R"({"type":"number","format":"int32"})", "1.5"));
  EXPECT_THAT(warnings_for(R"({"type":"string","format":"int64"})"), ::testing::SizeIs(1));
}

TEST(UnknownWords, FormatsThatDemandNothingPassInSilence) {
  for (const char* schema :
       {R"({"type":"number","format":"utc-millisec"})", R"({"type":"array","format":"table"})",
        R"({"type":["integer","null"],"format":"timestamp"})",
        R"({"type":"number","format":"double"})", R"({"type":"string","format":"password"})",
        R"({"type":"string","format":"nanoid","pattern":"^[a-zA-Z0-9_-]{21}$"})",
        R"({"type":"string","format":"ulid","pattern":"^[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{26}$"})"}) {
    EXPECT_THAT(warnings_for(schema), IsEmpty()) << schema;
    EXPECT_EQ(refusal(schema, UnknownWords::kRefuse), "") << schema;
  }
  EXPECT_THAT(warnings_for(R"({"type":"string","format":"ulid","pattern":"[0-9A-Z]"})"),
              ::testing::SizeIs(1));
}

TEST(UnknownWords, NamesOfPropertiesAreTexts) {
  for (const char* names : {R"({"type":"string"})", R"({"type":"string","title":"a key"})", "{}"}) {
    const std::string schema =
        std::string(R"({"type":"object","additionalProperties":{"type":"integer"},)") +
        R"("propertyNames":)" + names + "}";
    EXPECT_TRUE(takes(schema, R"({"a":1,"b":2})")) << schema;
  }
  EXPECT_TRUE(takes(R"({"type":"object","propertyNames":{"type":"integer"}})", "{}"));
  EXPECT_FALSE(takes(R"({"type":"object","propertyNames":{"type":"integer"}})", R"({"a":1})"));
}

TEST(UnknownWords, AKeywordAboutTypesThatAreNotAllowedIsNotRead) {
  for (const char* schema :
       {R"({"type":"string","dependencies":{"a":1},"minProperties":-1,"uniqueItems":3})",
        R"({"type":["string","integer"],"properties":{"a":{"maximun":3}},"contains":7})"}) {
    EXPECT_THAT(warnings_for(schema), IsEmpty()) << schema;
    EXPECT_TRUE(takes(schema, R"("a")")) << schema;
  }
}

// --- drafts ---

constexpr std::string_view kDraft04 = R"("$schema":"http://json-schema.org/draft-04/schema#",)";
constexpr std::string_view kDraft07 = R"("$schema":"http://json-schema.org/draft-07/schema#",)";

std::string in(std::string_view draft, std::string_view rest) {
  return "{" + std::string(draft) + std::string(rest);
}

TEST(Drafts, InDraft04AnIdNamesASchema) {
  const std::string schema = in(kDraft04, R"("id":"http://example.org/root.json",
    "properties":{"a":{"$ref":"parts.json#/definitions/x"},"b":{"$ref":"#named"}},
    "definitions":{"p":{"id":"parts.json","definitions":{"x":{"type":"integer"}}},
                   "n":{"id":"#named","type":"boolean"}}})");
  EXPECT_THAT(warnings_for(schema), IsEmpty());
  EXPECT_TRUE(takes(schema, R"({"a":1,"b":true})"));
  EXPECT_FALSE(takes(schema, R"({"a":true})"));
  EXPECT_FALSE(takes(schema, R"({"b":1})"));
  // Elsewhere it is a word like any other.
  EXPECT_THAT(warnings_for(in(kDraft07, R"("id":"http://example.org/root.json"})")),
              ElementsAre(HasSubstr("at #/id: ")));
}

TEST(Drafts, InDraft04OneIdMayStandTwiceWhereNothingRefersToIt) {
  EXPECT_THAT(warnings_for(in(kDraft04, R"("properties":{"a":{"id":"x"},"b":{"id":"x"}}})")),
              IsEmpty());
  EXPECT_THAT(
      refusal(in(kDraft04, R"("properties":{"a":{"id":"x"},"b":{"id":"x"},"c":{"$ref":"x"}}})")),
      HasSubstr("at #/properties/c/$ref: several parts of this schema have the name \"x\""));
}

TEST(Drafts, InDraft04ExclusiveBoundsAreSwitches) {
  const std::string both = in(kDraft04, R"("type":"integer","minimum":1,"exclusiveMinimum":true,
                      "maximum":4,"exclusiveMaximum":true})");
  for (const std::string_view text : {"2", "3"})
    EXPECT_TRUE(takes(both, text)) << text;
  for (const std::string_view text : {"1", "4"})
    EXPECT_FALSE(takes(both, text)) << text;
  EXPECT_TRUE(
      takes(in(kDraft04, R"("type":"integer","minimum":1,"exclusiveMinimum":false})"), "1"));
  EXPECT_TRUE(takes(in(kDraft04, R"("type":"integer","exclusiveMinimum":true})"), "-5"));
  EXPECT_THAT(refusal(in(kDraft07, R"("minimum":1,"exclusiveMinimum":true})")),
              HasSubstr("at #/exclusiveMinimum: exclusiveMinimum is a number"));
  EXPECT_THAT(refusal(R"({"maximum":1,"exclusiveMaximum":true})"), HasSubstr("draft 04"));
}

TEST(Drafts, UpToDraft07NothingCountsBesideARef) {
  constexpr std::string_view kRest = R"("properties":{"a":{"$ref":"#/definitions/x","maxLength":2}},
    "definitions":{"x":{"type":"string"}}})";
  EXPECT_THAT(warnings_for(in(kDraft07, kRest)),
              ElementsAre(HasSubstr("at #/properties/a/maxLength: beside $ref it has no effect")));
  EXPECT_TRUE(takes(in(kDraft07, kRest), R"({"a":"longer"})"));
  EXPECT_FALSE(takes(in("", kRest), R"({"a":"longer"})"));
}

TEST(Drafts, BoundsOfContainsAreOfDraft2019) {
  constexpr std::string_view kRest = R"("contains":{"type":"null"},"minContains":2})";
  EXPECT_THAT(refusal(in(kDraft07, kRest)),
              HasSubstr("at #/minContains: minContains came with draft 2019-09"));
  EXPECT_THAT(warnings_for(in("", kRest)), IsEmpty());
  EXPECT_THAT(warnings_for(in(kDraft07, R"("minContains":2})")), IsEmpty());
}

TEST(Drafts, AKeywordOfAnotherOneIsEnforcedUnlessThatWouldAllowMore) {
  EXPECT_FALSE(takes(in(kDraft04, R"("const":1})"), "2"));
  EXPECT_FALSE(takes(in(kDraft04, R"("if":{"const":1},"then":false})"), "1"));
  EXPECT_THAT(refusal(in(kDraft04, R"("not":{"const":1}})")),
              HasSubstr("at #/not/const: the draft of this schema does not have this keyword"));
  EXPECT_THAT(refusal(in(kDraft07, R"("if":{"items":{"prefixItems":[true]}},"then":false})")),
              HasSubstr("at #/if/items/prefixItems: "));
  EXPECT_THAT(refusal(R"({"oneOf":[{"$ref":"#/$defs/a"},true],
                          "$defs":{"a":{"dependencies":{"a":["b"]}}}})"),
              HasSubstr("at #/$defs/a/dependencies: "));
  EXPECT_THAT(warnings_for(in(kDraft07, R"("not":{"const":1}})")), IsEmpty());
}

TEST(Drafts, AVersionThatIsNotKnownIsReadAsTheNewest) {
  constexpr std::string_view kOwn = R"({"$schema":"http://example.org/own#","prefixItems":[true]})";
  EXPECT_THAT(warnings_for(kOwn),
              ElementsAre(HasSubstr("at #/$schema: this is no version of JSON Schema")));
  EXPECT_THAT(refusal(in(kDraft07, R"("prefixItems":[true],"items":{"type":"null"}})")),
              HasSubstr("at #/prefixItems: what items means beside it depends on the draft"));
}

}  // namespace
}  // namespace windrow::grammar
