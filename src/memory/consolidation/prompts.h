// The prompts of consolidation, as data: wordings by profile, and the form of the response. Pure;
// any thread.
//
// The system text is the same for every bank and batch of a profile, so that its KV cache is
// shared.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/bank/bank.h"
#include "memory/consolidation/actions.h"
#include "memory/consolidation/scope_recall.h"

namespace windrow::memory {

struct BatchPrompt {
  std::string system;
  std::string user;
  boost::json::object schema;  // of the response: all members required, closed

  // What the names in the prompt stand for. The response is read with these, so an id that was not
  // shown means nothing.
  std::map<std::string, MemoryId, std::less<>> facts;
  std::map<std::string, MemoryId, std::less<>> observations;
};

struct PromptLimits {
  int32_t facts_max = 0;         // 0: no limit of the profile's own
  int32_t observations_max = 0;  // as well
};

// What a profile's model can take: "demo" 4 facts and 5 observations.
PromptLimits limits_of(PromptProfile profile);

struct PromptOptions {
  PromptProfile profile = PromptProfile::kCompact;
  std::string mission;       // BankConfig::observations_mission; empty: the default one
  int64_t creates_max = -1;  // what is left of the scope's limit; -1: no limit
  std::map<MemoryId, std::vector<Memory>> source_facts;  // to be shown with observations
};

BatchPrompt batch_prompt(std::span<const Memory> facts, std::span<const ShownObservation> shown,
                         const PromptOptions& options);

// The question whether two observations of one scope say the same, and the one text for both.
// Response: {"action": "merge" | "keep", "text": "...", "reason": "..."}.
struct FoldPrompt {
  std::string system;
  std::string user;
  boost::json::object schema;
};
FoldPrompt fold_prompt(const Memory& one, const Memory& other, PromptProfile profile);

// The text for both, on one line; empty: keep them apart, which is also what an unusable response
// means.
std::string fold_text(std::string_view response);

}  // namespace windrow::memory
