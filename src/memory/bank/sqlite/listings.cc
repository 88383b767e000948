#include "memory/bank/sqlite/listings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "memory/bank/sqlite/memory_rows.h"

namespace windrow::memory {
namespace {

// Conditions with their values.
struct Conditions {
  std::string sql = "1";
  std::vector<store::Value> values;

  void add(std::string_view condition) { sql += fmt::format(" AND {}", condition); }
  void add(std::string_view condition, store::Value value) {
    add(condition);
    values.push_back(std::move(value));
  }
};

Conditions conditions_of(const MemoryQuery& query,
                         const std::optional<std::vector<int64_t>>& tag_sets) {
  Conditions conditions;
  conditions.add(query.valid.value_or(true) ? "m.invalidated IS NULL"
                                            : "m.invalidated IS NOT NULL");
  if (!query.types.empty()) {
    std::vector<int64_t> types;
    for (const MemoryType type : query.types)
      types.push_back(static_cast<int64_t>(type));
    conditions.add("m.type IN (SELECT value FROM json_each(?))", json_list(types));
  }
  if (!query.text.empty()) conditions.add("m.text LIKE ? ESCAPE '\\'", like_pattern(query.text));
  if (!query.document_id.empty()) {
    conditions.add("m.document <> ''");
    conditions.add("m.document = ?", query.document_id);
  }
  if (tag_sets)
    conditions.add("m.tag_set IN (SELECT value FROM json_each(?))", json_list(*tag_sets));
  if (query.consolidation) {
    conditions.add("m.type < 2");
    switch (*query.consolidation) {
      case ConsolidationState::kPending:
        conditions.add("m.consolidated IS NULL AND m.failed IS NULL");
        break;
      case ConsolidationState::kDone:
        conditions.add("m.consolidated IS NOT NULL");
        break;
      case ConsolidationState::kFailed:
        conditions.add("m.failed IS NOT NULL");
        break;
    }
  }
  return conditions;
}

constexpr std::string_view kDocumentColumns =
    "SELECT d.id, d.text, t.tags, d.context, d.metadata, d.created, d.updated, "
    "(SELECT count(*) FROM memories AS m WHERE m.document = d.id AND m.document <> '') "
    "FROM documents AS d CROSS JOIN tag_sets AS t ON t.id = d.tag_set ";

Result<std::vector<Document>> documents_where(const Queries& queries, std::string_view condition,
                                              Queries::Values values) {
  std::vector<Document> documents;
  Result<void> read;
  const Result<void> asked = queries.ask(
      fmt::format("{}{}", kDocumentColumns, condition), values, [&](const store::DatabaseRow& row) {
        if (!read) return;
        Document document;
        document.id = row.text(0);
        document.text = row.text(1);
        Result<Tags> tags = tags_from_json(row.text(2));
        Result<std::map<std::string, std::string>> metadata = metadata_from(row.bytes(4));
        if (!tags || !metadata) {
          read =
              (tags ? metadata.error() : tags.error()).in(fmt::format("document {}", row.text(0)));
          return;
        }
        document.tags = *std::move(tags);
        document.context = row.text(3);
        document.metadata = *std::move(metadata);
        document.created = row.number(5);
        document.updated = row.number(6);
        document.memory_count = row.number(7);
        documents.push_back(std::move(document));
      });
  if (!asked) return asked.error();
  if (!read) return read.error();
  return documents;
}

Result<std::vector<Chunk>> chunks_where(const Queries& queries, std::string_view condition,
                                        std::string_view value) {
  std::vector<Chunk> chunks;
  const Result<void> asked =
      queries.ask(fmt::format("SELECT id, document, place, text FROM chunks WHERE {}", condition),
                  {std::string(value)}, [&](const store::DatabaseRow& row) {
                    chunks.push_back({.id = row.text(0),
                                      .document_id = row.text(1),
                                      .index = static_cast<int32_t>(row.number(2)),
                                      .text = row.text(3)});
                  });
  if (!asked) return asked.error();
  return chunks;
}

// How many valid memories have each set of tags.
Result<std::vector<ScopeCount>> counts_by_tags(const Queries& queries, std::string_view condition) {
  std::vector<ScopeCount> counts;
  Result<void> read;
  const Result<void> asked =
      queries.ask(fmt::format("SELECT t.tags, c.count FROM (SELECT m.tag_set, count(*) AS count "
                              "FROM memories AS m WHERE {} GROUP BY m.tag_set) AS c "
                              "CROSS JOIN tag_sets AS t ON t.id = c.tag_set",
                              condition),
                  {}, [&](const store::DatabaseRow& row) {
                    if (!read) return;
                    Result<Tags> tags = tags_from_json(row.text(0));
                    if (tags)
                      counts.push_back({.scope = *std::move(tags), .count = row.number(1)});
                    else
                      read = tags.error().in("table tag_sets");
                  });
  if (!asked) return asked.error();
  if (!read) return read.error();
  return counts;
}

}  // namespace

std::string like_pattern(std::string_view text) {
  std::string pattern = "%";
  for (const char c : text) {
    if (c == '%' || c == '_' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern + '%';
}

Result<MemoryPage> read_page(const Queries& queries, const MemoryQuery& query,
                             const std::optional<std::vector<int64_t>>& tag_sets) {
  Conditions conditions = conditions_of(query, tag_sets);
  MemoryPage page;
  const Result<void> counted = queries.ask(
      fmt::format("SELECT count(*) FROM memories AS m WHERE {}", conditions.sql), conditions.values,
      [&](const store::DatabaseRow& row) { page.total = row.number(0); });
  if (!counted) return counted.error();
  conditions.values.emplace_back(query.limit);
  conditions.values.emplace_back(query.offset);
  Result<std::vector<StoredMemory>> found =
      read_memories(queries,
                    fmt::format("{} ORDER BY m.mentioned DESC, m.created DESC, m.row DESC "
                                "LIMIT ? OFFSET ?",
                                conditions.sql),
                    conditions.values, WithEmbedding::kNo);
  if (!found) return found.error();
  page.memories.reserve(found->size());
  for (StoredMemory& stored : *found)
    page.memories.push_back(std::move(stored.memory));
  return page;
}

Result<std::vector<ObservationChange>> read_history(const Queries& queries, const MemoryId& id) {
  const Result<StoredMemory> stored = read_memory(queries, id, WithEmbedding::kNo);
  if (!stored) return stored.error();
  std::vector<ObservationChange> changes;
  Result<void> read;
  const Result<void> asked = queries.ask(
      "SELECT h.changed, h.text, t.tags, h.event, h.occurred_start, h.occurred_end, h.mentioned, "
      "h.new_sources FROM history AS h CROSS JOIN tag_sets AS t ON t.id = h.tag_set "
      "WHERE h.observation = ? ORDER BY h.number DESC",
      {stored->row}, [&](const store::DatabaseRow& row) {
        if (!read) return;
        ObservationChange change;
        change.changed = row.number(0);
        change.previous_text = row.text(1);
        Result<Tags> tags = tags_from_json(row.text(2));
        Result<std::vector<std::string>> sources = texts_from(row.bytes(7));
        if (!tags || !sources) {
          read = (tags ? sources.error() : tags.error()).in(fmt::format("history of {}", id.text));
          return;
        }
        change.previous_tags = *std::move(tags);
        change.previous_times = times_of(row, 3);
        for (std::string& source : *sources)
          change.new_sources.push_back(MemoryId{std::move(source)});
        changes.push_back(std::move(change));
      });
  if (!asked) return asked.error();
  if (!read) return read.error();
  return changes;
}

Result<std::vector<Document>> read_documents(const Queries& queries, std::string_view text,
                                             int64_t limit, int64_t offset, int64_t* total) {
  const std::string pattern = like_pattern(text);
  if (total != nullptr) {
    const Result<std::optional<int64_t>> count = queries.number(
        "SELECT count(*) FROM documents AS d WHERE d.id LIKE ? ESCAPE '\\'", {pattern});
    if (!count) return count.error();
    *total = count->value_or(0);
  }
  return documents_where(queries,
                         "WHERE d.id LIKE ? ESCAPE '\\' ORDER BY d.created DESC, d.number DESC "
                         "LIMIT ? OFFSET ?",
                         {pattern, limit, offset});
}

Result<Document> read_document(const Queries& queries, std::string_view id) {
  Result<std::vector<Document>> found =
      documents_where(queries, "WHERE d.id = ?", {std::string(id)});
  if (!found) return found.error();
  if (found->empty())
    return Error{ErrorKind::kNotFound, fmt::format("there is no document \"{}\"", id)};
  return std::move(found->front());
}

Result<std::vector<Chunk>> read_chunks(const Queries& queries, std::string_view document_id) {
  return chunks_where(queries, "document = ? ORDER BY place, id", document_id);
}

Result<Chunk> read_chunk(const Queries& queries, std::string_view id) {
  Result<std::vector<Chunk>> found = chunks_where(queries, "id = ?", id);
  if (!found) return found.error();
  if (found->empty())
    return Error{ErrorKind::kNotFound, fmt::format("there is no chunk \"{}\"", id)};
  return std::move(found->front());
}

Result<BankStats> read_stats(const Queries& queries) {
  BankStats stats;
  Result<void> asked =
      queries.ask("SELECT type, count(*) FROM memories WHERE invalidated IS NULL GROUP BY type", {},
                  [&](const store::DatabaseRow& row) {
                    const int64_t count = row.number(1);
                    if (row.number(0) == static_cast<int64_t>(MemoryType::kWorld))
                      stats.facts_world = count;
                    if (row.number(0) == static_cast<int64_t>(MemoryType::kExperience))
                      stats.facts_experience = count;
                    if (row.number(0) == static_cast<int64_t>(MemoryType::kObservation))
                      stats.observations = count;
                  });
  if (asked) {
    asked = queries.ask(
        "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM memories WHERE "
        "consolidated IS NULL AND failed IS NULL AND invalidated IS NULL AND type < 2), "
        "(SELECT count(*) FROM memories WHERE failed IS NOT NULL AND invalidated IS NULL), "
        "(SELECT last_consolidated FROM bank)",
        {}, [&](const store::DatabaseRow& row) {
          stats.documents = row.number(0);
          stats.pending_consolidation = row.number(1);
          stats.failed_consolidation = row.number(2);
          stats.last_consolidated = row.number_or_none(3);
        });
  }
  if (asked) {
    asked = queries.ask("SELECT status, count(*) FROM operations GROUP BY status", {},
                        [&](const store::DatabaseRow& row) {
                          stats.operations_by_status.emplace(row.text(0), row.number(1));
                        });
  }
  if (!asked) return asked.error();
  return stats;
}

Result<std::vector<EntityCount>> read_entities(const Queries& queries) {
  std::vector<EntityCount> counts;
  const Result<void> asked = queries.ask(
      "SELECT min(e.value), count(DISTINCT m.row), min(coalesce(m.mentioned, m.created)), "
      "max(coalesce(m.mentioned, m.created)) AS last "
      "FROM memories AS m CROSS JOIN json_each(m.entities) AS e "
      "WHERE m.type < 2 AND m.invalidated IS NULL AND m.entities <> '[]' "
      "GROUP BY lower(e.value) ORDER BY 2 DESC, last DESC, 1",
      {}, [&](const store::DatabaseRow& row) {
        counts.push_back({.name = row.text(0),
                          .mentions = row.number(1),
                          .first_seen = row.number_or_none(2),
                          .last_seen = row.number_or_none(3)});
      });
  if (!asked) return asked.error();
  return counts;
}

Result<std::vector<TagCount>> read_tags(const Queries& queries) {
  const Result<std::vector<ScopeCount>> sets = counts_by_tags(queries, "m.invalidated IS NULL");
  if (!sets) return sets.error();
  std::map<std::string, int64_t> by_tag;
  for (const ScopeCount& set : *sets)
    for (const std::string& tag : set.scope.list())
      by_tag[tag] += set.count;
  std::vector<TagCount> counts;
  counts.reserve(by_tag.size());
  for (const auto& [tag, count] : by_tag)
    counts.push_back({.tag = tag, .count = count});
  std::ranges::sort(counts, [](const TagCount& one, const TagCount& other) {
    return std::tie(other.count, one.tag) < std::tie(one.count, other.tag);
  });
  return counts;
}

Result<std::vector<ScopeCount>> read_scopes(const Queries& queries) {
  Result<std::vector<ScopeCount>> scopes =
      counts_by_tags(queries, "m.type = 2 AND m.invalidated IS NULL");
  if (scopes) std::ranges::sort(*scopes, {}, &ScopeCount::scope);
  return scopes;
}

}  // namespace windrow::memory
