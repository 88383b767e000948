// SerialBank: what a bank must know after consolidation, computed one fact after the other without
// batches in flight, prompts or a database. For the ideal model of topic_consolidator.h. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memory/bank/memory.h"

namespace windrow::memory::testing {

class SerialBank {
 public:
  struct Observation {
    std::string text;
    std::set<MemoryId> sources;
    friend bool operator==(const Observation&, const Observation&) = default;
  };
  using Observations = std::map<std::string, Observation>;  // by topic

  explicit SerialBank(size_t batch_facts_max) : batch_facts_max_(batch_facts_max) {}

  // In the order in which the facts come.
  void add(const MemoryId& id, const Tags& tags, const ObservationScopes& scopes,
           const std::string& text) {
    const std::vector<Scope> fed = resolve_scopes(tags, scopes);
    for (const Scope& scope : fed)
      pending_[scope].push_back({.id = id, .text = text, .tags = tags, .fed = fed});
  }

  // One run over the facts that were added since the last one; all observations.
  const std::map<Scope, Observations>& consolidate() {
    for (auto& [scope, facts] : std::exchange(pending_, {})) {
      for (const Fact& fact : in_order_of_batches(std::move(facts))) {
        Observation& observation = observations_[scope][fact.text.substr(0, fact.text.find(':'))];
        observation.text = fact.text;
        observation.sources.insert(fact.id);
      }
    }
    return observations_;
  }

 private:
  struct Fact {
    MemoryId id;
    std::string text;
    Tags tags;
    std::vector<Scope> fed;
  };

  // A batch has facts with the tags and scopes of the oldest one.
  std::vector<Fact> in_order_of_batches(std::list<Fact> facts) const {
    std::vector<Fact> ordered;
    while (!facts.empty()) {
      const Fact oldest = facts.front();
      size_t taken = 0;
      for (auto fact = facts.begin(); fact != facts.end() && taken < batch_facts_max_;) {
        const bool is_like_it = fact->tags == oldest.tags && fact->fed == oldest.fed;
        if (is_like_it) {
          ordered.push_back(*fact);
          ++taken;
        }
        fact = is_like_it ? facts.erase(fact) : std::next(fact);
      }
    }
    return ordered;
  }

  const size_t batch_facts_max_;
  std::map<Scope, std::list<Fact>> pending_;
  std::map<Scope, Observations> observations_;
};

}  // namespace windrow::memory::testing
