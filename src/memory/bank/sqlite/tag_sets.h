// TagSets: the distinct sets of tags of a bank, by number, as memories refer to them. There are few
// beside the memories, so a filter is evaluated on the sets.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "memory/bank/sqlite/queries.h"
#include "memory/bank/tag_filter.h"

namespace windrow::memory {

// Thread-safe.
class TagSets {
 public:
  // The numbers of the sets that pass, in ascending order; nothing if all do. `reader` sees only
  // what is committed: sets that are kept here must not be undone.
  Result<std::optional<std::vector<int64_t>>> passing(const Queries& reader,
                                                      const TagFilter& filter);

 private:
  std::mutex mutex_;
  std::vector<std::pair<int64_t, Tags>> sets_;  // those read so far, ascending
};

// The number of a set; it is added if it is new.
Result<int64_t> tag_set_added(BankChange& change, const Tags& tags);

// Nothing if no memory ever had these tags.
Result<std::optional<int64_t>> tag_set_of(const Queries& queries, const Tags& tags);

}  // namespace windrow::memory
