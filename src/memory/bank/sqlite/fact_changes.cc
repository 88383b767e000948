#include "memory/bank/sqlite/fact_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "memory/bank/sqlite/memory_rows.h"
#include "memory/bank/sqlite/operation_rows.h"
#include "memory/bank/sqlite/tag_sets.h"

namespace windrow::memory {
namespace {

// Removes facts, and the observations that come from them.
Result<void> remove_facts(BankChange& change, std::span<const int64_t> rows) {
  if (rows.empty()) return {};
  const std::string list = json_list(rows);
  const Result<std::vector<int64_t>> observations = change.queries().numbers(
      "SELECT DISTINCT s.observation FROM json_each(?) AS gone CROSS JOIN sources AS s "
      "ON s.fact = gone.value",
      {list});
  if (!observations) return observations.error();
  if (Result<void> removed = remove_observations(change, *observations); !removed) return removed;
  change.note(rows);
  return change.run("DELETE FROM memories WHERE row IN (SELECT value FROM json_each(?))", {list});
}

// The fact is consolidated again in all of its scopes, and observations that come from it go.
Result<void> begin_again(BankChange& change, int64_t fact) {
  const Result<std::vector<int64_t>> observations =
      change.queries().numbers("SELECT observation FROM sources WHERE fact = ?", {fact});
  if (!observations) return observations.error();
  if (Result<void> removed = remove_observations(change, *observations); !removed) return removed;
  return change.run("DELETE FROM passes WHERE fact = ?", {fact});
}

// --- retain -----------------------------------------------------------------------------------

Result<void> check_embeddings(BankChange& change, const Retained& retained) {
  for (const NewFact& fact : retained.facts) {
    if (fact.embedding.empty()) continue;
    if (Result<void> fits = check_embedding(change, fact.embedding); !fits) return fits;
  }
  return {};
}

// Whether the documents are as they were when the change was made up.
Result<void> check_documents(BankChange& change, const Retained& retained) {
  for (size_t i = 0; i < retained.texts_before.size(); ++i) {
    const std::string& id = retained.documents.at(i).id;
    std::optional<std::string> text;
    const Result<void> asked =
        change.queries().ask("SELECT text FROM documents WHERE id = ?", {id},
                             [&text](const store::DatabaseRow& row) { text = row.text(0); });
    if (!asked) return asked.error();
    if (text != retained.texts_before[i]) {
      return Error{ErrorKind::kConflict,
                   fmt::format("the document \"{}\" was changed by another request meanwhile; send "
                               "the request again",
                               id)};
    }
  }
  return {};
}

Result<void> write_document(BankChange& change, const Document& document) {
  const Result<int64_t> tag_set = tag_set_added(change, document.tags);
  if (!tag_set) return tag_set.error();
  return change.run(
      "INSERT INTO documents (id, text, tag_set, context, metadata, created, updated) "
      "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET text = excluded.text, "
      "tag_set = excluded.tag_set, context = excluded.context, metadata = excluded.metadata, "
      "updated = excluded.updated",
      {document.id, document.text, *tag_set, document.context, metadata_text(document.metadata),
       document.created == 0 ? change.now() : document.created, change.now()});
}

Result<void> remove_chunks(BankChange& change, std::span<const std::string> chunks) {
  if (chunks.empty()) return {};
  const std::string list = json_list(chunks);
  const Result<std::vector<int64_t>> facts = change.queries().numbers(
      "SELECT row FROM memories WHERE chunk <> '' AND chunk IN (SELECT value FROM json_each(?))",
      {list});
  if (!facts) return facts.error();
  if (Result<void> removed = remove_facts(change, *facts); !removed) return removed;
  return change.run("DELETE FROM chunks WHERE id IN (SELECT value FROM json_each(?))", {list});
}

Result<void> add_chunks(BankChange& change, std::span<const Chunk> chunks) {
  for (const Chunk& chunk : chunks) {
    Result<void> added =
        change.run("INSERT INTO chunks (id, document, place, text) VALUES (?, ?, ?, ?)",
                   {chunk.id, chunk.document_id, int64_t{chunk.index}, chunk.text});
    if (!added && added.error().kind == ErrorKind::kConflict) {
      return Error{ErrorKind::kConflict,
                   fmt::format("the chunk \"{}\" exists; list it among those that are gone if it "
                               "is to be replaced",
                               chunk.id)};
    }
    if (!added) return added;
  }
  return {};
}

StoredMemory stored_of(const NewFact& fact, std::string id, UnixMs now) {
  StoredMemory stored;
  Memory& memory = stored.memory;
  memory.id = MemoryId{std::move(id)};
  memory.type = fact.type;
  memory.text = fact.text;
  memory.context = fact.context;
  memory.times = fact.times;
  memory.tags = fact.tags;
  memory.scopes = fact.scopes;
  memory.metadata = fact.metadata;
  memory.entities = fact.entities;
  memory.document_id = fact.document_id;
  memory.chunk_id = fact.chunk_id;
  memory.created = now;
  memory.updated = now;
  memory.embedding = fact.embedding;
  return stored;
}

// --- edit -------------------------------------------------------------------------------------

// Whether what consolidation made of the fact does not hold any more.
bool changes_meaning(const Memory& before, const Memory& after) {
  return before.text != after.text || before.tags != after.tags || before.times != after.times ||
         before.scopes != after.scopes ||
         before.invalidated.has_value() != after.invalidated.has_value();
}

// An embedding that `edit` left as it was belongs to the text as it was.
Result<void> write_edited_embedding(BankChange& change, const StoredMemory& before,
                                    StoredMemory& after) {
  std::vector<float>& embedding = after.memory.embedding;
  if (embedding == before.memory.embedding) {
    if (before.memory.text == after.memory.text) return {};
    embedding.clear();
  }
  if (!embedding.empty()) {
    if (Result<void> fits = check_embedding(change, embedding); !fits) return fits;
  }
  return write_embedding(change, after.row, embedding);
}

}  // namespace

Result<void> remove_observations(BankChange& change, std::span<const int64_t> rows) {
  if (rows.empty()) return {};
  const std::string list = json_list(rows);
  Result<void> done = change.run(
      "DELETE FROM passes WHERE (fact, tag_set) IN (SELECT s.fact, o.tag_set "
      "FROM json_each(?) AS gone CROSS JOIN memories AS o ON o.row = gone.value "
      "CROSS JOIN sources AS s ON s.observation = o.row)",
      {list});
  if (done) {
    done = change.run(
        "UPDATE memories SET consolidated = NULL, failed = NULL, failure = '' WHERE row IN "
        "(SELECT s.fact FROM json_each(?) AS gone CROSS JOIN sources AS s "
        "ON s.observation = gone.value)",
        {list});
  }
  change.note(rows);
  if (!done) return done;
  return change.run("DELETE FROM memories WHERE row IN (SELECT value FROM json_each(?))", {list});
}

Result<std::vector<MemoryId>> retain_facts(BankChange& change, const Retained& retained,
                                           const std::function<std::string()>& new_uuid) {
  for (const NewFact& fact : retained.facts) {
    if (fact.type == MemoryType::kObservation) {
      return Error{ErrorKind::kInvalid,
                   "observations come from consolidation; add a fact of the type world or "
                   "experience"};
    }
  }
  Result<void> done = check_embeddings(change, retained);
  if (done) done = check_documents(change, retained);
  if (done) done = remove_chunks(change, retained.chunks_gone);
  for (size_t i = 0; done && i < retained.documents.size(); ++i)
    done = write_document(change, retained.documents[i]);
  if (done) done = add_chunks(change, retained.chunks);
  std::vector<MemoryId> ids;
  ids.reserve(retained.facts.size());
  for (const NewFact& fact : retained.facts) {
    if (!done) break;
    StoredMemory stored = stored_of(fact, new_uuid(), change.now());
    done = add_memory(change, stored);
    ids.push_back(std::move(stored.memory.id));
  }
  if (done && retained.consolidate) {
    const Result<BankStore::Submitted> submitted =
        add_consolidation(change, OperationId{new_uuid()});
    if (!submitted) done = submitted.error();
  }
  if (done && retained.work) {
    const Retained::Work& work = *retained.work;
    done = complete_operation(change, work.operation, work.worker, work.result);
  }
  if (!done) return done.error();
  return ids;
}

Result<Memory> edit_fact(BankChange& change, const MemoryId& id,
                         const std::function<Result<void>(Memory&)>& edit) {
  const Result<StoredMemory> before = read_memory(change.queries(), id, WithEmbedding::kYes);
  if (!before) return before.error();
  if (before->memory.type == MemoryType::kObservation) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("the memory \"{}\" is an observation, which consolidation writes; "
                             "change the facts that it comes from",
                             id.text)};
  }
  StoredMemory after = *before;
  if (Result<void> edited = edit(after.memory); !edited) return edited.error();
  if (after.memory.type == MemoryType::kObservation || after.memory.id != id)
    return Error{ErrorKind::kInvalid, "a fact keeps its id, and cannot become an observation"};
  const Result<int64_t> tag_set = tag_set_added(change, after.memory.tags);
  if (!tag_set) return tag_set.error();
  after.tag_set = *tag_set;
  after.memory.edited = change.now();
  Result<void> done;
  if (changes_meaning(before->memory, after.memory)) {
    done = begin_again(change, after.row);
    after.memory.version = before->memory.version + 1;
    after.memory.updated = change.now();
    after.memory.consolidated.reset();
    after.memory.consolidation_failed.reset();
    after.memory.failure.clear();
  }
  if (done) done = write_memory(change, after);
  if (done) done = write_edited_embedding(change, *before, after);
  if (!done) return done.error();
  return std::move(after.memory);
}

Result<int64_t> clear_memories(BankChange& change, std::optional<MemoryType> type) {
  const Result<std::vector<int64_t>> rows =
      type ? change.queries().numbers("SELECT row FROM memories WHERE type = ?",
                                      {static_cast<int64_t>(*type)})
           : change.queries().numbers("SELECT row FROM memories", {});
  if (!rows) return rows.error();
  Result<void> done;
  if (!type) {
    change.note(*rows);
    done = change.run("DELETE FROM sources");
    if (done) done = change.run("DELETE FROM memories");
  } else if (*type == MemoryType::kObservation) {
    done = remove_observations(change, *rows);
  } else {
    done = remove_facts(change, *rows);
  }
  // A chunk that stayed would be taken for one that need not be retained again.
  if (done && type != MemoryType::kObservation) {
    done = change.run(
        "DELETE FROM chunks WHERE NOT EXISTS "
        "(SELECT 1 FROM memories AS m WHERE m.chunk = chunks.id AND m.chunk <> '')");
    if (done) {
      done = change.run(
          "DELETE FROM documents WHERE NOT EXISTS "
          "(SELECT 1 FROM memories AS m WHERE m.document = documents.id AND m.document <> '') "
          "AND NOT EXISTS (SELECT 1 FROM chunks AS c WHERE c.document = documents.id)");
    }
  }
  if (!done) return done.error();
  return static_cast<int64_t>(rows->size());
}

Result<int64_t> clear_observations_of_fact(BankChange& change, const MemoryId& fact) {
  const Result<StoredMemory> stored = read_memory(change.queries(), fact, WithEmbedding::kNo);
  if (!stored) return stored.error();
  const Result<std::vector<int64_t>> observations =
      change.queries().numbers("SELECT observation FROM sources WHERE fact = ?", {stored->row});
  if (!observations) return observations.error();
  if (Result<void> removed = remove_observations(change, *observations); !removed)
    return removed.error();
  return static_cast<int64_t>(observations->size());
}

Result<int64_t> remove_document(BankChange& change, std::string_view id) {
  const std::string document(id);
  const Result<std::vector<int64_t>> facts = change.queries().numbers(
      "SELECT row FROM memories WHERE document = ? AND document <> ''", {document});
  if (!facts) return facts.error();
  if (Result<void> removed = remove_facts(change, *facts); !removed) return removed.error();
  if (Result<void> removed = change.run("DELETE FROM chunks WHERE document = ?", {document});
      !removed)
    return removed.error();
  const Result<int64_t> removed = change.change("DELETE FROM documents WHERE id = ?", {document});
  if (!removed) return removed.error();
  if (*removed == 0 && facts->empty())
    return Error{ErrorKind::kNotFound, fmt::format("there is no document \"{}\"", id)};
  return static_cast<int64_t>(facts->size());
}

}  // namespace windrow::memory
