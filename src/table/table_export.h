// The answers of a job as a table: the records of its input in their order, and beside each its
// answer. In bounded memory but for an index of 16 bytes a row. Reads the logs of a job that is
// finished, interrupted or running, and changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "batch/input.h"
#include "batch/job_paths.h"
#include "store/disk.h"
#include "table/record_reader.h"
#include "table/table_writer.h"

namespace windrow::table {

struct TableJob {
  batch::Input& input;  // can be opened more than once
  ReadOptions read = {};
  batch::JobPaths paths;

  // As the job made its custom_ids: of this column; empty: of the number of the record.
  std::string id_column = {};

  // The input is a batch file: of its lines only the custom_id is a column.
  bool of_requests = false;

  // The job asked for answers that follow a schema, with these members in this order; others that
  // answers have follow.
  bool structured = false;
  std::vector<std::string> members = {};
};

struct TableReport {
  int64_t rows = 0;         // in the table
  int64_t failed = 0;       // of these: failed; in .npy their numbers are NaN
  int64_t not_vectors = 0;  // .npy: answered, but not with one vector of the common length; NaN
  int64_t waiting = 0;      // records without an outcome yet, which are not in the table
  uint64_t numbers = 0;     // .npy: of each vector
  std::vector<std::string> columns;
  bool interrupted = false;  // the table is not whole
};

using TableSink = std::function<Result<void>(std::string_view bytes)>;

// Reads the logs once and the input twice. Calls `interrupted` now and then, and stops once that is
// true.
//   kInvalid   .npy: no row has a vector; a log with foreign lines; the input is damaged
//   kNotFound  there are no results, or no input
//   kConflict  the input has other records than the job
//   kIo, and the errors of `sink`
Result<TableReport> write_table(store::Disk& disk, const TableJob& job, TableFormat format,
                                const TableSink& sink, const std::function<bool()>& interrupted);

}  // namespace windrow::table
