#include "memory/bank/sqlite/batch_effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memory/bank/sqlite/memory_rows.h"
#include "memory/bank/sqlite/tag_sets.h"

namespace windrow::memory {
namespace {

Error stale(std::string message) {
  return {ErrorKind::kConflict, message + "; do the batch again from what is there now"};
}

// One use for one batch.
class EffectsOfBatch {
 public:
  EffectsOfBatch(BankChange& change, const BatchEffects& effects)
      : change_(change), effects_(effects) {}

  Result<void> apply() {
    const Result<int64_t> scope = tag_set_added(change_, effects_.scope);
    if (!scope) return scope.error();
    scope_ = *scope;
    Result<void> done = check_witnesses();
    if (done) done = read_facts();
    for (size_t i = 0; done && i < effects_.deletes.size(); ++i)
      done = remove(effects_.deletes[i]);
    for (size_t i = 0; done && i < effects_.updates.size(); ++i)
      done = update(effects_.updates[i]);
    for (size_t i = 0; done && i < effects_.creates.size(); ++i)
      done = create(effects_.creates[i]);
    if (done && !effects_.creates.empty()) done = check_limit();
    if (done) done = stamp();
    return done;
  }

 private:
  Result<void> check_witnesses() {
    for (const Witness& witness : effects_.witnesses) {
      int64_t version = 0;
      bool is_valid = false;
      const Result<void> asked =
          change_.queries().ask("SELECT version, invalidated IS NULL FROM memories WHERE id = ?",
                                {witness.id.text}, [&](const store::DatabaseRow& row) {
                                  version = row.number(0);
                                  is_valid = row.number(1) != 0;
                                });
      if (!asked) return asked;
      if (version == 0) return stale(fmt::format("the memory \"{}\" is gone", witness.id.text));
      if (!is_valid) return stale(fmt::format("the memory \"{}\" is invalid", witness.id.text));
      if (version != witness.version) {
        return stale(fmt::format("the memory \"{}\" has changed: it has version {}, not {}",
                                 witness.id.text, version, witness.version));
      }
    }
    return {};
  }

  // A batch is done once: a second worker that comes with the same facts is too late.
  Result<void> read_facts() {
    std::vector<MemoryId> ids;
    ids.reserve(effects_.facts.size());
    for (const BatchEffects::FactDone& fact : effects_.facts)
      ids.push_back(fact.id);
    Result<std::vector<StoredMemory>> found =
        read_memories_of(change_.queries(), ids, WithEmbedding::kNo);
    if (!found) return found.error();
    for (StoredMemory& stored : *found) {
      const Memory& fact = stored.memory;
      const std::vector<Scope> scopes = resolve_scopes(fact.tags, fact.scopes);
      if (fact.type == MemoryType::kObservation || fact.invalidated ||
          std::ranges::find(scopes, effects_.scope) == scopes.end()) {
        return stale(fmt::format("the memory \"{}\" is no fact of the scope {}", fact.id.text,
                                 to_json(effects_.scope)));
      }
      const Result<std::optional<int64_t>> passed = change_.queries().number(
          "SELECT 1 FROM passes WHERE fact = ? AND tag_set = ?", {stored.row, scope_});
      if (!passed) return passed.error();
      if (*passed) {
        return stale(fmt::format("the fact \"{}\" was consolidated in the scope {} already",
                                 fact.id.text, to_json(effects_.scope)));
      }
      MemoryId id = fact.id;
      sources_.emplace(std::move(id), std::move(stored));
    }
    for (const MemoryId& id : ids)
      if (!sources_.contains(id)) return stale(fmt::format("the fact \"{}\" is gone", id.text));
    return {};
  }

  // An observation that this batch may change.
  Result<StoredMemory> target(const MemoryId& id) {
    Result<StoredMemory> stored = read_memory(change_.queries(), id, WithEmbedding::kNo);
    if (!stored && stored.error().kind == ErrorKind::kNotFound)
      return stale(fmt::format("the observation \"{}\" is gone", id.text));
    if (!stored) return stored;
    const Memory& memory = stored->memory;
    if (memory.type != MemoryType::kObservation || memory.invalidated ||
        memory.tags != effects_.scope) {
      return stale(fmt::format("the memory \"{}\" is no observation of the scope {}", id.text,
                               to_json(effects_.scope)));
    }
    return stored;
  }

  Result<void> remove(const MemoryId& id) {
    const Result<StoredMemory> stored = target(id);
    if (!stored) return stored.error();
    Result<std::vector<StoredMemory>> sources =
        read_memories_of(change_.queries(), stored->memory.sources, WithEmbedding::kNo);
    if (!sources) return sources.error();
    for (StoredMemory& source : *sources) {
      MemoryId fact = source.memory.id;
      sources_.emplace(std::move(fact), std::move(source));
    }
    change_.note(stored->row);
    return change_.run("DELETE FROM memories WHERE row = ?", {stored->row});
  }

  Result<const StoredMemory*> source(const MemoryId& id) const {
    const auto found = sources_.find(id);
    if (found == sources_.end()) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("the source \"{}\" is no fact of this batch; name only facts that "
                               "the model was shown",
                               id.text)};
    }
    return &found->second;
  }

  Result<void> add_source(int64_t observation, int64_t position, int64_t fact) {
    return change_.run("INSERT INTO sources (observation, position, fact) VALUES (?, ?, ?)",
                       {observation, position, fact});
  }

  Result<void> update(const UpdateObservation& wanted) {
    Result<StoredMemory> stored = target(wanted.id);
    if (!stored) return stored.error();
    Memory& memory = stored->memory;
    const Memory before = memory;
    std::set<MemoryId> known(memory.sources.begin(), memory.sources.end());
    std::vector<MemoryId> added;
    Result<std::optional<int64_t>> last = change_.queries().number(
        "SELECT max(position) FROM sources WHERE observation = ?", {stored->row});
    if (!last) return last.error();
    int64_t position = last->value_or(-1);
    for (const MemoryId& id : wanted.new_sources) {
      if (!known.insert(id).second) continue;
      const Result<const StoredMemory*> fact = source(id);
      if (!fact) return fact.error();
      if (Result<void> done = add_source(stored->row, ++position, (*fact)->row); !done) return done;
      memory.times = widened(memory.times, (*fact)->memory.times);
      added.push_back(id);
    }
    const bool is_reworded = wanted.text != before.text;
    if (!is_reworded && added.empty()) return {};
    memory.text = wanted.text;
    memory.updated = change_.now();
    ++memory.version;
    if (Result<void> done = keep_history(*stored, before, added); !done) return done;
    if (Result<void> done = write_memory(change_, *stored); !done || !is_reworded) return done;
    Result<void> done = change_.run("UPDATE memories SET reworded = ? WHERE row = ?",
                                    {position + 1 - std::ssize(added), stored->row});
    return done ? write_embedding(change_, stored->row, {}) : done;
  }

  Result<void> keep_history(const StoredMemory& stored, const Memory& before,
                            std::span<const MemoryId> added) {
    if (effects_.history_max <= 0) return {};
    Result<void> done = change_.run(
        "INSERT INTO history (observation, changed, text, tag_set, event, occurred_start, "
        "occurred_end, mentioned, new_sources) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        {stored.row, change_.now(), before.text, stored.tag_set,
         store::value_of(before.times.event), store::value_of(before.times.occurred_start),
         store::value_of(before.times.occurred_end), store::value_of(before.times.mentioned),
         json_list(added)});
    if (!done) return done;
    return change_.run(
        "DELETE FROM history WHERE observation = ?1 AND number <= (SELECT number FROM history "
        "WHERE observation = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)",
        {stored.row, int64_t{effects_.history_max}});
  }

  Result<void> create(const CreateObservation& wanted) {
    StoredMemory stored;
    Memory& memory = stored.memory;
    memory.id = wanted.id;
    memory.type = MemoryType::kObservation;
    memory.text = wanted.text;
    memory.tags = effects_.scope;
    memory.created = change_.now();
    memory.updated = change_.now();
    std::vector<int64_t> facts;
    std::set<MemoryId> known;
    for (const MemoryId& id : wanted.sources) {
      if (!known.insert(id).second) continue;
      const Result<const StoredMemory*> fact = source(id);
      if (!fact) return fact.error();
      const MemoryTimes& times = (*fact)->memory.times;
      memory.times = facts.empty() ? times : widened(memory.times, times);
      facts.push_back((*fact)->row);
    }
    if (facts.empty()) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("the new observation \"{}\" has no source; name the facts that it "
                               "comes from",
                               wanted.id.text)};
    }
    if (Result<void> added = add_memory(change_, stored); !added) {
      if (added.error().kind != ErrorKind::kConflict) return added;
      return stale(fmt::format("there is a memory \"{}\" already", wanted.id.text));
    }
    for (size_t i = 0; i < facts.size(); ++i) {
      if (Result<void> done = add_source(stored.row, static_cast<int64_t>(i), facts[i]); !done)
        return done;
    }
    return {};
  }

  Result<void> check_limit() {
    if (effects_.observations_max < 0) return {};
    const Result<std::optional<int64_t>> count = change_.queries().number(
        "SELECT count(*) FROM memories WHERE tag_set = ? AND type = 2 AND invalidated IS NULL",
        {scope_});
    if (!count) return count.error();
    if (count->value_or(0) <= effects_.observations_max) return {};
    return Error{
        ErrorKind::kUnavailable,
        fmt::format("the scope {} would have {} observations, and its limit is {}; raise "
                    "max_observations_per_scope",
                    to_json(effects_.scope), count->value_or(0), effects_.observations_max)};
  }

  Result<void> stamp() {
    bool has_stamped = false;
    std::set<MemoryId> stamped;
    for (const BatchEffects::FactDone& done : effects_.facts) {
      if (!stamped.insert(done.id).second) continue;
      const StoredMemory& fact = sources_.at(done.id);
      Result<void> noted = change_.run("INSERT INTO passes (fact, tag_set, word) VALUES (?, ?, ?)",
                                       {fact.row, scope_, done.word});
      if (!noted) return noted;
      const Result<std::optional<int64_t>> passes =
          change_.queries().number("SELECT count(*) FROM passes WHERE fact = ?", {fact.row});
      if (!passes) return passes.error();
      const size_t scopes = resolve_scopes(fact.memory.tags, fact.memory.scopes).size();
      if (static_cast<size_t>(passes->value_or(0)) < scopes) continue;
      noted = change_.run(
          "UPDATE memories SET consolidated = ?, failed = NULL, failure = '' WHERE row = ?",
          {change_.now(), fact.row});
      if (!noted) return noted;
      has_stamped = true;
    }
    if (!has_stamped) return {};
    return change_.run("UPDATE bank SET last_consolidated = ?", {change_.now()});
  }

  BankChange& change_;
  const BatchEffects& effects_;
  int64_t scope_ = 0;

  // What may become a source: facts of the batch, and sources of observations that are deleted.
  std::map<MemoryId, StoredMemory> sources_;
};

}  // namespace

Result<void> apply_effects(BankChange& change, const BatchEffects& effects) {
  return EffectsOfBatch(change, effects).apply();
}

}  // namespace windrow::memory
