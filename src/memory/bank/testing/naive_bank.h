// NaiveBank: what a bank has to remember, said as plainly as possible, to compare a real one with.
// It holds facts, observations, passes and failures; the rules are those of bank_store.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memory/bank/bank_store.h"

namespace windrow::memory::testing {

class NaiveBank {
 public:
  struct Fact {
    MemoryId id;
    MemoryType type = MemoryType::kWorld;
    std::string text;
    Tags tags;
    ObservationScopes scopes;
    std::string document;
    bool is_valid = true;
    bool has_failed = false;
    bool has_embedding = false;
    std::set<Scope> passes;

    std::vector<Scope> scopes_left() const {
      std::vector<Scope> left = resolve_scopes(tags, scopes);
      std::erase_if(left, [&](const Scope& scope) { return passes.contains(scope); });
      return left;
    }
    bool is_pending() const { return is_valid && !has_failed && !scopes_left().empty(); }
    bool is_consolidated() const { return is_valid && scopes_left().empty(); }
  };
  struct Observation {
    MemoryId id;
    std::string text;
    Scope scope;
    std::vector<MemoryId> sources;
    bool has_embedding = false;
    int64_t version = 1;
  };

  std::vector<Fact> facts;                // in the order in which they came
  std::vector<Observation> observations;  // as well

  Fact* fact(const MemoryId& id) { return find(facts, id); }
  Observation* observation(const MemoryId& id) { return find(observations, id); }

  // What is left when a fact changes or goes.
  void lose(const MemoryId& fact) {
    std::vector<MemoryId> lost;
    for (const Observation& one : observations)
      if (std::ranges::find(one.sources, fact) != one.sources.end()) lost.push_back(one.id);
    for (const MemoryId& id : lost)
      remove_observation(id);
  }

  // Its sources have to feed its scope again.
  void remove_observation(const MemoryId& id) {
    const Observation gone = *observation(id);
    for (const MemoryId& source : gone.sources) {
      Fact* const one = fact(source);
      one->passes.erase(gone.scope);
      one->has_failed = false;
    }
    erase(observations, id);
  }

  void remove_fact(const MemoryId& id) {
    lose(id);
    erase(facts, id);
  }

  // A fact that means something else now.
  void begin_again(Fact& fact) {
    lose(fact.id);
    fact.passes.clear();
    fact.has_failed = false;
  }

  void apply(const BatchEffects& effects) {
    for (const MemoryId& id : effects.deletes)
      erase(observations, id);
    for (const UpdateObservation& update : effects.updates) {
      Observation& one = *observation(update.id);
      bool changes = one.text != update.text;
      if (changes) one.has_embedding = false;
      one.text = update.text;
      for (const MemoryId& source : update.new_sources) {
        if (std::ranges::find(one.sources, source) != one.sources.end()) continue;
        one.sources.push_back(source);
        changes = true;
      }
      if (changes) ++one.version;
    }
    for (const CreateObservation& create : effects.creates) {
      Observation one{.id = create.id, .text = create.text, .scope = effects.scope, .sources = {}};
      for (const MemoryId& source : create.sources)
        if (std::ranges::find(one.sources, source) == one.sources.end())
          one.sources.push_back(source);
      observations.push_back(std::move(one));
    }
    for (const BatchEffects::FactDone& done : effects.facts) {
      Fact& one = *fact(done.id);
      one.passes.insert(effects.scope);
      if (one.scopes_left().empty()) one.has_failed = false;
    }
  }

  // A text that says everything that a bank shows, one line for each memory.
  static std::string line(const Fact& fact) {
    std::string text = fact.id.text + " " + fact.text + " " + to_json(fact.tags);
    text += fact.is_valid ? "" : " invalid";
    text += fact.has_failed ? " failed" : "";
    text += fact.is_consolidated() ? " consolidated" : "";
    if (fact.is_pending()) {
      text += " pending";
      for (const Scope& scope : fact.scopes_left())
        text += to_json(scope);
    }
    return text + (fact.has_embedding ? " embedded" : "");
  }
  static std::string line(const Observation& observation) {
    std::string text = observation.id.text + " " + observation.text + " " +
                       to_json(observation.scope) + " v" + std::to_string(observation.version);
    for (const MemoryId& source : observation.sources)
      text += " " + source.text;
    return text + (observation.has_embedding ? " embedded" : "");
  }

  std::set<std::string> lines() const {
    std::set<std::string> lines;
    for (const Fact& one : facts)
      lines.insert(line(one));
    for (const Observation& one : observations)
      lines.insert(line(one));
    return lines;
  }

  // The same lines of a real bank.
  static std::set<std::string> lines_of(BankStore& store) {
    std::set<std::string> lines;
    std::map<MemoryId, std::vector<Scope>> left;
    const std::vector<PendingFact> pending = store.pending_facts().value();
    for (const PendingFact& one : pending)
      left.emplace(one.id, one.scopes_left);
    for (const bool valid : {true, false}) {
      const MemoryPage page = store.list({.valid = valid, .limit = 1'000'000}).value();
      std::vector<MemoryId> ids;
      for (const Memory& memory : page.memories)
        ids.push_back(memory.id);
      const std::vector<Memory> memories = store.memories(ids).value();
      for (const Memory& memory : memories)
        lines.insert(line_of(memory, left));
    }
    return lines;
  }

 private:
  static std::string line_of(const Memory& memory,
                             const std::map<MemoryId, std::vector<Scope>>& left) {
    if (memory.type == MemoryType::kObservation) {
      return line(Observation{.id = memory.id,
                              .text = memory.text,
                              .scope = memory.tags,
                              .sources = memory.sources,
                              .has_embedding = !memory.embedding.empty(),
                              .version = memory.version});
    }
    std::string text = memory.id.text + " " + memory.text + " " + to_json(memory.tags);
    text += memory.invalidated ? " invalid" : "";
    text += memory.consolidation_failed ? " failed" : "";
    text += memory.consolidated ? " consolidated" : "";
    if (const auto scopes = left.find(memory.id); scopes != left.end()) {
      text += " pending";
      for (const Scope& scope : scopes->second)
        text += to_json(scope);
    }
    return text + (memory.embedding.empty() ? "" : " embedded");
  }

  template <class T>
  static T* find(std::vector<T>& list, const MemoryId& id) {
    const auto found = std::ranges::find(list, id, &T::id);
    return found == list.end() ? nullptr : &*found;
  }
  template <class T>
  static void erase(std::vector<T>& list, const MemoryId& id) {
    std::erase_if(list, [&](const T& one) { return one.id == id; });
  }
};

}  // namespace windrow::memory::testing
