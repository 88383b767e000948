#include "memory/recall/selection.h"

#include <algorithm>

namespace windrow::memory {

bool Selection::offer(const Memory& memory) {
  const bool replaces = options_.prefer_observations && memory.type == MemoryType::kObservation;
  if (options_.prefer_observations && !replaces && covered_.contains(memory.id)) return true;

  const int64_t tokens = options_.count_tokens(memory.text);
  int64_t freed = 0;
  if (replaces) {
    for (const MemoryId& source : memory.sources) {
      const auto found = tokens_of_.find(source);
      if (found != tokens_of_.end()) freed += found->second;
    }
  }
  if (tokens_ - freed + tokens > options_.tokens_max) return false;
  if (replaces) replace_sources_of(memory);
  selected_.push_back(memory.id);
  tokens_of_.emplace(memory.id, tokens);
  tokens_ += tokens;
  return true;
}

void Selection::replace_sources_of(const Memory& observation) {
  for (const MemoryId& source : observation.sources) {
    covered_.insert(source);
    const auto found = tokens_of_.find(source);
    if (found == tokens_of_.end()) continue;
    tokens_ -= found->second;
    tokens_of_.erase(found);
    std::erase(selected_, source);
  }
}

}  // namespace windrow::memory
