// Search by words: SQLite's FTS5, ranked by BM25.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/bank/bank_store.h"
#include "memory/bank/sqlite/queries.h"

namespace windrow::memory {

// Of a longer text only the rarest terms are searched for: the others say little, and each costs as
// much as there are memories that have it.
constexpr size_t kSearchTermsMax = 16;

// As BankStore::matching. `tag_sets`: those that the filter lets pass; nothing: all.
Result<std::vector<Hit>> search_words(const Queries& queries, std::string_view text,
                                      const std::vector<MemoryType>& types,
                                      const std::optional<std::vector<int64_t>>& tag_sets,
                                      int32_t hits_max);

}  // namespace windrow::memory
