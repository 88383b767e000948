// VectorIndex: the vectors of a bank in memory, so that a search need not read them all from the
// file. The file is what counts: the index is read from it at the first search, and after each
// commit that touched vectors, those are read again from the file. So whichever of two commits
// comes here first, the index ends up with what the file has.
#pragma once

#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "memory/bank/bank_store.h"
#include "memory/bank/sqlite/queries.h"
#include "vectors/flat_segment.h"

namespace windrow::memory {

// Thread-safe: searches run side by side.
class VectorIndex {
 public:
  // As BankStore::nearest. `tag_sets`: those that the filter lets pass, ascending; nothing: all.
  // `reader` is in no snapshot: what is read has to be newer than what other threads have read
  // here.
  Result<std::vector<Hit>> nearest(store::DatabaseReader& reader, std::span<const float> vector,
                                   const std::vector<MemoryType>& types,
                                   const std::optional<std::vector<int64_t>>& tag_sets,
                                   int32_t hits_max);

  // Reads these memories again after a commit that touched them; `reader` as above. What cannot be
  // read is read at the next search, with everything else.
  void refresh(store::DatabaseReader& reader, std::span<const int64_t> rows);

  // Reads everything again at the next search.
  void forget();

 private:
  // What filters ask about a memory.
  struct Labels {
    int64_t tag_set = 0;
    int64_t type = 0;
  };

  Result<void> load(const Queries& reader);
  Result<void> read(const Queries& reader, std::string_view rows, Queries::Values values);

  std::shared_mutex mutex_;
  std::optional<vectors::FlatSegment> segment_;  // nothing: not read yet
  std::unordered_map<int64_t, Labels> labels_;   // of the rows in the segment
};

}  // namespace windrow::memory
