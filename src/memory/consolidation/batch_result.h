// The words for what became of a fact, in one place. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "memory/bank/memory.h"
#include "memory/consolidation/acceptance.h"

namespace windrow::memory {

enum class FactResult : uint8_t {
  kSkipped,  // nothing durable in it
  kCreated,
  kUpdated,
  kMerged,    // folded into an observation that says it already
  kDeleted,   // its observation was deleted because of it
  kMultiple,  // several of these
  kFailed,
};

std::string_view to_string(FactResult result);  // "created"
std::optional<FactResult> fact_result_named(std::string_view word);

// Of one fact over several passes: skipped gives way to any other word, kMerged is never lost to
// it, failed wins, and two different others are kMultiple.
FactResult combined(FactResult one, FactResult other);

// Of each fact of a batch. A delete names no facts: it counts for those for which its observation
// was shown, if nothing else is known of them.
std::map<MemoryId, FactResult> results_of(std::span<const MemoryId> facts,
                                          const Accepted& accepted);

// Counters of a run.
struct ConsolidationCounts {
  int64_t facts_processed = 0;  // passes of facts that ended
  int64_t observations_created = 0;
  int64_t observations_updated = 0;
  int64_t observations_deleted = 0;
  int64_t observations_merged = 0;
  int64_t facts_skipped = 0;
  int64_t facts_failed = 0;
  int64_t actions_rejected = 0;
  int64_t batches = 0;
  int64_t splits = 0;
  int64_t stale = 0;  // responses that came too late: a witness had changed
  int64_t llm_calls = 0;
  int64_t input_tokens = 0;
  int64_t cached_tokens = 0;  // of these: the model had them in its prefix cache
  int64_t output_tokens = 0;

  ConsolidationCounts& operator+=(const ConsolidationCounts& other);
  friend bool operator==(const ConsolidationCounts&, const ConsolidationCounts&) = default;
};

// What a batch adds once its actions were applied: facts and observations by what became of them,
// rejected actions, and the batch itself. An observation that only got further sources is merged.
ConsolidationCounts counts_of(std::span<const MemoryId> facts, const Accepted& accepted);

}  // namespace windrow::memory
