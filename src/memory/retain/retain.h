// Retain: what clients tell a bank becomes facts: word for word, or as a model extracts them from
// the text in chunks. Facts of one call come in together or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "memory/bank/bank.h"
#include "memory/bank/bank_store.h"
#include "memory/models/memory_models.h"

namespace windrow::memory {

enum class DocumentUpdate : uint8_t { kReplace, kAppend };

struct RetainItem {
  std::string content;
  std::string context;
  std::optional<UnixMs> timestamp;  // when it was said; absent: now, unless `timestamp_unset`
  bool timestamp_unset = false;
  std::map<std::string, std::string> metadata;
  std::string document_id;
  std::vector<std::string> entities;
  Tags tags;
  ObservationScopes scopes;
  DocumentUpdate update = DocumentUpdate::kReplace;
  std::optional<MemoryType> type;  // absent: kWorld, or what the extraction says
};

struct RetainReport {
  std::vector<MemoryId> memories;
  llm::Usage usage;  // of the extraction
};

using RetainOutcome = std::variant<RetainReport, llm::Failure>;

// Blocks for models and the disk; not on an event loop. With an extraction mode of "concise" or
// "verbose" and no chat model it fails with what to do; "chunks" and "verbatim" need none. Chunks
// of a document that are as they were are not done again.
RetainOutcome retain(BankStore& store, MemoryModels& models, const BankConfig& config,
                     const std::vector<RetainItem>& items, const ModelCaller& caller,
                     const Clock& clock);

// --- pure parts ---

// Text in pieces of at most `characters_max` characters, cut at the ends of paragraphs, sentences
// or words where there are some.
std::vector<std::string> chunks_of(std::string_view text, int32_t characters_max);

}  // namespace windrow::memory
