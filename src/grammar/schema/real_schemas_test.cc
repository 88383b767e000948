// Schemas as programs send them: the models of a knowledge graph builder as Pydantic writes them
// (nothing required but what has no default, additionalProperties absent), a schema in the style of
// OpenAPI, and ones that are large or deep.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <vector>

#include "grammar/schema/testing/schema_language.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using testing::SchemaLanguage;

struct Model {
  std::string schema;
  std::vector<std::string> answers;
  std::vector<std::string> wrong;
};

std::string field(const std::string& name, const std::string& schema) {
  return fmt::format(R"("{}":{{"title":"{}","description":"what it is",{}}})", name, name, schema);
}
const std::string kText = R"("type":"string")";
const std::string kInteger = R"("type":"integer")";
const std::string kIntegers = R"("type":"array","items":{"type":"integer"})";
const std::string kDate = R"("anyOf":[{"type":"string"},{"type":"null"}],"default":null)";

std::string object(const std::string& fields, const std::string& required) {
  return fmt::format(R"({{"type":"object","title":"T","properties":{{{}}},"required":[{}]}})",
                     fields, required);
}

// {NAME: [Item]}, the item in $defs.
std::string list_of(const std::string& name, const std::string& item) {
  return fmt::format(R"({{"$defs":{{"Item":{}}},"type":"object","title":"T","properties":{{"{}":{{
                     "type":"array","items":{{"$ref":"#/$defs/Item"}}}}}},"required":["{}"]}})",
                     item, name, name);
}

const std::string kEntity =
    object(field("name", kText) + "," + field("entity_type_id", kInteger) + "," +
               field("episode_indices", kIntegers + R"(,"default":[0])"),
           R"("name","entity_type_id")");
const std::string kEdge =
    object(field("source_entity_name", kText) + "," + field("target_entity_name", kText) + "," +
               field("relation_type", kText) + "," + field("fact", kText) + "," +
               field("valid_at", kDate) + "," + field("invalid_at", kDate) + "," +
               field("episode_indices", kIntegers),
           R"("source_entity_name","target_entity_name","relation_type","fact")");

std::vector<Model> models() {
  return {
      {list_of("extracted_entities", kEntity),
       {R"({"extracted_entities":[]})",
        R"({"extracted_entities":[{"name":"Ada","entity_type_id":1},)"
        R"({"name":"B \"x\" ü","entity_type_id":-2,"episode_indices":[0,1]}]})"},
       {"{}", R"({"extracted_entities":[{"name":"Ada"}]})",
        R"({"extracted_entities":[{"name":"Ada","entity_type_id":1,"more":1}]})"}},
      {list_of("edges", kEdge),
       {R"({"edges":[{"source_entity_name":"a","target_entity_name":"b","relation_type":"KNOWS",)"
        R"("fact":"a knows b","valid_at":null,"invalid_at":"2024-01-01","episode_indices":[]}]})",
        R"({"edges":[{"source_entity_name":"a","target_entity_name":"b","relation_type":"R",)"
        R"("fact":"f"}]})"},
       {R"({"edges":[{"source_entity_name":"a","fact":"f"}]})", R"({"edges":[{}]})"}},
      {list_of("entity_resolutions", object(field("id", kInteger) + "," + field("name", kText) +
                                                "," + field("duplicate_candidate_id", kInteger),
                                            R"("id","name","duplicate_candidate_id")")),
       {R"({"entity_resolutions":[{"id":0,"name":"a","duplicate_candidate_id":-1}]})"},
       {R"({"entity_resolutions":[{"id":0,"name":"a","duplicate_candidate_id":1.5}]})"}},
      {object(field("duplicate_facts", kIntegers) + "," + field("contradicted_facts", kIntegers),
              R"("duplicate_facts","contradicted_facts")"),
       {R"({"duplicate_facts":[],"contradicted_facts":[3,4]})"},
       {R"({"contradicted_facts":[3,4]})"}},
      {object(field("valid_at", kDate) + "," + field("invalid_at", kDate), ""),
       {"{}", R"({"valid_at":null})", R"({"invalid_at":"x"})"},
       {R"({"valid_at":1})"}},
      {list_of("summaries",
               object(field("name", kText) + "," + field("summary", kText), R"("name","summary")")),
       {R"({"summaries":[{"name":"a","summary":"b\\c"}]})"},
       {R"({"summaries":{}})"}},
      {object(field("summary", kText), R"("summary")"), {R"({"summary":""})"}, {"{}"}},
      {list_of("timestamps",
               object(field("valid_at", kDate) + "," + field("invalid_at", kDate), "")),
       {R"({"timestamps":[{},{"valid_at":"now"}]})"},
       {R"({"timestamps":[null]})"}},
      {fmt::format(R"({{"$defs":{{"E":{},"F":{}}},"type":"object","properties":{{
                   "extracted_entities":{{"type":"array","items":{{"$ref":"#/$defs/E"}}}},
                   "edges":{{"type":"array","items":{{"$ref":"#/$defs/F"}}}}}},
                   "required":["extracted_entities","edges"]}})",
                   kEntity, kEdge),
       {R"({"extracted_entities":[{"name":"a","entity_type_id":1}],"edges":[]})"},
       {R"({"extracted_entities":[]})"}},
  };
}

TEST(RealSchemas, ModelsOfAKnowledgeGraphAreEnforced) {
  for (const Model& model : models()) {
    SCOPED_TRACE(model.schema);
    const SchemaLanguage language(model.schema);
    ASSERT_TRUE(language.made()) << language.error();
    for (const std::string& text : model.answers)
      EXPECT_TRUE(language.has(text)) << text;
    for (const std::string& text : model.wrong)
      EXPECT_FALSE(language.has(text)) << text;
  }
}

TEST(RealSchemas, ComponentsOfOpenApiAreFollowed) {
  const SchemaLanguage language(R"({"$ref":"#/components/schemas/Pet","components":{"schemas":{
      "Pet":{"type":"object","required":["kind"],"properties":{"kind":{"type":"string"},
      "owner":{"$ref":"#/components/schemas/Person"}},"discriminator":{"propertyName":"kind"},
      "x-internal":true},
      "Person":{"type":"object","properties":{"name":{"type":"string","nullable":true,
      "example":"Ada"}},"externalDocs":{"url":"u"}}}}})");
  ASSERT_TRUE(language.made()) << language.error();
  EXPECT_TRUE(language.has(R"({"kind":"cat","owner":{"name":null}})"));
  EXPECT_FALSE(language.has(R"({"kind":"cat","owner":{"name":1}})"));
}

TEST(RealSchemas, ManyDefinitionsThatReferToEachOther) {
  // Each refers to the next two, so that the first path through them is as long as there are.
  constexpr int kCount = 1'500;
  json::object definitions;
  for (int i = 0; i < kCount; ++i) {
    const auto ref = [](int to) {
      return json::object{{"$ref", fmt::format("#/$defs/d{}", to % kCount)}};
    };
    definitions[fmt::format("d{}", i)] =
        json::object{{"type", "object"},
                     {"properties", {{"n", {{"const", i}}}, {"a", ref(i + 1)}, {"b", ref(i + 2)}}},
                     {"required", {"n"}}};
  }
  const SchemaLanguage language(
      json::object{{"$ref", "#/$defs/d0"}, {"$defs", std::move(definitions)}}, {});
  ASSERT_TRUE(language.made()) << language.error();
  EXPECT_TRUE(language.has(R"({"n":0,"a":{"n":1,"b":{"n":3}},"b":{"n":2}})"));
  EXPECT_FALSE(language.has(R"({"n":0,"a":{"n":2}})"));
  std::string deep;
  for (int i = 0; i <= kCount; ++i)
    deep += fmt::format("{{\"n\":{},\"a\":", i % kCount);
  EXPECT_TRUE(language.begins(deep));
}

TEST(RealSchemas, ManyRequiredPartsWithinEachOtherAreRefused) {
  json::object definitions;
  for (int i = 0; i < 600; ++i) {
    definitions[fmt::format("d{}", i)] =
        json::object{{"type", "object"},
                     {"properties", {{"a", {{"$ref", fmt::format("#/$defs/d{}", i + 1)}}}}},
                     {"required", {"a"}}};
  }
  definitions["d600"] = json::object{{"type", "null"}};
  const SchemaLanguage language(
      json::object{{"$ref", "#/$defs/d0"}, {"$defs", std::move(definitions)}}, {});
  EXPECT_THAT(language.error(), HasSubstr("more than 400 parts that must be there"));
}

TEST(RealSchemas, CombinationsBeyondTheLimitAreRefused) {
  json::array all;
  for (int i = 0; i < 40; ++i) {
    const std::string name = fmt::format("m{}", i);
    const json::object declares{{"properties", {{name, {{"type", "null"}}}}}};
    const json::array branches{json::object{{"required", json::array{json::string(name)}}},
                               declares};
    all.emplace_back(json::object{{"anyOf", branches}});
  }
  const SchemaLanguage language(json::object{{"type", "object"}, {"allOf", std::move(all)}}, {});
  EXPECT_THAT(language.error(), HasSubstr("more combinations here than are handled"));
}

TEST(RealSchemas, TheSpellingsOf2020AreKnown) {
  const SchemaLanguage language(R"({"$schema":"https://json-schema.org/draft/2020-12/schema",
      "$id":"https://example.com/order","$defs":{"positive":{"$anchor":"pos","type":"integer",
      "exclusiveMinimum":0},"line":{"$id":"line","type":"array","prefixItems":[{"type":"string"},
      {"$ref":"order#pos"}],"items":false,"minItems":2}},
      "type":"object","properties":{"total":{"$ref":"#pos","maximum":99},
      "lines":{"type":"array","items":{"$ref":"line"}}},"required":["total"]})");
  ASSERT_TRUE(language.made()) << language.error();
  EXPECT_TRUE(language.has(R"({"total":99,"lines":[["a",1]]})"));
  EXPECT_FALSE(language.has(R"({"total":100})"));
  EXPECT_FALSE(language.has(R"({"total":1,"lines":[["a",0]]})"));
  EXPECT_FALSE(language.has(R"({"total":1,"lines":[["a",1,2]]})"));
  EXPECT_FALSE(language.has(R"({"total":1,"lines":[["a"]]})"));
}

TEST(RealSchemas, LengthsBesideAFormatAreCounted) {
  EXPECT_TRUE(SchemaLanguage(R"({"type":"string","format":"uri","maxLength":100})").made());
  EXPECT_TRUE(SchemaLanguage(R"({"type":"string","format":"email","maxLength":254})").made());
  EXPECT_TRUE(SchemaLanguage(R"({"type":"string","format":"date","maxLength":2000})").made());
  EXPECT_TRUE(SchemaLanguage(R"({"type":"string","format":"uri","maxLength":9000})").made());
  EXPECT_TRUE(SchemaLanguage(R"({"type":"string","format":"uri","minLength":9000})").made());
  EXPECT_TRUE(SchemaLanguage(R"({"type":"string","format":"uri","maxLength":2147483647})").made());
}

}  // namespace
}  // namespace windrow::grammar
