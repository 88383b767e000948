#include "table/table_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "batch/line_source.h"
#include "batch/row_reader.h"
#include "batch/testing/memory_input.h"

namespace windrow::table {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<TableInput> table_of(const std::string& text, RowRecipe recipe) {
  auto rows = RowTemplate::make(std::move(recipe));
  EXPECT_TRUE(rows);
  return std::make_unique<TableInput>(std::make_unique<batch::testing::MemoryInput>(text),
                                      ReadOptions{.format = RecordFormat::kCsv}, *std::move(rows));
}

// What a job makes of its lines: "LINE custom_id", or "LINE! code".
std::vector<std::string> rows_of(TableInput& input) {
  const batch::RowReader reader({.body = {}, .models = {"m"}, .any_model = true});
  auto lines = batch::open_lines(input);
  EXPECT_TRUE(lines);
  std::vector<std::string> rows;
  for (;;) {
    const auto line = (*lines)->next();
    EXPECT_TRUE(line);
    if (!line || !*line) return rows;
    const batch::RowOrFault row = reader.read(**line);
    if (const auto* fault = std::get_if<batch::RowFault>(&row)) {
      rows.push_back(std::to_string(fault->key.line) + "! " + fault->failure.code);
      EXPECT_TRUE(fault->of_line);
    } else {
      const auto& key = std::get<batch::Row>(row).key;
      rows.push_back(std::to_string(key.line) + " " + key.custom_id);
    }
  }
}

TEST(TableInput, GivesRowsWithTheLinesOfTheFile) {
  const auto input = table_of("id,text\na,\"two\nlines\"\n\nb\nc,x\n,y\n",
                              {.id_column = "id", .prompt = "{{ text }}"});
  const auto wanted = ElementsAre("2 a", "5! invalid_record", "6 c", "7! invalid_custom_id");
  EXPECT_THAT(rows_of(*input), wanted);
  EXPECT_THAT(rows_of(*input), wanted);
}

TEST(FirstRecords, AreTriedBeforeAnyRowRuns) {
  const auto wrong = table_of("id,text\na,x\nb,y\n", {.prompt = "{{ txt }}"});
  const auto checked = check_first_records(*wrong);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("no record could become a request. line 2 gives"));
  EXPECT_THAT(checked.error().message, HasSubstr("the columns are id, text"));

  // One that can be written is enough; bad records are for the job.
  const auto right = table_of("id,text\na\nb,y\n", {.prompt = "{{ text }}"});
  EXPECT_TRUE(check_first_records(*right));
  const auto empty = table_of("id,text\n", {.prompt = "{{ txt }}"});
  EXPECT_TRUE(check_first_records(*empty));
}

}  // namespace
}  // namespace windrow::table
