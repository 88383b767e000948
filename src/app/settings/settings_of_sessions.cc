// The rows of the table about the sessions of `windrow serve`.
#include <array>

#include "app/settings/settings.h"

namespace windrow::app {
namespace {

constexpr std::array<std::string_view, 4> kWays = {"auto", "sglang", "sglang-chat", "vllm"};
constexpr std::array<std::string_view, 2> kHistories = {"linear", "tree"};
constexpr std::array<std::string_view, 3> kMatches = {"strict", "loose_tool_call",
                                                      "role_content_only"};
constexpr std::array<std::string_view, 2> kOrphans = {"stop", "commit"};
constexpr std::array<std::string_view, 2> kRows = {"first", "last"};

constexpr int64_t kMebibytesMax = 16 * 1024 * 1024;  // 16 TiB
constexpr int64_t kSecondsMax = 365 * 86'400;

// Fills in what these rows have in common: their group, and the only command that takes them.
template <size_t kCount>
constexpr auto of_sessions(std::array<SettingRow, kCount> rows) {
  for (SettingRow& row : rows) {
    row.group = SettingGroup::kSessions;
    row.scope = SettingScope::kServe;
  }
  return rows;
}

constexpr auto kSessionRows = of_sessions(std::to_array<SettingRow>({
    {.name = "session-upstream",
     .field = &Settings::session_upstream,
     .value_name = "API",
     .help = "API by which sessions ask an upstream server; auto chooses by its product, "
             "sglang-chat is SGLang's chat API instead of its tokens",
     .choices = kWays},
    {.name = "session-history",
     .field = &Settings::session_history,
     .value_name = "KIND",
     .help = "what a session keeps: one conversation that can go back by one turn, or every turn "
             "as a tree",
     .choices = kHistories},
    {.name = "session-match",
     .field = &Settings::session_match,
     .value_name = "RULE",
     .help = "what has to be equal for a message that an agent sends again to count as the stored "
             "one",
     .choices = kMatches},
    {.name = "session-attempts",
     .field = &Settings::session_attempts_max,
     .value_name = "N",
     .help = "how often a model is asked for one turn before its failure is answered",
     .value_min = 1,
     .value_max = 100},
    {.name = "session-orphans",
     .field = &Settings::session_orphans,
     .value_name = "WHAT",
     .help = "a turn whose client has disconnected is ended, or finished and kept",
     .choices = kOrphans},
    {.name = "session-rows",
     .field = &Settings::session_rows,
     .value_name = "WHICH",
     .help = "which routing rows are kept of tokens that a server computed more than once",
     .choices = kRows},
    {.name = "session-new-rows",
     .field = &Settings::session_new_rows,
     .help = "ask servers only for the routing rows of new tokens (routed_experts_start_len of "
             "SGLang)"},
    {.name = "session-routed-experts",
     .field = &Settings::session_routed_experts,
     .help = "record in every session which experts computed each token (mixture-of-experts "
             "models)"},
    {.name = "session-indexer-topk",
     .field = &Settings::session_indexer_topk,
     .help = "record in every session which positions the attention indexer chose (DeepSeek "
             "sparse attention)"},
    {.name = "session-moe-layers",
     .field = &Settings::session_moe_layers,
     .value_name = "N",
     .help = "layers of a model that have experts, which gives routing rows their shape; 0: not "
             "known",
     .value_min = 0,
     .value_max = 10'000},
    {.name = "sessions-max",
     .field = &Settings::sessions_max,
     .value_name = "N",
     .help = "maximum sessions at the same time; further ones get 429",
     .value_min = 1,
     .value_max = 10'000'000},
    {.name = "session-idle-s",
     .field = &Settings::session_idle_s,
     .value_name = "SECONDS",
     .help = "an idle session expires after this time; requests for it are then answered with 410",
     .value_min = 1,
     .value_max = kSecondsMax},
    {.name = "session-mb-max",
     .field = &Settings::session_mb_max,
     .value_name = "MB",
     .help = "maximum memory of one session",
     .value_min = 1,
     .value_max = kMebibytesMax},
    {.name = "sessions-mb-max",
     .field = &Settings::sessions_mb_max,
     .value_name = "MB",
     .help = "maximum memory of all sessions together; 0: half of the machine's memory",
     .value_min = 0,
     .value_max = kMebibytesMax},
    {.name = "session-turns-max",
     .field = &Settings::session_turns_max,
     .value_name = "N",
     .help = "maximum turns of one session; further ones get 409",
     .value_min = 1,
     .value_max = 10'000'000},
    {.name = "session-body-mb",
     .field = &Settings::session_body_mb,
     .value_name = "MB",
     .help = "maximum size of a request body of a session (at most --max-body-mb)",
     .value_min = 1,
     .value_max = 1024},
    {.name = "session-reply-mb",
     .field = &Settings::session_reply_mb,
     .value_name = "MB",
     .help = "maximum size of an upstream server's reply to a turn; a larger one gets 502",
     .value_min = 1,
     .value_max = kMebibytesMax},
}));

}  // namespace

std::span<const SettingRow> settings_of_sessions() {
  return kSessionRows;
}

}  // namespace windrow::app
