#include "memory/bank/sqlite/consolidation_changes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "memory/bank/sqlite/memory_rows.h"
#include "memory/bank/sqlite/tag_sets.h"

namespace windrow::memory {
namespace {

// The words of the index memories_pending, so that it is used.
constexpr std::string_view kPending =
    "m.consolidated IS NULL AND m.failed IS NULL AND m.invalidated IS NULL AND m.type < 2";

std::vector<Memory> memories_in(std::vector<StoredMemory> stored) {
  std::vector<Memory> memories;
  memories.reserve(stored.size());
  for (StoredMemory& one : stored)
    memories.push_back(std::move(one.memory));
  return memories;
}

// A fact with what its schedule needs, before the passes that it has had are taken off.
struct PendingRow {
  PendingFact fact;
  std::vector<Scope> passed;
};

Result<PendingRow> pending_row_from(const store::DatabaseRow& row) {
  PendingRow pending;
  pending.fact.id = MemoryId{row.text(1)};
  Result<Tags> tags = tags_from_json(row.text(2));
  if (!tags) return tags.error();
  Result<ObservationScopes> scopes = observation_scopes_from_text(row.text(3));
  if (!scopes) return scopes.error();
  pending.fact.tags = *std::move(tags);
  pending.fact.scopes = *std::move(scopes);
  return pending;
}

}  // namespace

Result<std::vector<PendingFact>> read_pending_facts(const Queries& queries) {
  std::vector<PendingRow> pending;
  std::unordered_map<int64_t, size_t> places;
  Result<void> read;
  Result<void> asked = queries.ask(
      fmt::format("SELECT m.row, m.id, t.tags, m.scopes FROM memories AS m "
                  "CROSS JOIN tag_sets AS t ON t.id = m.tag_set WHERE {} ORDER BY m.row",
                  kPending),
      {}, [&](const store::DatabaseRow& row) {
        if (!read) return;
        Result<PendingRow> one = pending_row_from(row);
        if (!one) {
          read = one.error().in(fmt::format("memory {}", row.text(1)));
          return;
        }
        places.emplace(row.number(0), pending.size());
        pending.push_back(*std::move(one));
      });
  if (asked && read) {
    asked = queries.ask(
        fmt::format("SELECT p.fact, t.tags FROM memories AS m CROSS JOIN passes AS p "
                    "ON p.fact = m.row CROSS JOIN tag_sets AS t ON t.id = p.tag_set WHERE {}",
                    kPending),
        {}, [&](const store::DatabaseRow& row) {
          Result<Tags> scope = tags_from_json(row.text(1));
          if (scope)
            pending[places.at(row.number(0))].passed.push_back(*std::move(scope));
          else
            read = scope.error().in("table passes");
        });
  }
  if (!asked) return asked.error();
  if (!read) return read.error();
  std::vector<PendingFact> facts;
  facts.reserve(pending.size());
  for (PendingRow& one : pending) {
    for (Scope& scope : resolve_scopes(one.fact.tags, one.fact.scopes)) {
      if (std::ranges::find(one.passed, scope) == one.passed.end())
        one.fact.scopes_left.push_back(std::move(scope));
    }
    facts.push_back(std::move(one.fact));
  }
  return facts;
}

Result<std::vector<Memory>> read_observations_of(const Queries& queries, const Scope& scope) {
  const Result<std::optional<int64_t>> tag_set = tag_set_of(queries, scope);
  if (!tag_set) return tag_set.error();
  if (!*tag_set) return std::vector<Memory>();
  Result<std::vector<StoredMemory>> stored = read_memories(
      queries, "m.tag_set = ? AND m.type = 2 AND m.invalidated IS NULL ORDER BY m.row", {**tag_set},
      WithEmbedding::kYes);
  if (!stored) return stored.error();
  return memories_in(*std::move(stored));
}

// Of the facts with one text, the oldest one with its oldest observation stands for all.
Result<std::vector<BankStore::Repeated>> read_repeated(const Queries& queries, const Scope& scope,
                                                       std::span<const std::string> texts) {
  std::vector<BankStore::Repeated> repeated;
  const Result<std::optional<int64_t>> tag_set = tag_set_of(queries, scope);
  if (!tag_set) return tag_set.error();
  if (!*tag_set) return repeated;
  std::set<std::string> wanted;
  std::set<int64_t> keys;
  for (const std::string& text : texts) {
    wanted.insert(with_single_spaces(text));
    keys.insert(text_key(text));
  }
  // Observations of a scope are few, and facts with one text may be many.
  const Result<void> asked = queries.ask(
      "SELECT f.id, o.id, f.text FROM memories AS o "
      "CROSS JOIN memories AS f ON f.row = (SELECT max(s.fact) FROM sources AS s "
      "WHERE s.observation = o.row AND s.position >= o.reworded) "
      "WHERE o.type = 2 AND o.tag_set = ? AND o.invalidated IS NULL AND f.type < 2 "
      "AND f.invalidated IS NULL AND f.text_key IN (SELECT value FROM json_each(?)) "
      "ORDER BY o.row",
      {**tag_set, fmt::format("[{}]", fmt::join(keys, ","))}, [&](const store::DatabaseRow& row) {
        const auto found = wanted.find(with_single_spaces(row.text(2)));
        if (found == wanted.end()) return;
        repeated.push_back({.fact = MemoryId{row.text(0)}, .observation = MemoryId{row.text(1)}});
        wanted.erase(found);
      });
  if (!asked) return asked.error();
  return repeated;
}

Result<void> mark_facts_failed(BankChange& change, std::span<const Witness> facts,
                               std::string_view reason) {
  for (const Witness& fact : facts) {
    Result<void> marked = change.run(
        "UPDATE memories SET failed = ?, failure = ? WHERE id = ? AND version = ? AND type < 2 "
        "AND consolidated IS NULL AND invalidated IS NULL",
        {change.now(), std::string(reason), fact.id.text, fact.version});
    if (!marked) return marked;
  }
  return {};
}

Result<int64_t> recover_failed_facts(BankChange& change) {
  return change.change("UPDATE memories SET failed = NULL, failure = '' WHERE failed IS NOT NULL");
}

Result<std::vector<Memory>> read_without_embedding(const Queries& queries, int64_t limit) {
  Result<std::vector<StoredMemory>> stored =
      read_memories(queries, "m.embedded = 0 AND m.invalidated IS NULL ORDER BY m.row LIMIT ?",
                    {limit}, WithEmbedding::kNo);
  if (!stored) return stored.error();
  return memories_in(*std::move(stored));
}

Result<void> embed_memory(BankChange& change, const Witness& memory,
                          std::span<const float> embedding) {
  const Result<std::optional<int64_t>> row = change.queries().number(
      "SELECT row FROM memories WHERE id = ? AND version = ?", {memory.id.text, memory.version});
  if (!row) return row.error();
  if (!*row || embedding.empty()) return {};
  if (Result<void> fits = check_embedding(change, embedding); !fits) return fits;
  return write_embedding(change, **row, embedding);
}

}  // namespace windrow::memory
