// RowIndex: what is known of every row, in 16 bytes each (row_table.h). It is filled from the logs,
// the results first, and asked line by line; what it answers comes from resume.h.
//
// It has 80 bits of a row's identity and 28 of its fingerprint, and no text to compare with. A row
// is passed over only where all 108 agree: that a row among 10 million is taken for another one's
// result, and lost, has a chance of 2 in 10^19. Where two rows agree in the 80 alone (4 in 10^11),
// the job stops with a duplicate or a changed row that is none, or reports one: loudly. That a row
// changed is missed once in 270 million changed rows.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/hash.h"
#include "batch/resume.h"
#include "batch/row.h"
#include "batch/row_table.h"

namespace windrow::batch {

// Passes over the input that do not know of each other: each sees every line for the first time.
enum class Pass : uint8_t { kCheck, kRun };

// Used by one thread at a time.
class RowIndex {
 public:
  // --- from the logs ---

  // A result. False when there is one already.
  [[nodiscard]] bool add_result(const Hash128& identity, uint64_t fingerprint);

  // A failure. `retried`: it counts for nothing, and its row runs again. A result stands whatever
  // failed before it, and a later failure takes the place of an earlier one; false when there was
  // either.
  bool add_failure(const Hash128& identity, uint64_t fingerprint, bool retried = false);

  // A line of the input that was at fault and is looked at again, whatever it holds now.
  void retry_line(uint64_t line);

  // From now on only what is retried is wanted.
  void want_only_retried() { wanted_ = Wanted::kRetried; }

  struct Totals {
    int64_t succeeded = 0;
    int64_t failed = 0;   // for good
    int64_t retried = 0;  // failed, and to run again
  };
  Totals totals() const;

  // --- from the input ---

  // A line with a custom_id, in the order of the input; `raw_fingerprint` is line_fingerprint of
  // it. From then on this pass has seen its custom_id.
  Verdict see_row(Pass pass, const RowKey& key, uint64_t raw_fingerprint);

  // The same, in one step, of a line that was only glanced at (fast_row_scanner.h): where it needs
  // no further look, it has been seen, and this is kSucceeded or kFailed. Nothing otherwise, and it
  // was not seen.
  std::optional<Verdict> pass_over(Pass pass, const Hash128& identity, uint64_t fingerprint);

  // A line that cannot be named.
  Verdict see_line(Pass pass, const RowKey& key);

  // Whether a row that was found changed had succeeded.
  bool succeeded(const Hash128& identity) const;

  // Whether a line is one of retry_line, and whether the pass kRun met it.
  bool retries_line(uint64_t line) const { return lines_.contains(line); }
  bool met_line(uint64_t line) const;

  // Rows and lines, finished or not.
  size_t size() const { return rows_.size(); }

  // Gives the memory of all rows back. What is known of lines stays.
  void forget_rows() { rows_ = {}; }

 private:
  KnownLine known_line(Pass pass, uint64_t line, const Hash128& identity, uint64_t fingerprint);

  RowTable rows_;
  boost::unordered_flat_map<uint64_t, bool> lines_;  // retried: whether the pass kRun met it
  Wanted wanted_ = Wanted::kAll;
};

}  // namespace windrow::batch
