// JobReader: reads the lines of an input and decides about each: a row to run, an outcome that is
// known without running it (a faulty line, a duplicate), a line to skip, or the end of the job
// where a finished row has changed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "batch/fast_row_scanner.h"
#include "batch/job_counters.h"
#include "batch/line_source.h"
#include "batch/result_line.h"
#include "batch/row.h"
#include "batch/row_index.h"
#include "batch/row_reader.h"

namespace windrow::batch {

// The names of ignored fields that are kept; a file could have a different one in each row.
inline constexpr size_t kIgnoredNamesMax = 100;

// An input whose first lines, this many, are all malformed is refused as not being a file of
// requests: a table, a picture, one JSON document over many lines. Each line would become an error.
inline constexpr int64_t kBadLinesMax = 1000;

// Used by one thread. The arguments of the constructor outlive it.
class JobReader {
 public:
  // Called on the reading thread. `run` and `finish` may block.
  struct Out {
    std::function<void(Row)> run;
    std::function<void(RowOutcome)> finish;
    std::function<void()> passed;            // a line was read that does not run
    std::function<void(const Error&)> fail;  // makes `stopping` true
    std::function<bool()> stopping;
  };

  struct Options {
    std::string input_name;  // for messages
    std::optional<int64_t> rows_max;
    bool before_known = false;  // JobCounters::rows_before is set already
  };

  struct Report {
    bool to_end = false;        // the end of the input, or rows_max, was reached
    int64_t rows_to_write = 0;  // rows that need a line in a log
    int64_t skipped_succeeded = 0;
    int64_t skipped_failed = 0;
    std::optional<Error> error;  // why the input ended early

    // Ignored fields, and in how many rows; at most kIgnoredNamesMax names.
    std::map<std::string, int64_t> ignored_fields;
  };

  JobReader(const RowReader& rows, RowIndex& index, JobCounters& counters, Options options,
            Out out);

  // Reads until the input ends or the job stops; once.
  Report read(LineSource& lines);

 private:
  void read_row(const Line& line);
  void skip(bool failed);
  void count_ignored(const std::vector<std::string>& fields);
  void finish_fault(RowFault fault);
  void count_bad(const RowFault& fault);
  Error changed(const RowKey& key) const;
  Error none_is_sound(bool made) const;

  const RowReader& rows_;
  RowIndex& index_;
  JobCounters& counters_;
  const Options options_;
  const Out out_;
  FastRowScanner scanner_;
  int64_t bad_lines_ = 0;  // from the start; negative after the first good line
  std::string first_bad_;
  Report report_;
};

}  // namespace windrow::batch
