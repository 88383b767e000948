// Bank: the settings of one memory bank. Plain values. The names and defaults of the knobs are
// those of Hindsight where it has them.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/bank/memory.h"

namespace windrow::memory {

// As clients name it; 1 to 192 bytes of UTF-8 without control characters.
struct BankId {
  std::string text;
  friend auto operator<=>(const BankId&, const BankId&) = default;
};

constexpr size_t kBankIdBytesMax = 192;

// kInvalid: empty, too long, not UTF-8, or with control characters.
Result<BankId> bank_id_from(std::string_view text);

// How much an agent with this bank trusts (1 to 5).
struct Disposition {
  int32_t skepticism = 3;
  int32_t literalism = 3;
  int32_t empathy = 3;
  friend bool operator==(const Disposition&, const Disposition&) = default;
};

// The wording of the prompts (consolidation/prompts.h).
enum class PromptProfile : uint8_t { kCompact, kDemo, kHindsight };

struct ScopeLimit {
  // Patterns of tags (`*`, `?`): each tag of the scope fits one, and each of them has a tag.
  std::vector<std::string> scope;
  int64_t observations_max = -1;
};

// Unset members have the server's default.
struct BankConfig {
  bool enable_observations = true;
  bool enable_auto_consolidation = true;
  PromptProfile prompt_profile = PromptProfile::kCompact;
  int32_t consolidation_llm_batch_size = 8;   // facts of one call
  int32_t consolidation_llm_parallelism = 8;  // calls in flight; the server's bound holds too
  int32_t consolidation_max_attempts = 3;     // of a call whose failure is transient
  int32_t consolidation_max_tokens = 512;     // observations shown for one fact
  int32_t consolidation_source_facts_max_tokens = 4096;
  int32_t consolidation_source_facts_max_tokens_per_observation = 256;
  std::optional<int32_t> consolidation_max_completion_tokens;
  double consolidation_dedup_threshold = 0.97;   // of the cosine; 1: no folding of near duplicates
  boost::json::object consolidation_extra_body;  // members added to the body of each call
  std::string observations_mission;
  int64_t max_observations_per_scope = -1;  // -1: no limit; 0: no new ones
  std::vector<ScopeLimit> observation_scope_limits;
  bool enable_observation_history = true;
  int32_t observation_history_max_entries = 50;
  std::string retain_mission;
  // "auto": "concise" with a chat model, "verbatim" without one. "verbatim" and "chunks" ask none.
  std::string retain_extraction_mode = "auto";
  int32_t retain_chunk_size = 3000;  // characters
  std::string chat_model;            // empty: the server's --memory-model
  std::string embed_model;           // empty: the server's --memory-embed
};

struct Bank {
  BankId id;
  std::string name;
  std::string mission;
  std::string background;
  Disposition disposition;
  std::string owner;              // the key that made it; empty: none
  boost::json::object overrides;  // of BankConfig, by its members' names, as clients set them

  // Which vectors it has; 0: none yet. Vectors of other models or lengths never enter.
  int32_t embedding_size = 0;
  std::string embedding_model;

  UnixMs created = 0;
  UnixMs updated = 0;
  std::optional<UnixMs> last_consolidated;
};

// `defaults` with a bank's overrides; null is no override. kInvalid names the member that is
// unknown or wrong, and says what it must be.
Result<BankConfig> with_overrides(const BankConfig& defaults, const boost::json::object& overrides);

// All members, by their names.
boost::json::object to_json(const BankConfig& config);

// The limit of this scope: the first of observation_scope_limits that covers it, else
// max_observations_per_scope, which does not count for the scope without tags. -1: none.
int64_t observations_max_of(const BankConfig& config, const Scope& scope);

}  // namespace windrow::memory
