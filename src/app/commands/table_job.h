// Tables around a job: what `run` reads that is no file of requests, and the table that is written
// when a job has ended.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/commands/command_line.h"
#include "app/process/console.h"
#include "app/process/signals.h"
#include "base/result.h"
#include "batch/input.h"
#include "batch/job_options.h"
#include "batch/job_paths.h"
#include "batch/job_record.h"
#include "store/disk.h"
#include "table/table_export.h"
#include "table/table_writer.h"

namespace windrow::app {

struct RunInput {
  std::unique_ptr<batch::Input> input;
  std::vector<batch::JobSetting> settings;  // how its rows are made; none of requests
};

// Opens the input of a run. With flags of a table it is one, whose first records are tried.
//   kInvalid   it is a table and no flag says so, or the other way round; a template or a column is
//              wrong; the message says which command reads it
//   kNotFound, kIo
Result<RunInput> open_run_input(const RunCommand& command, store::Disk& disk);

// Where a run writes: the log of results, and the table that is made of it at the end.
struct RunOutput {
  std::string log;    // empty: none was named
  std::string table;  // empty: none
  table::TableFormat format = table::TableFormat::kCsv;
};

// By the ending of the name: "labelled.csv" is a table, with its log "labelled.jsonl". The log of
// an earlier version under such a name stays a log.
RunOutput run_output(const std::string& output, store::Disk& disk);

// 0 for none: found.
char delimiter_of_flag(const std::string& text);

// How the table of a job is made, by the record of the job.
table::TableJob table_job_of(batch::Input& input, const batch::JobPaths& paths,
                             const batch::JobRecord& record);

// Which job, and how its table is made.
struct TableToWrite {
  batch::JobPaths paths;
  std::string input;              // empty: the one of the job record
  std::optional<std::string> id;  // nothing: as recorded
  char delimiter = 0;
  std::string output;
  table::TableFormat format = table::TableFormat::kCsv;
};

// Writes the table to a file beside the output, renames it, and says on the console what is in it.
// False: it was interrupted, and nothing has changed. Errors as table::write_table, and those of
// the output.
Result<bool> write_job_table(const TableToWrite& table, store::Disk& disk, Console& console,
                             StopRelay& relay);

}  // namespace windrow::app
