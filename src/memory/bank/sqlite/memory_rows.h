// The rows of memories: read as values, and written. What a change means for other memories is the
// caller's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/bank/memory.h"
#include "memory/bank/sqlite/queries.h"

namespace windrow::memory {

struct StoredMemory {
  int64_t row = 0;
  int64_t tag_set = 0;
  Memory memory;
};

enum class WithEmbedding : uint8_t { kNo, kYes };

// The memories "m" that `condition` selects: the SQL after WHERE, with ORDER BY and LIMIT. With the
// sources of observations. kInvalid: a row is damaged.
Result<std::vector<StoredMemory>> read_memories(const Queries& queries, std::string_view condition,
                                                std::span<const store::Value> values,
                                                WithEmbedding embedding);
Result<std::vector<StoredMemory>> read_memories(const Queries& queries, std::string_view condition,
                                                Queries::Values values, WithEmbedding embedding);

// The memories of these ids that exist, in this order; one that is listed twice comes once.
Result<std::vector<StoredMemory>> read_memories_of(const Queries& queries,
                                                   std::span<const MemoryId> ids,
                                                   WithEmbedding embedding);

// kNotFound.
Result<StoredMemory> read_memory(const Queries& queries, const MemoryId& id,
                                 WithEmbedding embedding);

// Adds a memory, its embedding included and sources apart, and sets its row and its set of tags.
// kConflict: the id exists.
Result<void> add_memory(BankChange& change, StoredMemory& stored);

// Writes all members but id, created, embedding and sources.
Result<void> write_memory(BankChange& change, const StoredMemory& stored);

// An empty one removes it.
Result<void> write_embedding(BankChange& change, int64_t row, std::span<const float> embedding);

// kInvalid: it has another length than the bank's, or a part that is no number. The first one
// decides the length.
Result<void> check_embedding(BankChange& change, std::span<const float> embedding);

// A text in which runs of white space are one space, with none at its ends; and its hash.
std::string with_single_spaces(std::string_view text);
int64_t text_key(std::string_view text);

std::string embedding_bytes(std::span<const float> embedding);
std::vector<float> embedding_from(std::string_view bytes);

// {"key":"value"}, ["a","b"]: as they are stored. kInvalid: damaged.
std::string metadata_text(const std::map<std::string, std::string>& metadata);
Result<std::map<std::string, std::string>> metadata_from(std::string_view text);
Result<std::vector<std::string>> texts_from(std::string_view text);

// Times in four columns, from `column` on.
MemoryTimes times_of(const store::DatabaseRow& row, int column);

}  // namespace windrow::memory
