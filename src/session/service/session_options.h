// What sessions may take, and how they behave. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "llm/priority.h"
#include "session/history/history.h"
#include "session/history/message_key.h"
#include "session/samples/kept_leaves.h"

namespace windrow::session {

// What becomes of a turn whose client has left, or whose session is deleted meanwhile.
enum class OrphanRule : uint8_t {
  kStop,    // the call of the model is stopped, and nothing is committed
  kCommit,  // it goes on, and is committed if the session is still there
};

struct SessionLimits {
  size_t sessions_max = 10'000;
  Duration idle = std::chrono::hours(1);  // afterwards a session is gone
  size_t session_bytes_max = size_t{4} << 30;
  size_t bytes_max = size_t{16} << 30;  // of all sessions
  size_t turns_max = 1024;              // of a session
  size_t body_bytes_max = size_t{16} << 20;
  size_t reply_bytes_max = size_t{512} << 20;  // of a model's server
};

// Of a session; the server's settings are the defaults.
struct SessionConfig {
  HistoryKind history = HistoryKind::kLinear;
  MatchRule match = MatchRule::kStrict;
  OrphanRule orphans = OrphanRule::kStop;
  llm::Priority priority = llm::Priority::kInteractive;
  bool routed_experts = false;  // asks the server for them
  bool indexer_topk = false;
  bool keeps_last_rows = false;  // rows of tokens that were computed again replace the earlier ones
  bool asks_new_rows =
      false;                 // the server is asked for rows that are new (routed_experts_start_len)
  size_t routed_layers = 0;  // layers of routed_experts; 0: not known, a row is one list

  // Tree: which conversations become samples.
  RetryRule retries = RetryRule::kSamePrompt;

  // Evaluation: no rows are asked for or kept.
  bool evaluation = false;

  // For members that a request leaves out.
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<int64_t> top_k;
};

struct SessionOptions {
  SessionLimits limits;
  SessionConfig defaults;
  int32_t attempts_max = 1;  // how often the model is asked for a turn
};

}  // namespace windrow::session
