#include "memory/consolidation/fold.h"

#include <string>
#include <string_view>
#include <unordered_map>

#include "memory/consolidation/acceptance.h"
#include "vectors/flat_segment.h"

namespace windrow::memory {

FoldedBatch fold(std::span<const Memory> facts, std::span<const BankStore::Repeated> repeated,
                 std::span<const Memory> repeated_facts) {
  std::map<MemoryId, std::string> text_of;
  for (const Memory& fact : repeated_facts)
    text_of.try_emplace(fact.id, normalised(fact.text));
  std::unordered_map<std::string, MemoryId> observation_of;  // by text
  for (const BankStore::Repeated& one : repeated) {
    const auto text = text_of.find(one.fact);
    if (text != text_of.end()) observation_of.try_emplace(text->second, one.observation);
  }

  std::vector<std::string> texts;
  std::unordered_map<std::string_view, MemoryId> last_with;  // by text
  texts.reserve(facts.size());
  for (const Memory& fact : facts)
    last_with[texts.emplace_back(normalised(fact.text))] = fact.id;
  FoldedBatch batch;
  bool is_unchanged = true;
  for (size_t i = 0; i < facts.size(); ++i) {
    const Memory& fact = facts[i];
    const auto observation = observation_of.find(texts[i]);
    const MemoryId& last = last_with.at(texts[i]);
    if (is_unchanged && observation != observation_of.end()) {
      batch.repeated[observation->second].push_back(fact.id);
      continue;
    }
    is_unchanged = false;
    if (last == fact.id) {
      batch.shown.push_back(fact);
    } else {
      batch.folded[last].push_back(fact.id);
    }
  }
  return batch;
}

std::optional<MemoryId> twin_of(const Memory& observation, std::span<const Memory> observations,
                                double threshold) {
  if (threshold >= 1 || observation.embedding.empty()) return std::nullopt;
  std::optional<MemoryId> twin;
  double nearest = threshold;
  for (const Memory& other : observations) {
    if (other.id == observation.id) continue;
    if (other.embedding.size() != observation.embedding.size()) continue;
    const double cosine = vectors::inner_product(observation.embedding, other.embedding);
    if (twin ? cosine <= nearest : cosine < nearest) continue;  // of equals the first
    nearest = cosine;
    twin = other.id;
  }
  return twin;
}

}  // namespace windrow::memory
