// The pre-scan: one pass over the whole input before or while rows run. It counts the rows and the
// finished ones, finds finished rows that have changed and, for --strict, faulty lines.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "batch/line_source.h"
#include "batch/row_index.h"
#include "batch/row_reader.h"

namespace windrow::batch {

// A row that has an outcome and whose request has changed since.
struct ChangedRow {
  uint64_t line = 0;
  std::string custom_id;
  bool succeeded = false;
};

struct Prescan {
  int64_t rows = 0;           // lines that are not blank, at most rows_max
  int64_t rows_finished = 0;  // those with an outcome
  int64_t rows_finished_failed = 0;
  std::vector<ChangedRow> changed;  // the first kNamedMax
  int64_t rows_changed = 0;
  int64_t rows_changed_failed = 0;
  int64_t rows_not_wanted = 0;  // without an outcome, but skipped (RowIndex::want_only_retried)
  int64_t rows_to_look_at = 0;  // rows that run or are reported, and retried lines
  bool whole = false;           // the end of the input, or rows_max, was reached

  // Why the input ended early: damaged or cut off. The counts are those of the part before.
  std::optional<Error> error;
};

// How many elements of a long list a message names.
inline constexpr size_t kNamedMax = 20;

// Only counts the lines. Stops early when `lines` is interrupted.
Prescan count_rows(LineSource& lines, std::optional<int64_t> rows_max);

// Compares every line with the index, in the pass kCheck.
Prescan compare_rows(LineSource& lines, std::optional<int64_t> rows_max, const RowReader& reader,
                     RowIndex& index);

// The same, and calls `on_fault` for each line that cannot run, also those that an earlier run
// reported. `check`, unless empty, is called for every other row, and may find a fault.
using RowCheck = std::function<std::optional<llm::Failure>(const llm::Request&)>;
Prescan check_rows(LineSource& lines, std::optional<int64_t> rows_max, const RowReader& reader,
                   RowIndex& index, const RowCheck& check,
                   const std::function<void(const RowFault&)>& on_fault);

// Why a job with changed rows does not start. `input` is the name of the input.
Error changed_rows_error(const Prescan& prescan, const std::string& input);

}  // namespace windrow::batch
