// Retain: what clients tell a bank becomes facts: word for word, or as a model extracts them from
// the text in chunks. Facts of one call come in together or not at all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
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

// A retain in the background: its operation, and who works at it. It is completed in the
// transaction that stores the facts, so that they come in once, whatever happens to the process.
struct RetainWork {
  OperationId operation;
  std::string worker;
  std::stop_token unwanted = {};  // ends it within one call of a model
};

using RetainOutcome = std::variant<RetainReport, llm::Failure>;

// Blocks for models and the disk; not on an event loop. Nothing is stored if it fails.
//
// With the extraction mode "concise" or "verbose" and no chat model it fails with what to do; with
// "auto" the text is then stored word for word, as with "verbatim" and "chunks", which both make
// one fact of each chunk. A malformed response of the model is asked for once more, then it is a
// 502.
//
// Items of one document_id are one document. What such a document has already, by the text of its
// chunks, is kept and not extracted again, unless its tags, context or metadata change. An
// extracted text without a document_id gets a document of its own, so that its wording is not lost.
//
// A consolidation is submitted with the facts if the bank consolidates by itself and has a chat
// model.
RetainOutcome retain(BankStore& store, MemoryModels& models, const BankConfig& config,
                     const std::vector<RetainItem>& items, const ModelCaller& caller,
                     const Clock& clock, const std::optional<RetainWork>& work = {});

}  // namespace windrow::memory
