// RetainPlan: which texts of a retain become facts, and what happens to its documents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "memory/bank/bank_store.h"
#include "memory/retain/retain.h"

namespace windrow::memory {

// A text that becomes facts.
struct Piece {
  size_t item = 0;  // its place in the call
  std::string text;
  std::string document_id;  // empty: none
  std::string chunk_id;     // empty: none
};

struct RetainPlan {
  std::vector<Piece> pieces;
  std::vector<Document> documents;
  std::vector<std::optional<std::string>> texts_before;  // of each document, as it was read
  std::vector<Chunk> chunks;
  std::vector<std::string> chunks_gone;
};

struct PlanOptions {
  int32_t characters_max = 3000;  // of a piece
  bool keeps_texts = false;       // an item without a document_id gets a document of its own
  UnixMs now = 0;
};

// Reads the documents that the items name. Errors of the store.
Result<RetainPlan> plan_of(BankStore& store, const std::vector<RetainItem>& items,
                           const PlanOptions& options);

}  // namespace windrow::memory
