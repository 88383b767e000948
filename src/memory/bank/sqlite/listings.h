// What clients look at: lists of memories, documents, tags and counts. All functions as the methods
// of BankStore.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/bank/bank_store.h"
#include "memory/bank/sqlite/queries.h"

namespace windrow::memory {

// `tag_sets`: those that the query's filter lets pass; nothing: all.
Result<MemoryPage> read_page(const Queries& queries, const MemoryQuery& query,
                             const std::optional<std::vector<int64_t>>& tag_sets);
Result<std::vector<ObservationChange>> read_history(const Queries& queries, const MemoryId& id);

Result<std::vector<Document>> read_documents(const Queries& queries, std::string_view text,
                                             int64_t limit, int64_t offset, int64_t* total);
Result<Document> read_document(const Queries& queries, std::string_view id);
Result<std::vector<Chunk>> read_chunks(const Queries& queries, std::string_view document_id);
Result<Chunk> read_chunk(const Queries& queries, std::string_view id);

Result<BankStats> read_stats(const Queries& queries);
Result<std::vector<EntityCount>> read_entities(const Queries& queries);
Result<std::vector<TagCount>> read_tags(const Queries& queries);
Result<std::vector<ScopeCount>> read_scopes(const Queries& queries);

// A pattern for LIKE ... ESCAPE '\' that finds `text` anywhere.
std::string like_pattern(std::string_view text);

}  // namespace windrow::memory
