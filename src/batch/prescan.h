// The pre-scan: one pass over the whole input before (or while) rows run, to say how many there
// are, how many are done, which finished ones changed and, when asked, which lines are at fault.
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

// A row that has a result and now asks something else.
struct ChangedRow {
  uint64_t line = 0;
  std::string custom_id;
  bool succeeded = false;
};

struct Prescan {
  int64_t rows = 0;           // lines that are not blank, at most rows_max
  int64_t rows_finished = 0;  // of these, with a result already
  int64_t rows_finished_failed = 0;
  std::vector<ChangedRow> changed;  // the first kNamedMax
  int64_t rows_changed = 0;
  int64_t rows_changed_failed = 0;
  int64_t rows_not_wanted = 0;  // without a result, and passed over (RowIndex::want_only_retried)
  int64_t rows_to_look_at = 0;  // that run or are reported, and lines that were at fault
  bool whole = false;           // the end was reached, or rows_max

  // Why the input ended early: damaged or cut off. What is counted is what was before.
  std::optional<Error> error;
};

// How many of a long list a message names.
inline constexpr size_t kNamedMax = 20;

// Counts alone: no line is looked into. Stops early when `lines` is interrupted.
Prescan count_rows(LineSource& lines, std::optional<int64_t> rows_max);

// Compares every line with the index, as pass kCheck.
Prescan compare_rows(LineSource& lines, std::optional<int64_t> rows_max, const RowReader& reader,
                     RowIndex& index);

// The same, and calls `on_fault` for each line that would not run: also those that an earlier run
// reported. `check` is asked about every row that would.
using RowCheck = std::function<std::optional<llm::Failure>(const llm::Request&)>;
Prescan check_rows(LineSource& lines, std::optional<int64_t> rows_max, const RowReader& reader,
                   RowIndex& index, const RowCheck& check,
                   const std::function<void(const RowFault&)>& on_fault);

// Why a job with changed rows does not start. `input` is its name.
Error changed_rows_error(const Prescan& prescan, const std::string& input);

}  // namespace windrow::batch
