// docs/structured.md says what becomes of every keyword; this holds it to the table in the code,
// and the table to what grammars do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "grammar/schema/keywords.h"
#include "grammar/schema/testing/schema_language.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;
using testing::SchemaLanguage;
using Names = std::set<std::string>;

std::string document() {
  std::ifstream file(WINDROW_SOURCE_DIR "/docs/structured.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The names in the first column of a table.
Names in_document(const std::string& table) {
  const std::string text = document();
  const std::string mark = "<!-- keywords: " + table + " -->\n";
  const size_t begin = text.find(mark);
  const size_t end = text.find("<!-- keywords: end -->", begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  std::istringstream lines(text.substr(begin + mark.size(), end - begin - mark.size()));
  Names names;
  for (std::string line; std::getline(lines, line);) {
    const std::string column = line.substr(0, line.find('|', 1));
    for (size_t at = column.find('`'); at != std::string::npos; at = column.find('`', at + 1)) {
      const size_t close = column.find('`', at + 1);
      names.insert(column.substr(at + 1, close - at - 1));
      at = close;
    }
  }
  return names;
}

Names in_code(KeywordUse use) {
  Names names;
  for (const Keyword& keyword : keywords()) {
    if (keyword.use == use) names.emplace(keyword.name);
  }
  return names;
}

TEST(StructuredDocument, ListsEveryKeywordAsTheCodeHasIt) {
  EXPECT_EQ(in_document("enforced"), in_code(KeywordUse::kEnforced));
  EXPECT_EQ(in_document("ignored"), in_code(KeywordUse::kIgnored));
}

// With the keyword `in` is a text of the schema and `out` is none. Without it that is not so.
struct Enforced {
  std::string keyword;
  std::string schema;
  std::string in;
  std::string out;
};
const std::vector<Enforced> kEnforced = {
    {"$ref", R"({"$ref":"#/$defs/a","$defs":{"a":{"type":"null"}}})", "null", "1"},
    {"$dynamicRef", R"({"$dynamicRef":"#a","$defs":{"a":{"$dynamicAnchor":"a","type":"null"}}})",
     "null", "1"},
    {"$recursiveRef", R"({"type":["array","null"],"items":{"$recursiveRef":"#"}})", "[null]",
     "[1]"},
    {"additionalItems", R"({"items":[true],"additionalItems":{"type":"null"}})", "[1,null]",
     "[1,1]"},
    {"additionalProperties", R"({"additionalProperties":{"type":"null"}})", R"({"a":null})",
     R"({"a":1})"},
    {"allOf", R"({"allOf":[{"type":"integer"},{"minimum":3}]})", "3", "2"},
    {"anyOf", R"({"anyOf":[{"type":"integer"},{"type":"null"}]})", "3", "true"},
    {"const", R"({"const":3})", "3", "4"},
    {"contains", R"({"contains":{"type":"null"}})", "[1,null]", "[1]"},
    {"dependencies", R"({"dependencies":{"a":["b"]}})", R"({"b":1,"a":1})", R"({"a":1})"},
    {"dependentRequired", R"({"dependentRequired":{"a":["b"]}})", R"({"b":1,"a":1})", R"({"a":1})"},
    {"dependentSchemas", R"({"dependentSchemas":{"a":{"required":["b"]}}})", R"({"a":1,"b":1})",
     R"({"a":1})"},
    {"else", R"({"if":{"type":"null"},"else":{"type":"integer"}})", "1", "true"},
    {"enum", R"({"enum":[3,"a"]})", "3", "4"},
    {"exclusiveMaximum", R"({"exclusiveMaximum":3})", "2", "3"},
    {"exclusiveMinimum", R"({"exclusiveMinimum":3})", "4", "3"},
    {"format", R"({"format":"date"})", R"("2024-02-29")", R"("2023-02-29")"},
    {"if", R"({"if":{"type":"string"},"then":{"maxLength":1}})", R"("a")", R"("ab")"},
    {"items", R"({"items":{"type":"null"}})", "[null]", "[1]"},
    {"maxContains", R"({"contains":{"type":"null"},"maxContains":1})", "[1,null]", "[null,null]"},
    {"maxItems", R"({"maxItems":1})", "[1]", "[1,1]"},
    {"maxLength", R"({"maxLength":1})", R"("a")", R"("ab")"},
    {"maxProperties", R"({"maxProperties":1})", R"({"a":1})", R"({"a":1,"b":1})"},
    {"maximum", R"({"maximum":3})", "3", "4"},
    {"minContains", R"({"contains":{"type":"null"},"minContains":2})", "[null,null]", "[null]"},
    {"minItems", R"({"minItems":1})", "[1]", "[]"},
    {"minLength", R"({"minLength":1})", R"("a")", R"("")"},
    {"minProperties", R"({"minProperties":2})", R"({"a":1,"b":1})", R"({"a":1})"},
    {"minimum", R"({"minimum":3})", "3", "2"},
    {"multipleOf", R"({"multipleOf":3})", "6", "7"},
    {"not", R"({"not":{"type":"null"}})", "1", "null"},
    {"nullable", R"({"type":"integer","nullable":true})", "null", "true"},
    {"oneOf", R"({"oneOf":[{"type":"integer"},{"type":"null"}]})", "3", "true"},
    {"pattern", R"({"pattern":"a"})", R"("bab")", R"("b")"},
    {"patternProperties", R"({"patternProperties":{"a":{"type":"null"}}})", R"({"a":null})",
     R"({"a":1})"},
    {"prefixItems", R"({"prefixItems":[{"type":"null"}]})", "[null]", "[1]"},
    {"properties", R"({"properties":{"a":{"type":"null"}}})", R"({"a":null})", R"({"a":1})"},
    {"propertyNames", R"({"propertyNames":{"maxLength":1}})", R"({"a":1})", R"({"ab":1})"},
    {"required", R"({"required":["a"]})", R"({"a":1})", "{}"},
    {"then", R"({"if":{"type":"string"},"then":{"maxLength":1}})", R"("a")", R"("ab")"},
    {"type", R"({"type":"integer"})", "1", "true"},
    {"unevaluatedItems", R"({"prefixItems":[true],"unevaluatedItems":{"type":"null"}})", "[1,null]",
     "[1,1]"},
    {"unevaluatedProperties",
     R"({"properties":{"a":true},"unevaluatedProperties":{"type":"null"}})", R"({"a":1,"b":null})",
     R"({"a":1,"b":1})"},
    {"uniqueItems", R"({"items":{"type":"integer"},"uniqueItems":true})", "[1,2]", "[1,1]"},
};

TEST(StructuredDocument, WhatIsEnforcedMakesADifference) {
  Names tried;
  for (const Enforced& row : kEnforced) {
    SCOPED_TRACE(row.schema);
    tried.insert(row.keyword);
    const SchemaLanguage with(row.schema);
    ASSERT_TRUE(with.made()) << with.error();
    EXPECT_TRUE(with.has(row.in)) << row.in;
    EXPECT_FALSE(with.has(row.out)) << row.out;
    json::value bare = json::parse(row.schema);
    bare.as_object().erase(row.keyword);
    if (json::value* items = bare.as_object().if_contains("items"); items && items->is_object())
      items->get_object().erase(row.keyword);
    const SchemaLanguage without(bare, {});
    ASSERT_TRUE(without.made()) << without.error();
    EXPECT_FALSE(without.has(row.in) && !without.has(row.out)) << bare;
  }
  EXPECT_EQ(tried, in_document("enforced"));
}

TEST(StructuredDocument, WhatIsIgnoredMakesNone) {
  Names names = in_document("ignored");
  names.insert("x-anything");
  ASSERT_GT(names.size(), 15U);
  for (const std::string& name : names) {
    json::object schema{{"type", "string"}};
    schema[name] = json::object{{"type", "null"}, {"minLength", 2}};
    const SchemaLanguage language(schema, {});
    ASSERT_TRUE(language.made()) << name << ": " << language.error();
    EXPECT_TRUE(language.has(R"("a")")) << name;
    EXPECT_FALSE(language.has("null")) << name;
  }
}

TEST(StructuredDocument, WhatIsRefusedIsNamedWithItsPlace) {
  for (const auto& [name, schema] : std::initializer_list<std::pair<const char*, const char*>>{
           {"minContains",
            R"({"$schema":"http://json-schema.org/draft-07/schema#","contains":true,
               "minContains":2})"},
           {"unevaluatedItems",
            R"({"anyOf":[{"prefixItems":[true]},true],"unevaluatedItems":false})"},
           {"unevaluatedItems", R"({"contains":{"type":"null"},"unevaluatedItems":false})"},
           {"unevaluatedProperties",
            R"({"if":{"properties":{"a":true}},"unevaluatedProperties":false})"},
           {"unevaluatedProperties",
            R"({"dependentSchemas":{"a":{"additionalProperties":true}},
                "unevaluatedProperties":{"type":"null"}})"},
           {"$dynamicRef", R"({"$dynamicRef":"x#a","$defs":{"x":{"$id":"x","$dynamicAnchor":"a"},
                               "y":{"$id":"y","$dynamicAnchor":"a"}}})"},
           {"$recursiveRef", R"({"$recursiveRef":"#/a"})"}}) {
    SCOPED_TRACE(schema);
    const SchemaLanguage language{std::string_view(schema)};
    EXPECT_FALSE(language.made());
    EXPECT_TRUE(language.error().starts_with(std::string("at #/") + name + ": "))
        << language.error();
  }
}

TEST(StructuredDocument, WhatDemandsNothingHasNoEffect) {
  for (const char* schema :
       {R"({"not":false})", R"({"uniqueItems":false})", R"({"uniqueItems":true,"maxItems":1})",
        R"({"minProperties":0})", R"({"if":{"type":"null"}})", R"({"then":false})",
        R"({"minContains":2})", R"({"propertyNames":true})", R"({"dependentRequired":{"a":[]}})",
        R"({"dependencies":{"a":true}})", R"({"contains":{"type":"null"},"minContains":0})",
        R"({"type":"object","uniqueItems":true,"contains":{"type":"null"}})",
        R"({"unevaluatedProperties":true})"}) {
    SCOPED_TRACE(schema);
    const SchemaLanguage language{std::string_view(schema)};
    ASSERT_TRUE(language.made()) << language.error();
    EXPECT_TRUE(language.has(R"({"a":[1,1]})"));
  }
}

TEST(StructuredDocument, ExamplesAreTrue) {
  const std::string text = document();
  std::vector<SchemaLanguage> languages;
  for (size_t at = text.find("```json\n"); at != std::string::npos;
       at = text.find("```json\n", at + 1)) {
    const size_t begin = at + 8;
    languages.emplace_back(text.substr(begin, text.find("```", begin) - begin));
    ASSERT_TRUE(languages.back().made()) << languages.back().error();
  }
  ASSERT_EQ(languages.size(), 3U);
  const auto both = [&](size_t example, const std::string& answer) {
    EXPECT_NE(text.find("`" + answer + "`"), std::string::npos) << answer << " is not in the text";
    return languages[example].has(answer);
  };
  EXPECT_TRUE(both(0, R"({"name":"Ada","age":null,"role":"admin","born":"1815-12-10"})"));
  EXPECT_TRUE(both(0, R"({"name":"Ada","role":"user"})"));
  EXPECT_FALSE(both(0, R"({"role":"user","name":"Ada"})"));
  EXPECT_FALSE(both(0, R"({"name":"Ada","role":"user","id":1})"));
  EXPECT_TRUE(both(1, R"({"value":1,"children":[{"value":2},{"value":3,"children":[]}]})"));
  EXPECT_TRUE(both(2, R"({"kind":"circle","radius":1.5})"));
  EXPECT_TRUE(both(2, R"({"kind":"square","side":2})"));
}

}  // namespace
}  // namespace windrow::grammar
