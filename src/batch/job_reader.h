// JobReader: the lines of an input, each to where it belongs: a row to run, an outcome that is
// known without running it (a line at fault, a duplicate), nothing for what has a result, or the
// end of the job where a finished row changed.
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
#include "batch/row.h"
#include "batch/row_index.h"
#include "batch/row_outcome.h"
#include "batch/row_reader.h"

namespace windrow::batch {

// As many names of fields that were left out are kept; a file could have one of its own in each
// row.
inline constexpr size_t kIgnoredNamesMax = 100;

// An input is no file of requests when so many lines from its start are none: a table, a picture,
// one JSON document over many lines. It would become a log with an error for each of them.
inline constexpr int64_t kBadLinesMax = 1000;

// Used by one thread; what it is given outlives it.
class JobReader {
 public:
  // Called on the thread that reads. `run` and `finish` may block it.
  struct Out {
    std::function<void(Row)> run;
    std::function<void(RowOutcome)> finish;
    std::function<void()> passed;            // a line that is no row to run
    std::function<void(const Error&)> fail;  // and `stopping` is true from then on
    std::function<bool()> stopping;
  };

  struct Options {
    std::string input_name;  // for messages
    std::optional<int64_t> rows_max;
    bool before_known = false;  // JobCounters::rows_before needs no counting
  };

  struct Report {
    bool to_end = false;        // the end was reached, or rows_max
    int64_t rows_to_write = 0;  // those that needed a line in a log
    int64_t skipped_succeeded = 0;
    int64_t skipped_failed = 0;
    std::optional<Error> error;  // why the input ended early

    // Fields of bodies that were left out, and of how many rows; at most kIgnoredNamesMax names.
    std::map<std::string, int64_t> ignored_fields;
  };

  JobReader(const RowReader& rows, RowIndex& index, JobCounters& counters, Options options,
            Out out);

  // Until the input ends or the job stops.
  Report read(LineSource& lines);

 private:
  void read_row(const Line& line);
  void skip(bool failed);
  void count_ignored(const std::vector<std::string>& fields);
  void finish_fault(RowFault fault);
  void count_bad(const RowFault& fault);
  Error changed(const RowKey& key) const;

  const RowReader& rows_;
  RowIndex& index_;
  JobCounters& counters_;
  const Options options_;
  const Out out_;
  FastRowScanner glance_;
  int64_t bad_lines_ = 0;  // from the start; less than 0: there was a sound one
  std::string first_bad_;
  Report report_;
};

}  // namespace windrow::batch
