// RowIndex: what is known of every row, in 24 bytes each (30 to 55 with the room a table needs). It
// is filled from the logs and asked line by line; what it answers comes from resume.h.
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
  // From a log. False when a log had it already.
  [[nodiscard]] bool add_finished(const Hash128& identity, uint64_t fingerprint, bool succeeded);

  // A line with a custom_id, in the order of the input; `raw_fingerprint` is line_fingerprint of
  // it. From then on this pass has seen its custom_id.
  Verdict see_row(Pass pass, const RowKey& key, uint64_t raw_fingerprint);

  // A line that cannot be named.
  Verdict see_line(const RowKey& key) const;

  // Whether a row that was found changed had succeeded.
  bool succeeded(const Hash128& identity) const;

  // Rows and lines, finished or not.
  size_t size() const { return rows_.size(); }

  // Gives the memory back.
  void clear() { rows_ = {}; }

 private:
  struct Entry {
    uint64_t fingerprint : 60 = 0;
    uint64_t finished : 1 = 0;
    uint64_t succeeded : 1 = 0;
    uint64_t seen_by_check : 1 = 0;
    uint64_t seen_by_run : 1 = 0;
  };

  struct Hasher {
    using is_avalanching = void;  // identities are hashes already
    size_t operator()(const Hash128& identity) const { return identity.low; }
  };

  boost::unordered_flat_map<Hash128, Entry, Hasher> rows_;
};

}  // namespace windrow::batch
