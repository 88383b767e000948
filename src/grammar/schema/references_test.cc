#include "grammar/schema/references.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace windrow::grammar {
namespace {

TEST(ResolveUri, FollowsRfc3986) {
  const std::string base = "http://a/b/c/d;p?q";
  for (const auto& [reference, expected] :
       std::initializer_list<std::pair<const char*, const char*>>{{"g:h", "g:h"},
                                                                  {"g", "http://a/b/c/g"},
                                                                  {"./g", "http://a/b/c/g"},
                                                                  {"g/", "http://a/b/c/g/"},
                                                                  {"/g", "http://a/g"},
                                                                  {"//g", "http://g"},
                                                                  {"..", "http://a/b/"},
                                                                  {"../g", "http://a/b/g"},
                                                                  {"../../g", "http://a/g"},
                                                                  {"../../../g", "http://a/g"},
                                                                  {".", "http://a/b/c/"},
                                                                  {"", "http://a/b/c/d;p?q"}}) {
    EXPECT_EQ(resolve_uri(base, reference), expected) << reference;
  }
  EXPECT_EQ(resolve_uri("", "node.json"), "node.json");
  EXPECT_EQ(resolve_uri("http://host", "node"), "http://host/node");
}

class ReferencesTest : public ::testing::Test {
 protected:
  std::string pointer(std::string_view reference, References::Resource from = 0) const {
    const auto target = references_.find(reference, from);
    return target ? target->pointer : "error: " + target.error().message;
  }

  boost::json::value schema_ = boost::json::parse(R"({
    "$id": "http://host/root.json",
    "$defs": {
      "a/b": {"type": "string"}, "c~d": {}, "e%f": {}, "": {"": {}},
      "named": {"$anchor": "here"}, "old": {"$id": "#there"},
      "tree": {"$id": "tree.json", "$defs": {"leaf": {"$anchor": "here"}}}
    },
    "prefixItems": [true, {"title": "second"}],
    "enum": [{"$anchor": "value"}]
  })");
  References references_ = *References::collect(schema_);
};

TEST_F(ReferencesTest, FollowsPointers) {
  EXPECT_EQ(pointer("#"), "#");
  EXPECT_EQ(pointer("#/$defs/a~1b"), "#/$defs/a~1b");
  EXPECT_EQ(pointer("#/$defs/c~0d"), "#/$defs/c~0d");
  EXPECT_EQ(pointer("#/$defs/e%25f"), "#/$defs/e%f");
  EXPECT_EQ(pointer("#/%24defs/"), "#/$defs/");
  EXPECT_EQ(pointer("#/$defs//"), "#/$defs//");
  EXPECT_EQ(pointer("#/prefixItems/1"), "#/prefixItems/1");
}

TEST_F(ReferencesTest, KnowsAnchorsAndIdentifiers) {
  EXPECT_EQ(pointer("#here"), "#/$defs/named");
  EXPECT_EQ(pointer("#there"), "#/$defs/old");
  EXPECT_EQ(pointer("tree.json"), "#/$defs/tree");
  EXPECT_EQ(pointer("http://host/tree.json#/$defs/leaf"), "#/$defs/tree/$defs/leaf");
  EXPECT_EQ(pointer("tree.json#here"), "#/$defs/tree/$defs/leaf");
  EXPECT_EQ(pointer("/root.json#/prefixItems/0"), "#/prefixItems/0");
  const auto tree = references_.find("tree.json", 0);
  ASSERT_TRUE(tree);
  EXPECT_EQ(pointer("#/$defs/leaf", tree->resource), "#/$defs/tree/$defs/leaf");
  EXPECT_EQ(pointer("root.json", tree->resource), "#");
}

TEST_F(ReferencesTest, SaysWhatLeadsNowhere) {
  EXPECT_NE(pointer("#/$defs/none").find("there is no \"none\" at #/$defs"), std::string::npos);
  EXPECT_NE(pointer("#/prefixItems/2").find("no \"2\""), std::string::npos);
  EXPECT_NE(pointer("#/prefixItems/01x").find("no \"01x\""), std::string::npos);
  EXPECT_NE(pointer("#nobody").find("$anchor"), std::string::npos);
  EXPECT_NE(pointer("#value").find("$anchor"), std::string::npos);  // in an enum: a value
  EXPECT_NE(pointer("other.json").find("nothing is fetched"), std::string::npos);
  EXPECT_NE(pointer("http://json-schema.org/draft-07/schema#").find("nothing is fetched"),
            std::string::npos);
}

// The pointer of the target, or the error.
std::string dynamic_pointer(std::string_view schema, std::string_view keyword,
                            std::string_view reference, std::string_view from) {
  const boost::json::value root = boost::json::parse(schema);
  const auto references = References::collect(root);
  const auto place = references->find(from, 0);
  const auto target = references->find_dynamic(keyword, reference, place->resource);
  return target ? target->pointer : "error: " + target.error().message;
}

TEST(References, ADynamicReferenceIsFoundWhereOnlyOneSchemaCanBeMeant) {
  constexpr std::string_view kOne =
      R"({"$defs":{"x":{"$dynamicAnchor":"n"},"y":{"$id":"y","$anchor":"n"},
                   "z":{"$id":"z","$defs":{"m":{"$dynamicAnchor":"n"}}}}})";
  EXPECT_EQ(dynamic_pointer(kOne, "$dynamicRef", "#n", "#"), "#/$defs/x");
  EXPECT_EQ(dynamic_pointer(kOne, "$dynamicRef", "#n", "y"), "#/$defs/y");  // as a $ref
  EXPECT_EQ(dynamic_pointer(kOne, "$dynamicRef", "#/$defs/m", "z"), "#/$defs/z/$defs/m");
  EXPECT_EQ(dynamic_pointer(kOne, "$dynamicRef", "#n", "z"), "#/$defs/x");  // the root leads here
  constexpr std::string_view kTwo =
      R"({"$defs":{"y":{"$id":"y","$dynamicAnchor":"n"},"z":{"$id":"z","$dynamicAnchor":"n"}}})";
  const std::string error = dynamic_pointer(kTwo, "$dynamicRef", "#n", "y");
  EXPECT_NE(error.find("both have the $dynamicAnchor \"n\""), std::string::npos) << error;
  EXPECT_NE(dynamic_pointer(kTwo, "$dynamicRef", "#none", "#").find("error: "), std::string::npos);
}

TEST(References, ARecursiveReferenceIsFoundWhereOnlyOneSchemaCanBeMeant) {
  const auto found = [](std::string_view root, std::string_view y, std::string_view z) {
    return dynamic_pointer(R"({"$recursiveAnchor":)" + std::string(root) +
                               R"(,"$defs":{"y":{"$id":"y","$recursiveAnchor":)" + std::string(y) +
                               R"(},"z":{"$id":"z","$recursiveAnchor":)" + std::string(z) + "}}}",
                           "$recursiveRef", "#", "y");
  };
  EXPECT_EQ(found("false", "false", "true"), "#/$defs/y");
  EXPECT_EQ(found("false", "true", "false"), "#/$defs/y");
  EXPECT_EQ(found("true", "true", "true"), "#");
  EXPECT_NE(found("false", "true", "true").find("depends on what leads here"), std::string::npos);
}

TEST(References, NamesAreThoseOfSchemasOnly) {
  const boost::json::value schema = boost::json::parse(R"({
    "$defs": {"x": {"$anchor": "A", "type": "integer"}},
    "properties": {"a": {"const": {"$anchor": "A"}, "default": {"$anchor": "B"},
                         "x-note": {"$anchor": "A"}, "unknown": [{"$anchor": "B"}]},
                   "const": {"$anchor": "C"}},
    "parts": {"y": {"$anchor": "D"}}})");
  const auto references = References::collect(schema);
  ASSERT_TRUE(references);
  const auto pointer = [&](std::string_view reference) {
    const auto target = references->find(reference, 0);
    return target ? target->pointer : "";
  };
  EXPECT_EQ(pointer("#A"), "#/$defs/x");
  EXPECT_EQ(pointer("#B"), "");
  EXPECT_EQ(pointer("#C"), "#/properties/const");  // a property of that name
  EXPECT_EQ(pointer("#D"), "");
}

TEST(References, TwoOfOneNameAreRefused) {
  for (const char* text : {R"({"$defs": {"x": {"$anchor": "A"}, "y": {"$anchor": "A"}}})",
                           R"({"$defs": {"x": {"$id": "http://e/x"}, "y": {"$id": "http://e/x"}}})",
                           R"({"$id": "http://e/x", "$defs": {"y": {"$id": "x"}}})"}) {
    const boost::json::value schema = boost::json::parse(text);
    const auto references = References::collect(schema);
    ASSERT_FALSE(references) << text;
    EXPECT_NE(references.error().message.find("give each its own"), std::string::npos) << text;
  }
}

TEST(References, ContainersAreWhatTheReferencesOfSchemasLeadThrough) {
  const boost::json::value schema = boost::json::parse(R"({
    "$ref": "#/parts/one", "const": {"$ref": "#/values/one"},
    "parts": {"one": {"items": {"$ref": "#/others/two"}}}, "others": {"two": {}},
    "values": {"one": {}}})");
  const auto references = References::collect(schema);
  ASSERT_TRUE(references);
  EXPECT_TRUE(references->leads_into("parts"));
  EXPECT_TRUE(references->leads_into("others"));
  EXPECT_FALSE(references->leads_into("values"));
}

}  // namespace
}  // namespace windrow::grammar
