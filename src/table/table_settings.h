// How the rows of a job were made, as settings of its record (batch/job_record.h): a job is not
// continued with another template, and its table can be written without naming the flags again.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "batch/job_options.h"
#include "table/record_reader.h"
#include "table/row_template.h"

namespace windrow::table {

std::vector<batch::JobSetting> table_settings(const RowRecipe& recipe, const ReadOptions& options);

// What the settings of a record say. Nothing: the rows of the job were requests.
struct RecordedTable {
  std::string id_column;  // empty: the number of the record
  char delimiter = 0;     // 0: found
  bool structured = false;
  std::vector<std::string> members;  // of the answers
};
std::optional<RecordedTable> recorded_table(const std::vector<batch::JobSetting>& settings);

// The members of the objects that a schema describes, in its order; empty where it describes
// others.
std::vector<std::string> members_of_schema(const boost::json::object& schema);

}  // namespace windrow::table
