#include "table/row_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <variant>

#include "table/table_settings.h"

namespace windrow::table {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Record record_of(std::string_view values) {
  return {.line = 7, .number = 5, .values = boost::json::parse(values).get_object()};
}

std::string line_of(const RowRecipe& recipe, const Record& record) {
  const auto rows = RowTemplate::make(recipe);
  if (!rows) return "refused: " + rows.error().message;
  auto line = rows->line_of(record);
  if (const auto* problem = std::get_if<batch::LineProblem>(&line))
    return problem->code + ": " + problem->message;
  return std::get<std::string>(line);
}

TEST(RowTemplate, WritesChats) {
  RowRecipe recipe{.id_column = "sku",
                   .prompt = "Classify: {{ title }} ({{ record['unit price'] }})",
                   .system = "You know {{ n }} things.",
                   .max_tokens = 20,
                   .temperature = 0.5};
  const Record record =
      record_of(R"({"sku": "A\"1", "title": "pipe\n5\"", "unit price": "3", "n": 2})");
  EXPECT_EQ(line_of(recipe, record),
            R"({"custom_id":"A\"1","method":"POST","url":"/v1/chat/completions",)"
            R"("body":{"messages":[)"
            R"({"role":"system","content":"You know 2 things."},)"
            R"~({"role":"user","content":"Classify: pipe\n5\" (3)"}],)~"
            R"("max_tokens":20,"temperature":0.5}})");
}

TEST(RowTemplate, WritesSchemasAndTextsToEmbed) {
  const Record record = record_of(R"({"a": "x"})");
  EXPECT_EQ(
      line_of({.prompt = "{{ a }}", .schema = boost::json::object{{"type", "object"}}}, record),
      R"({"custom_id":"5","method":"POST","url":"/v1/chat/completions","body":{"messages":[)"
      R"({"role":"user","content":"x"}],"response_format":{"type":"json_schema",)"
      R"("json_schema":{"name":"answer","schema":{"type":"object"},"strict":true}}}})");
  EXPECT_EQ(
      line_of({.embed = "query: {{ a }}"}, record),
      R"({"custom_id":"5","method":"POST","url":"/v1/embeddings","body":{"input":"query: x"}})");
}

TEST(RowTemplate, NamesWhatIsMissing) {
  const Record record = record_of(R"({"sku": "", "title": "x"})");
  const std::string undefined = line_of({.prompt = "{{ titel }}"}, record);
  EXPECT_THAT(undefined, HasSubstr("template_failed: line 7 gives no request: --prompt: line 1, "));
  const Record element{.line = 7, .number = 7, .of_array = true};
  EXPECT_THAT(line_of({.prompt = "{{ absent }}"}, element), HasSubstr("record 7 gives no request"));
  EXPECT_THAT(undefined, HasSubstr("'titel' is undefined"));
  EXPECT_THAT(undefined, HasSubstr("the columns are sku, title"));
  EXPECT_EQ(line_of({.prompt = "{{ note | default('-') }}"}, record).substr(0, 15),
            R"({"custom_id":"5)");
  EXPECT_THAT(line_of({.id_column = "sku", .prompt = "x"}, record),
              HasSubstr("invalid_custom_id: line 7 has nothing as its sku"));
  EXPECT_THAT(line_of({.id_column = "id", .prompt = "x"}, record),
              HasSubstr("missing_custom_id: line 7 has no column \"id\""));
  EXPECT_THAT(line_of({.prompt = "{{ title"}, record), HasSubstr("refused: --prompt: line 1"));
}

TEST(RowTemplate, PassesOnTheProblemOfARecord) {
  Record record = record_of("{}");
  record.problem = batch::LineProblem{.code = "invalid_record", .message = "line 7 has 1 value"};
  EXPECT_EQ(line_of({.prompt = "x"}, record), "invalid_record: line 7 has 1 value");
}

TEST(Ids, AreTextsAndWholeNumbers) {
  const auto id = [](std::string_view values) {
    const auto found = custom_id_of(record_of(values), "id");
    return std::holds_alternative<std::string>(found) ? std::get<std::string>(found) : "none";
  };
  EXPECT_EQ(id(R"({"id": 12})"), "12");
  EXPECT_EQ(id(R"({"id": "x"})"), "x");
  EXPECT_EQ(id(R"({"id": 1.5})"), "none");
  EXPECT_EQ(id(R"({"id": null})"), "none");
}

TEST(TableSettings, AreReadAgain) {
  const auto schema =
      boost::json::parse(R"({"properties": {"label": {}, "why": {}}})").get_object();
  const RowRecipe recipe{.id_column = "sku", .prompt = "Classify:\n{{ x }}", .schema = schema};
  const auto settings = table_settings(recipe, {.delimiter = ';'});
  const auto recorded = recorded_table(settings);
  ASSERT_TRUE(recorded);
  EXPECT_EQ(recorded->id_column, "sku");
  EXPECT_EQ(recorded->delimiter, ';');
  EXPECT_TRUE(recorded->structured);
  EXPECT_THAT(recorded->members, ElementsAre("label", "why"));
  EXPECT_EQ(settings.at(2).name, "prompt");
  EXPECT_THAT(settings.at(2).value, HasSubstr("\"Classify: {{ x }}\", 17 bytes, "));

  const auto numbers = recorded_table(table_settings({.embed = "{{ x }}"}, {}));
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->id_column, "");
  EXPECT_FALSE(numbers->structured);
  EXPECT_FALSE(recorded_table({{"model", "m.gguf"}}));
}

}  // namespace
}  // namespace windrow::table
