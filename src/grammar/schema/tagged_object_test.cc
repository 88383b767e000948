#include "grammar/schema/tagged_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "grammar/matcher.h"
#include "grammar/schema/testing/schema_language.h"

namespace windrow::grammar {
namespace {

TaggedKind kind_of(std::string_view name) {
  if (name.starts_with("text")) return TaggedKind::kText;
  return name.starts_with("json") ? TaggedKind::kJson : TaggedKind::kEither;
}

class TaggedLanguage {
 public:
  explicit TaggedLanguage(std::string_view schema,
                          PropertyOrder order = PropertyOrder::kDefinition) {
    GrammarBuilder builder;
    Result<Part> part =
        tagged_object_part(builder, boost::json::parse(schema),
                           {.key_open = "<p=",
                            .key_close = ">\n",
                            .value_close = "\n</p>\n",
                            .end_mark = "</p>",
                            .kind_of = kind_of},
                           {.whitespace = Whitespace::kSpaced, .property_order = order});
    if (!part) {
      error_ = part.error().message;
      return;
    }
    auto grammar = builder.finish(*part);
    if (!grammar) {
      error_ = grammar.error().message;
      return;
    }
    grammar_ = std::make_shared<CompiledGrammar>(*std::move(grammar), testing::byte_vocabulary());
  }

  bool has(std::string_view text) const {
    Matcher matcher(grammar_);
    return matcher.accept_bytes(text) && matcher.can_end();
  }
  bool has_value(std::string_view name, std::string_view value) const {
    return has("<p=" + std::string(name) + ">\n" + std::string(value) + "\n</p>\n");
  }
  const std::string& error() const { return error_; }

 private:
  std::shared_ptr<CompiledGrammar> grammar_;
  std::string error_;
};

TEST(TaggedObject, MembersComeInOrderAndThoseThatMayBeLeftOut) {
  const TaggedLanguage language(
      R"({"type":"object","properties":{"text_a":{"type":"string"},"json_b":{"type":"integer"},
          "text_c":{"enum":["x","yy"]}},"required":["text_a"]})");
  ASSERT_EQ(language.error(), "");
  EXPECT_TRUE(language.has("<p=text_a>\nsome\n\"text\" <b> \xC3\xA4\n\n</p>\n"));
  EXPECT_TRUE(language.has("<p=text_a>\n\n</p>\n<p=json_b>\n-4\n</p>\n<p=text_c>\nyy\n</p>\n"));
  EXPECT_TRUE(language.has("<p=text_a>\n\n</p>\n<p=text_c>\nx\n</p>\n"));
  for (const char* other :
       {"", "<p=json_b>\n4\n</p>\n", "<p=json_b>\n4\n</p>\n<p=text_a>\na\n</p>\n",
        "<p=text_a>\na\n</p>\n<p=json_b>\n4.5\n</p>\n",
        "<p=text_a>\na\n</p>\n<p=text_c>\ny\n</p>\n", "<p=text_a>\na</p>b\n</p>\n",
        "<p=text_a>\na\n</p>\n<p=text_a>\na\n</p>\n", "<p=text_a>\n\xFF\n</p>\n",
        "<p=text_a>\na\n</p>\n<p=other>\n1\n</p>\n"})
    EXPECT_FALSE(language.has(other)) << other;
}

TEST(TaggedObject, MembersComeInAnyOrderWhereThatIsWanted) {
  const TaggedLanguage language(
      R"({"type":"object","properties":{"text_a":{"type":"string"},"json_b":{"type":"integer"}},
          "required":["text_a"],"additionalProperties":{"type":"boolean"}})",
      PropertyOrder::kAny);
  ASSERT_EQ(language.error(), "");
  EXPECT_TRUE(language.has("<p=text_a>\na\n</p>\n"));
  EXPECT_TRUE(language.has("<p=json_b>\n4\n</p>\n<p=text_a>\na\n</p>\n"));
  EXPECT_TRUE(language.has("<p=o>\ntrue\n</p>\n<p=text_a>\n\n</p>\n<p=json_b>\n4\n</p>\n"));
  for (const char* other :
       {"", "<p=json_b>\n4\n</p>\n", "<p=text_a>\na\n</p>\n<p=text_a>\na\n</p>\n",
        "<p=json_b>\n4\n</p>\n<p=text_a>\na\n</p>\n<p=json_b>\n4\n</p>\n"})
    EXPECT_FALSE(language.has(other)) << other;
}

TEST(TaggedObject, TextsFollowTheirRules) {
  const TaggedLanguage language(
      R"({"type":"object","properties":{
          "text_long":{"type":"string","minLength":2,"maxLength":3},
          "text_day":{"type":"string","format":"date"},
          "text_odd":{"type":"string","pattern":"^[<a-z/>]+$"}}})");
  ASSERT_EQ(language.error(), "");
  EXPECT_TRUE(language.has(""));
  EXPECT_TRUE(language.has_value("text_long", "\xC3\xA4\n"));
  EXPECT_FALSE(language.has_value("text_long", "a"));
  EXPECT_FALSE(language.has_value("text_long", "abcd"));
  EXPECT_TRUE(language.has_value("text_day", "2026-02-28"));
  EXPECT_FALSE(language.has_value("text_day", "2026-02-30"));
  EXPECT_TRUE(language.has_value("text_odd", "</q></p"));
  EXPECT_FALSE(language.has_value("text_odd", "a</p>b"));
}

TEST(TaggedObject, WhatIsNoTextIsJsonInWhichNothingEndsTheValue) {
  const TaggedLanguage language(
      R"({"type":"object","properties":{
          "json_list":{"type":"array","items":{"type":"string"}},
          "json_short":{"type":"array","items":{"type":"string","maxLength":5}},
          "json_flag":{"type":["boolean","null"]}}})");
  ASSERT_EQ(language.error(), "");
  EXPECT_TRUE(language.has_value("json_list", R"(["a", "<p> \" \n"])"));
  EXPECT_FALSE(language.has_value("json_list", R"(["a", "x</p>"])"));
  EXPECT_FALSE(language.has_value("json_list", "a"));
  EXPECT_TRUE(language.has_value("json_short", R"(["</p"])"));
  EXPECT_FALSE(language.has_value("json_short", R"(["</p>"])"));
  EXPECT_FALSE(language.has_value("json_short", R"(["</pppp"])"));
  EXPECT_TRUE(language.has_value("json_flag", "null"));
  EXPECT_FALSE(language.has_value("json_flag", "\"null\""));
}

// A text that would be read as something else is one of another type.
TEST(TaggedObject, WhereBothMayBeNoTextIsTakenForJson) {
  const TaggedLanguage language(
      R"({"type":"object","properties":{
          "day":{"anyOf":[{"type":"string"},{"type":"null"}]},
          "any":{},
          "some":{"enum":["1","x",2,null]}}})");
  ASSERT_EQ(language.error(), "");
  for (const char* text : {"2026-01-01", "null", "nullable", "-", "\"quoted\"", "1.5.2", ""})
    EXPECT_TRUE(language.has_value("day", text)) << text;
  for (const char* json : {"12", " 12 ", "-1.5e3", "true", "False", "[1]", "{}"})
    EXPECT_FALSE(language.has_value("day", json)) << json;
  for (const char* text : {"12", "true", "[1, {\"a\": \"b\"}]", "words", "None of them"})
    EXPECT_TRUE(language.has_value("any", text)) << text;
  EXPECT_FALSE(language.has_value("any", "[1"));
  for (const char* text : {"x", "2", "null"})
    EXPECT_TRUE(language.has_value("some", text)) << text;
  EXPECT_FALSE(language.has_value("some", "1")) << "it would be the number";
}

TEST(TaggedObject, OtherMembersComeBehindThoseThatAreDeclared) {
  const TaggedLanguage open(
      R"({"type":"object","properties":{"text_a":{"type":"string"}},
          "additionalProperties":{"type":"integer"}})");
  EXPECT_TRUE(open.has("<p=text_a>\na\n</p>\n<p=b>\n1\n</p>\n<p=c>\n2\n</p>\n"));
  EXPECT_FALSE(open.has("<p=b>\n1\n</p>\n<p=text_a>\na\n</p>\n"));
  EXPECT_FALSE(open.has_value("b", "a"));
  EXPECT_FALSE(open.has_value("b>c", "1"));
  const TaggedLanguage any(R"({"type":"object"})");
  EXPECT_TRUE(any.has_value("b", "a"));
  EXPECT_TRUE(any.has_value("b", "[1, 2]"));
}

TEST(TaggedObject, BranchesAreTakenWhole) {
  const TaggedLanguage language(
      R"({"type":"object","anyOf":[
          {"properties":{"text_k":{"const":"x"},"json_n":{"type":"integer"}},
           "required":["text_k","json_n"]},
          {"properties":{"text_k":{"const":"y"}},"required":["text_k"]}]})");
  ASSERT_EQ(language.error(), "");
  EXPECT_TRUE(language.has("<p=text_k>\nx\n</p>\n<p=json_n>\n1\n</p>\n"));
  EXPECT_TRUE(language.has_value("text_k", "y"));
  EXPECT_FALSE(language.has_value("text_k", "x"));
}

TEST(TaggedObject, WhatCannotBeWrittenIsRefusedWithItsPlace) {
  const auto error = [](std::string_view schema) { return TaggedLanguage(schema).error(); };
  EXPECT_THAT(error(R"({"type":"object","enum":[{"a":1}]})"),
              ::testing::HasSubstr("an enum or const of whole objects cannot be enforced"));
  EXPECT_THAT(error(R"({"type":"object","properties":{"a>b":{}}})"),
              ::testing::HasSubstr("\"a>b\" cannot be written as the name of a member"));
  EXPECT_THAT(error(R"({"type":"object","properties":{"text_a":{"const":"</p>"}},)"
                    R"("required":["text_a"]})"),
              ::testing::HasSubstr("no value of it can be written between tags"));
  EXPECT_THAT(error(R"({"type":"object","properties":{"a":{"nullable":true}}})"),
              ::testing::HasSubstr("#/properties/a/nullable"));
}

}  // namespace
}  // namespace windrow::grammar
