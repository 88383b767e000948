// RowIndex: what is known of every row, in 24 bytes each (30 to 55 with the room a table needs). It
// is filled from the logs, the results first, and asked line by line; what it answers comes from
// resume.h.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>

#include "base/hash.h"
#include "batch/resume.h"
#include "batch/row.h"

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

  // A line that cannot be named.
  Verdict see_line(Pass pass, const RowKey& key);

  // Whether a row that was found changed had succeeded.
  bool succeeded(const Hash128& identity) const;

  // Whether a line is one of retry_line, and whether the pass kRun met it.
  bool retries_line(uint64_t line) const { return lines_.contains(line); }
  bool met_line(uint64_t line) const;

  // Rows and lines, finished or not.
  size_t size() const { return rows_.size(); }

  // Gives the memory back.
  void clear() {
    rows_ = {};
    lines_ = {};
  }

 private:
  // Retried: succeeded without being finished, which nothing else is.
  struct Entry {
    uint64_t fingerprint : 60 = 0;
    uint64_t finished : 1 = 0;
    uint64_t succeeded : 1 = 0;
    uint64_t seen_by_check : 1 = 0;
    uint64_t seen_by_run : 1 = 0;

    bool retried() const { return finished == 0 && succeeded != 0; }
  };

  struct Hasher {
    using is_avalanching = void;  // identities are hashes already
    size_t operator()(const Hash128& identity) const { return identity.low; }
  };

  KnownLine known_line(Pass pass, uint64_t line, const Hash128& identity);

  boost::unordered_flat_map<Hash128, Entry, Hasher> rows_;
  boost::unordered_flat_map<uint64_t, bool> lines_;  // retried: whether the pass kRun met it
  Wanted wanted_ = Wanted::kAll;
};

}  // namespace windrow::batch
