#include "memory/bank/sqlite/memory_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/hash.h"
#include "json/parse.h"
#include "memory/bank/sqlite/search_terms.h"
#include "memory/bank/sqlite/tag_sets.h"

namespace windrow::memory {
namespace {

constexpr std::string_view kColumns =
    "SELECT m.row, m.tag_set, m.id, m.type, m.text, m.context, m.event, m.occurred_start, "
    "m.occurred_end, m.mentioned, t.tags, m.scopes, m.metadata, m.entities, m.document, m.chunk, "
    "m.created, m.updated, m.edited, m.consolidated, m.failed, m.failure, m.invalidated, m.reason, "
    "m.version";
constexpr int kVectorColumn = 25;

// The order of the tables is fixed (CROSS), so that the condition decides which index is used.
constexpr std::string_view kFrom =
    " FROM memories AS m CROSS JOIN tag_sets AS t ON t.id = m.tag_set";

Result<boost::json::value> parsed_column(std::string_view text) {
  std::variant<boost::json::value, JsonFault> parsed = parse_json(text);
  if (const auto* const fault = std::get_if<JsonFault>(&parsed))
    return Error{ErrorKind::kInvalid, fmt::format("a column is no JSON: {}", fault->reason)};
  return std::get<boost::json::value>(std::move(parsed));
}

Result<StoredMemory> stored_from(const store::DatabaseRow& row, bool with_vector) {
  StoredMemory stored;
  stored.row = row.number(0);
  stored.tag_set = row.number(1);
  Memory& memory = stored.memory;
  memory.id = MemoryId{row.text(2)};
  const int64_t type = row.number(3);
  if (type < 0 || type > static_cast<int64_t>(MemoryType::kObservation))
    return Error{ErrorKind::kInvalid, fmt::format("there is no type {} of memories", type)};
  memory.type = static_cast<MemoryType>(type);
  memory.text = row.text(4);
  memory.context = row.text(5);
  memory.times = times_of(row, 6);
  Result<Tags> tags = tags_from_json(row.text(10));
  if (!tags) return tags.error();
  memory.tags = *std::move(tags);
  Result<ObservationScopes> scopes = observation_scopes_from_text(row.text(11));
  if (!scopes) return scopes.error();
  memory.scopes = *std::move(scopes);
  Result<std::map<std::string, std::string>> metadata = metadata_from(row.bytes(12));
  if (!metadata) return metadata.error();
  memory.metadata = *std::move(metadata);
  Result<std::vector<std::string>> entities = texts_from(row.bytes(13));
  if (!entities) return entities.error();
  memory.entities = *std::move(entities);
  memory.document_id = row.text(14);
  memory.chunk_id = row.text(15);
  memory.created = row.number(16);
  memory.updated = row.number(17);
  memory.edited = row.number_or_none(18);
  memory.consolidated = row.number_or_none(19);
  memory.consolidation_failed = row.number_or_none(20);
  memory.failure = row.text(21);
  memory.invalidated = row.number_or_none(22);
  memory.invalidation_reason = row.text(23);
  memory.version = row.number(24);
  if (with_vector) memory.embedding = embedding_from(row.bytes(kVectorColumn));
  return stored;
}

Result<void> read_sources(const Queries& queries, std::vector<StoredMemory>& memories) {
  std::unordered_map<int64_t, Memory*> observations;
  std::vector<int64_t> rows;
  for (StoredMemory& stored : memories) {
    if (stored.memory.type != MemoryType::kObservation) continue;
    observations.emplace(stored.row, &stored.memory);
    rows.push_back(stored.row);
  }
  if (rows.empty()) return {};
  Result<void> asked = queries.ask(
      "SELECT s.observation, f.id FROM json_each(?) AS wanted CROSS JOIN sources AS s "
      "ON s.observation = wanted.value CROSS JOIN memories AS f ON f.row = s.fact "
      "ORDER BY s.observation, s.position",
      {json_list(rows)}, [&](const store::DatabaseRow& row) {
        observations.at(row.number(0))->sources.push_back(MemoryId{row.text(1)});
      });
  if (!asked) return asked;
  for (const auto& [row, memory] : observations)
    memory->proof_count = static_cast<int64_t>(memory->sources.size());
  return {};
}

// The columns that change, in the order of written_values().
constexpr std::array<std::string_view, 23> kWrittenColumns = {
    "type",           "text",         "context",   "grams",   "text_key",   "event",
    "occurred_start", "occurred_end", "mentioned", "tag_set", "scopes",     "metadata",
    "entities",       "document",     "chunk",     "updated", "edited",     "consolidated",
    "failed",         "failure",      "reason",    "version", "invalidated"};

std::vector<store::Value> written_values(const StoredMemory& stored) {
  const Memory& memory = stored.memory;
  std::vector<store::Value> values;
  values.reserve(kWrittenColumns.size() + 3);
  values.emplace_back(static_cast<int64_t>(memory.type));
  values.emplace_back(memory.text);
  values.emplace_back(memory.context);
  values.emplace_back(grams_of(fmt::format("{} {}", memory.text, memory.context)));
  values.emplace_back(text_key(memory.text));
  values.push_back(store::value_of(memory.times.event));
  values.push_back(store::value_of(memory.times.occurred_start));
  values.push_back(store::value_of(memory.times.occurred_end));
  values.push_back(store::value_of(memory.times.mentioned));
  values.emplace_back(stored.tag_set);
  values.emplace_back(to_text(memory.scopes));
  values.emplace_back(metadata_text(memory.metadata));
  values.emplace_back(json_list(memory.entities));
  values.emplace_back(memory.document_id);
  values.emplace_back(memory.chunk_id);
  values.emplace_back(memory.updated);
  values.push_back(store::value_of(memory.edited));
  values.push_back(store::value_of(memory.consolidated));
  values.push_back(store::value_of(memory.consolidation_failed));
  values.emplace_back(memory.failure);
  values.emplace_back(memory.invalidation_reason);
  values.emplace_back(memory.version);
  values.push_back(store::value_of(memory.invalidated));
  return values;
}

std::string places(std::string_view place, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += place;
  return text;
}

bool is_white_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

std::string with_single_spaces(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (!is_white_space(c))
      result += c;
    else if (!result.empty() && result.back() != ' ')
      result += ' ';
  }
  if (result.ends_with(' ')) result.pop_back();
  return result;
}

int64_t text_key(std::string_view text) {
  return static_cast<int64_t>(hash64(with_single_spaces(text)));
}

std::string embedding_bytes(std::span<const float> embedding) {
  std::string bytes(embedding.size_bytes(), '\0');
  if (!embedding.empty()) std::memcpy(bytes.data(), embedding.data(), bytes.size());
  return bytes;
}

std::vector<float> embedding_from(std::string_view bytes) {
  std::vector<float> embedding(bytes.size() / sizeof(float));
  if (!embedding.empty())
    std::memcpy(embedding.data(), bytes.data(), embedding.size() * sizeof(float));
  return embedding;
}

std::string metadata_text(const std::map<std::string, std::string>& metadata) {
  boost::json::object object;
  for (const auto& [key, value] : metadata)
    object.emplace(key, value);
  return boost::json::serialize(object);
}

Result<std::map<std::string, std::string>> metadata_from(std::string_view text) {
  std::map<std::string, std::string> metadata;
  if (text == "{}") return metadata;
  const Result<boost::json::value> value = parsed_column(text);
  if (!value) return value.error();
  const boost::json::object* const object = value->if_object();
  if (object == nullptr) return Error{ErrorKind::kInvalid, "metadata are no JSON object"};
  for (const auto& member : *object) {
    const boost::json::string* const found = member.value().if_string();
    if (found == nullptr)
      return Error{ErrorKind::kInvalid, "metadata have a value that is no text"};
    metadata.emplace(member.key(), *found);
  }
  return metadata;
}

Result<std::vector<std::string>> texts_from(std::string_view text) {
  std::vector<std::string> texts;
  if (text == "[]") return texts;
  const Result<boost::json::value> value = parsed_column(text);
  if (!value) return value.error();
  const boost::json::array* const array = value->if_array();
  if (array == nullptr) return Error{ErrorKind::kInvalid, "a list of texts is no JSON array"};
  for (const boost::json::value& element : *array) {
    const boost::json::string* const found = element.if_string();
    if (found == nullptr) return Error{ErrorKind::kInvalid, "a list of texts has another value"};
    texts.emplace_back(*found);
  }
  return texts;
}

MemoryTimes times_of(const store::DatabaseRow& row, int column) {
  return {.event = row.number_or_none(column),
          .occurred_start = row.number_or_none(column + 1),
          .occurred_end = row.number_or_none(column + 2),
          .mentioned = row.number_or_none(column + 3)};
}

// --- reading ----------------------------------------------------------------------------------

Result<std::vector<StoredMemory>> read_memories(const Queries& queries, std::string_view condition,
                                                std::span<const store::Value> values,
                                                WithEmbedding embedding) {
  const bool with_vector = embedding == WithEmbedding::kYes;
  const std::string sql =
      fmt::format("{}{}{}{} WHERE {}", kColumns, with_vector ? ", e.vector" : "", kFrom,
                  with_vector ? " LEFT JOIN embeddings AS e ON e.row = m.row" : "", condition);
  std::vector<StoredMemory> memories;
  Result<void> read;
  const Result<void> asked = queries.ask(sql, values, [&](const store::DatabaseRow& row) {
    if (!read) return;
    Result<StoredMemory> stored = stored_from(row, with_vector);
    if (stored)
      memories.push_back(*std::move(stored));
    else
      read = stored.error().in(fmt::format("memory {}", row.text(2)));
  });
  if (!asked) return asked.error();
  if (!read) return read.error();
  if (Result<void> found = read_sources(queries, memories); !found) return found.error();
  return memories;
}

Result<std::vector<StoredMemory>> read_memories(const Queries& queries, std::string_view condition,
                                                Queries::Values values, WithEmbedding embedding) {
  return read_memories(queries, condition, std::span(values.begin(), values.size()), embedding);
}

Result<std::vector<StoredMemory>> read_memories_of(const Queries& queries,
                                                   std::span<const MemoryId> ids,
                                                   WithEmbedding embedding) {
  if (ids.empty()) return std::vector<StoredMemory>();
  Result<std::vector<StoredMemory>> found = read_memories(
      queries, "m.id IN (SELECT value FROM json_each(?))", {json_list(ids)}, embedding);
  if (!found) return found;
  std::unordered_map<std::string_view, StoredMemory*> by_id;
  for (StoredMemory& stored : *found)
    by_id.emplace(stored.memory.id.text, &stored);
  std::vector<StoredMemory> ordered;
  ordered.reserve(found->size());
  for (const MemoryId& id : ids) {
    const auto place = by_id.find(id.text);
    if (place == by_id.end()) continue;
    StoredMemory* const stored = place->second;
    by_id.erase(place);
    ordered.push_back(std::move(*stored));
  }
  return ordered;
}

Result<StoredMemory> read_memory(const Queries& queries, const MemoryId& id,
                                 WithEmbedding embedding) {
  Result<std::vector<StoredMemory>> found =
      read_memories(queries, "m.id = ?", {id.text}, embedding);
  if (!found) return found.error();
  if (found->empty())
    return Error{ErrorKind::kNotFound, fmt::format("there is no memory \"{}\"", id.text)};
  return std::move(found->front());
}

// --- writing ----------------------------------------------------------------------------------

Result<void> add_memory(BankChange& change, StoredMemory& stored) {
  const Memory& memory = stored.memory;
  const Result<int64_t> tag_set = tag_set_added(change, memory.tags);
  if (!tag_set) return tag_set.error();
  stored.tag_set = *tag_set;
  std::vector<store::Value> values = written_values(stored);
  values.emplace_back(memory.id.text);
  values.emplace_back(memory.created);
  values.emplace_back(int64_t{memory.embedding.empty() ? 0 : 1});
  const std::string sql =
      fmt::format("INSERT INTO memories ({}, id, created, embedded) VALUES ({}?)",
                  fmt::join(kWrittenColumns, ", "), places("?, ", values.size() - 1));
  if (const Result<int64_t> added = change.change(sql, values); !added) return added.error();
  const Result<std::optional<int64_t>> row =
      change.queries().number("SELECT row FROM memories WHERE id = ?", {memory.id.text});
  if (!row) return row.error();
  stored.row = row->value_or(0);
  change.note(stored.row);
  if (memory.embedding.empty()) return {};
  return change.run("INSERT INTO embeddings (row, vector) VALUES (?, ?)",
                    {stored.row, store::Blob{embedding_bytes(memory.embedding)}});
}

Result<void> write_memory(BankChange& change, const StoredMemory& stored) {
  std::vector<store::Value> values = written_values(stored);
  values.emplace_back(stored.row);
  const std::string sql =
      fmt::format("UPDATE memories SET {} = ? WHERE row = ?", fmt::join(kWrittenColumns, " = ?, "));
  if (const Result<int64_t> written = change.change(sql, values); !written) return written.error();
  change.note(stored.row);
  return {};
}

Result<void> write_embedding(BankChange& change, int64_t row, std::span<const float> embedding) {
  change.note(row);
  Result<void> written = embedding.empty()
                             ? change.run("DELETE FROM embeddings WHERE row = ?", {row})
                             : change.run(
                                   "INSERT INTO embeddings (row, vector) VALUES (?, ?) "
                                   "ON CONFLICT (row) DO UPDATE SET vector = excluded.vector",
                                   {row, store::Blob{embedding_bytes(embedding)}});
  if (!written) return written;
  return change.run("UPDATE memories SET embedded = ? WHERE row = ?",
                    {int64_t{embedding.empty() ? 0 : 1}, row});
}

Result<void> check_embedding(BankChange& change, std::span<const float> embedding) {
  if (!std::ranges::all_of(embedding, [](float part) { return std::isfinite(part); })) {
    return Error{ErrorKind::kInvalid,
                 "an embedding has a part that is not a finite number: the embedding model does "
                 "not work; use another one"};
  }
  const auto size = static_cast<int64_t>(embedding.size());
  const Result<std::optional<int64_t>> wanted =
      change.queries().number("SELECT embedding_size FROM bank", {});
  if (!wanted) return wanted.error();
  if (wanted->value_or(0) == 0) return change.run("UPDATE bank SET embedding_size = ?", {size});
  if (**wanted == size) return {};
  std::string model;
  const Result<void> asked =
      change.queries().ask("SELECT embedding_model FROM bank", {},
                           [&](const store::DatabaseRow& row) { model = row.text(0); });
  if (!asked) return asked;
  return Error{
      ErrorKind::kInvalid,
      fmt::format("an embedding has {} numbers, and those of this bank have {}: use the embedding "
                  "model that it began with{}",
                  size, **wanted, model.empty() ? "" : fmt::format(" ({})", model))};
}

}  // namespace windrow::memory
