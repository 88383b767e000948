// Memory: one sentence that a bank remembers. Facts come from clients (of the world, or of the
// bank's own agent); observations are what consolidation makes of facts. Both have the same members
// and are recalled alike. Plain values.
//
// The data model follows Hindsight (Vectorize; arXiv 2512.12818).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memory/bank/scopes.h"

namespace windrow::memory {

// "5c1f...": a UUID as clients see it.
struct MemoryId {
  std::string text;
  friend auto operator<=>(const MemoryId&, const MemoryId&) = default;
};

enum class MemoryType : uint8_t {
  kWorld,        // a fact about others
  kExperience,   // a fact about the bank's own agent
  kObservation,  // consolidated from facts
};

std::string_view to_string(MemoryType type);  // "world"
std::optional<MemoryType> memory_type_named(std::string_view name);

// Milliseconds since 1970 in UTC.
using UnixMs = int64_t;

struct MemoryTimes {
  std::optional<UnixMs> event;  // the time that sorts it: when it happened, else when it was told
  std::optional<UnixMs> occurred_start;
  std::optional<UnixMs> occurred_end;
  std::optional<UnixMs> mentioned;  // when it was told

  friend bool operator==(const MemoryTimes&, const MemoryTimes&) = default;
};

// The times of an observation with one more source: event and occurred_start are the earliest,
// occurred_end and mentioned the latest; what is absent does not count.
MemoryTimes widened(const MemoryTimes& one, const MemoryTimes& other);

// What a client, or the extraction from a client's text, adds.
struct NewFact {
  MemoryType type = MemoryType::kWorld;  // not kObservation
  std::string text;
  std::string context;  // what it was about; part of what is searched
  MemoryTimes times;
  Tags tags;
  ObservationScopes scopes;
  std::map<std::string, std::string> metadata;
  std::vector<std::string> entities;  // names, as they were written
  std::string document_id;            // empty: none
  std::string chunk_id;               // empty: none
  std::vector<float> embedding;       // of length 1; empty: there is no embedding model
};

// As it is stored.
struct Memory {
  MemoryId id;
  MemoryType type = MemoryType::kWorld;
  std::string text;
  std::string context;
  MemoryTimes times;
  Tags tags;
  ObservationScopes scopes;
  std::map<std::string, std::string> metadata;
  std::vector<std::string> entities;
  std::string document_id;
  std::string chunk_id;

  // Of an observation: the facts it comes from, in the order in which they were added, and how many
  // there are.
  std::vector<MemoryId> sources;
  int64_t proof_count = 1;

  UnixMs created = 0;
  UnixMs updated = 0;            // of text, tags, times or sources; stamps do not count
  std::optional<UnixMs> edited;  // by a client
  std::optional<UnixMs> consolidated;
  std::optional<UnixMs> consolidation_failed;
  std::string failure;  // why consolidation failed; empty: it did not
  std::optional<UnixMs> invalidated;
  std::string invalidation_reason;

  // Changes with each change of what consolidation reads: text, tags, times, sources, validity. A
  // decision that was made on another version is not applied.
  int64_t version = 1;

  std::vector<float> embedding;  // empty: none yet, or it was not asked for
};

// One change of an observation, as it was before.
struct ObservationChange {
  UnixMs changed = 0;
  std::string previous_text;
  Tags previous_tags;
  MemoryTimes previous_times;
  std::vector<MemoryId> new_sources;
};

}  // namespace windrow::memory
