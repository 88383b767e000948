// Recall: the memories of a bank that answer a query, best first: by words (BM25) and by vectors,
// fused (fusion.h), cut at a number of tokens (selection.h). A failed part fails the recall; it is
// never "nothing found".
//
// Further ways to find (time, entities, a reranker) are further arms of `fused`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "memory/bank/bank.h"
#include "memory/bank/bank_store.h"
#include "memory/models/memory_models.h"

namespace windrow::memory {

enum class RecallBudget : uint8_t { kLow, kMid, kHigh };  // 100, 300, 1000 candidates of an arm

struct RecallQuery {
  std::string text;
  std::vector<MemoryType> types;  // empty: all
  RecallBudget budget = RecallBudget::kMid;
  int64_t tokens_max = 4096;
  TagFilter tags;
  // By "semantic", "keyword" and "final"; included. "semantic" is kSemanticMin where it is absent.
  std::map<std::string, double> scores_min;
  bool prefer_observations = false;  // facts that a returned observation covers are left out
  bool trace = false;

  // What is returned beside the memories; absent: not.
  std::optional<int64_t> chunk_tokens_max;
  std::optional<int64_t> source_fact_tokens_max;
  std::optional<int64_t> entity_tokens_max;
};

// A cosine below says that two texts have little to do with each other.
constexpr double kSemanticMin = 0.3;

constexpr int64_t kQueryTokensMax = 500;

struct RecallScores {
  double final_score = 0;          // 0 to 1
  std::optional<double> semantic;  // cosine
  std::optional<double> keyword;   // BM25
};

struct Recalled {
  Memory memory;
  RecallScores scores;
};

struct RecallResult {
  std::vector<Recalled> memories;
  std::map<std::string, Chunk> chunks;         // by id
  std::map<std::string, Memory> source_facts;  // by id
  bool source_facts_truncated = false;
  boost::json::object trace;
};

using RecallOutcome = std::variant<RecallResult, llm::Failure>;

// Blocks for the embedding of the query and for the disk; not on an event loop. Without an
// embedding model, or where the bank has no vectors, only words are searched, and the trace says
// so. A query without a word is a 422, a too long one a 400.
RecallOutcome recall(BankStore& store, MemoryModels& models, const BankConfig& config,
                     const RecallQuery& query, const ModelCaller& caller);

}  // namespace windrow::memory
