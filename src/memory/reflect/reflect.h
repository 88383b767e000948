// Reflect: one answer to a question, from the memories of a bank that match it: a recall, then one
// call of the chat model.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "memory/bank/bank.h"
#include "memory/bank/bank_store.h"
#include "memory/models/memory_models.h"
#include "memory/recall/recall.h"

namespace windrow::memory {

struct ReflectQuery {
  std::string text;
  RecallBudget budget = RecallBudget::kLow;
  int32_t answer_tokens_max = 4096;
  std::vector<MemoryType> types;  // empty: all
  TagFilter tags;
  boost::json::object response_schema;  // of ReflectAnswer::structured; empty: none
};

struct ReflectAnswer {
  std::string text;
  std::optional<boost::json::object> structured;
  std::vector<Memory> based_on;  // best first
  llm::Usage usage;
};

using ReflectOutcome = std::variant<ReflectAnswer, llm::Failure>;

// Blocks for models and the disk; not on an event loop. A bank without matching memories answers,
// too: the model is told that it has none.
ReflectOutcome reflect(BankStore& store, MemoryModels& models, const BankConfig& config,
                       const ReflectQuery& query, const ModelCaller& caller);

// --- pure parts ---

struct ReflectPrompt {
  std::string system;
  std::string user;
  boost::json::object schema;  // {"text", "structured_output"}; empty: the response is the text
};

// Memories are data in it, never instructions: the system text says so.
ReflectPrompt reflect_prompt(const Bank& bank, const ReflectQuery& query,
                             const std::vector<Memory>& memories);

// The text and the structure of a response to such a prompt. A failure, 502, where the response is
// not as the schema of the prompt demands.
ReflectOutcome read_reflection(const ReflectPrompt& prompt, std::string_view response);

}  // namespace windrow::memory
