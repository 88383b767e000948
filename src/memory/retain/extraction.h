// Extraction: the question which facts a text states, and how the response is read. Pure; any
// thread.
//
// The system text is the same for every text of a profile, so that its KV cache is shared.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/bank/bank.h"
#include "memory/bank/memory.h"

namespace windrow::memory {

struct ExtractionText {
  std::string_view text;
  std::string_view context;       // what it is about; empty: not said
  std::optional<UnixMs> written;  // days such as "yesterday" count from here
  UnixMs now = 0;
  std::string_view mission;  // BankConfig::retain_mission; empty: none
  bool verbose = false;      // every detail is a fact
};

struct ExtractionPrompt {
  std::string system;
  std::string user;
  boost::json::object schema;  // of the response: all members required, closed
};

// PromptProfile::kDemo is the wording that the shipped model was trained on; others share one.
ExtractionPrompt extraction_prompt(const ExtractionText& text, PromptProfile profile);

// Characters of a text that a profile's model can take at once; 0: no limit of its own.
int32_t extraction_characters_max(PromptProfile profile);

struct ExtractedFact {
  std::string text;
  MemoryType type = MemoryType::kWorld;
  std::optional<UnixMs> occurred_start;
  std::optional<UnixMs> occurred_end;  // of a day: its end
  std::vector<std::string> entities;
};

// kInvalid says why the response cannot be used. A fact without words is left out; a date that is
// none counts as not said.
Result<std::vector<ExtractedFact>> extracted_facts(std::string_view response,
                                                   PromptProfile profile);

}  // namespace windrow::memory
