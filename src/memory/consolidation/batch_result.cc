#include "memory/consolidation/batch_result.h"

#include <algorithm>
#include <array>
#include <utility>

namespace windrow::memory {
namespace {

constexpr std::array<std::pair<FactResult, std::string_view>, 7> kWords = {{
    {FactResult::kSkipped, "skipped"},
    {FactResult::kCreated, "created"},
    {FactResult::kUpdated, "updated"},
    {FactResult::kMerged, "merged"},
    {FactResult::kDeleted, "deleted"},
    {FactResult::kMultiple, "multiple"},
    {FactResult::kFailed, "failed"},
}};

}  // namespace

std::string_view to_string(FactResult result) {
  return std::ranges::find(kWords, result, [](const auto& word) { return word.first; })->second;
}

std::optional<FactResult> fact_result_named(std::string_view word) {
  for (const auto& [result, name] : kWords) {
    if (name == word) return result;
  }
  return std::nullopt;
}

FactResult combined(FactResult one, FactResult other) {
  if (one == other) return one;
  if (one == FactResult::kFailed || other == FactResult::kFailed) return FactResult::kFailed;
  if (one == FactResult::kSkipped) return other;
  if (other == FactResult::kSkipped) return one;
  return FactResult::kMultiple;
}

std::map<MemoryId, FactResult> results_of(std::span<const MemoryId> facts,
                                          const Accepted& accepted) {
  std::map<MemoryId, FactResult> results;
  for (const MemoryId& fact : facts)
    results.emplace(fact, FactResult::kSkipped);
  const auto note = [&results](const MemoryId& fact, FactResult result) {
    const auto found = results.find(fact);
    if (found != results.end()) found->second = combined(found->second, result);
  };
  for (const AcceptedCreate& create : accepted.creates) {
    for (const MemoryId& source : create.sources)
      note(source, FactResult::kCreated);
  }
  for (const UpdateObservation& update : accepted.updates) {
    for (const MemoryId& source : update.new_sources) {
      const bool joined = accepted.joined.contains({update.id, source});
      note(source, joined ? FactResult::kMerged : FactResult::kUpdated);
    }
  }
  for (const MemoryId& fact : accepted.deleted_for) {
    const auto found = results.find(fact);
    if (found != results.end() && found->second == FactResult::kSkipped) {
      found->second = FactResult::kDeleted;
    }
  }
  return results;
}

ConsolidationCounts& ConsolidationCounts::operator+=(const ConsolidationCounts& other) {
  facts_processed += other.facts_processed;
  observations_created += other.observations_created;
  observations_updated += other.observations_updated;
  observations_deleted += other.observations_deleted;
  observations_merged += other.observations_merged;
  facts_skipped += other.facts_skipped;
  facts_failed += other.facts_failed;
  actions_rejected += other.actions_rejected;
  batches += other.batches;
  splits += other.splits;
  stale += other.stale;
  llm_calls += other.llm_calls;
  input_tokens += other.input_tokens;
  cached_tokens += other.cached_tokens;
  output_tokens += other.output_tokens;
  return *this;
}

ConsolidationCounts counts_of(std::span<const MemoryId> facts, const Accepted& accepted) {
  ConsolidationCounts counts{
      .facts_processed = static_cast<int64_t>(facts.size()),
      .observations_created = static_cast<int64_t>(accepted.creates.size()),
      .observations_deleted = static_cast<int64_t>(accepted.deletes.size()),
      .actions_rejected = static_cast<int64_t>(accepted.rejected.size()),
      .batches = 1,
  };
  for (const UpdateObservation& update : accepted.updates) {
    const bool merged = std::ranges::all_of(update.new_sources, [&](const MemoryId& source) {
      return accepted.joined.contains({update.id, source});
    });
    ++(merged ? counts.observations_merged : counts.observations_updated);
  }
  for (const auto& [fact, result] : results_of(facts, accepted)) {
    if (result == FactResult::kSkipped) ++counts.facts_skipped;
  }
  return counts;
}

}  // namespace windrow::memory
