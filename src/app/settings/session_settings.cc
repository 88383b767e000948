#include "app/settings/session_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace windrow::app {
namespace {

constexpr size_t kSessionMebibyte = size_t{1} << 20;

Error invalid_session_setting(std::string message) {
  return {ErrorKind::kInvalid, std::move(message)};
}

size_t bytes_of_mb(int64_t mb) {
  return static_cast<size_t>(mb) * kSessionMebibyte;
}

Result<session::SessionLimits> session_limits(const Settings& settings, uint64_t machine_bytes) {
  session::SessionLimits limits;
  limits.sessions_max = static_cast<size_t>(settings.sessions_max);
  limits.idle = std::chrono::seconds(settings.session_idle_s);
  limits.bytes_max = settings.sessions_mb_max > 0 ? bytes_of_mb(settings.sessions_mb_max)
                                                  : static_cast<size_t>(machine_bytes / 2);
  limits.session_bytes_max = bytes_of_mb(settings.session_mb_max);
  limits.turns_max = static_cast<size_t>(settings.session_turns_max);
  limits.body_bytes_max = bytes_of_mb(settings.session_body_mb);
  limits.reply_bytes_max = bytes_of_mb(settings.session_reply_mb);

  // A default gives way; a number that was given has to be possible.
  const Settings defaults;
  if (limits.session_bytes_max > limits.bytes_max) {
    if (settings.session_mb_max != defaults.session_mb_max && settings.sessions_mb_max > 0) {
      return invalid_session_setting(
          fmt::format("--session-mb-max {} is more than --sessions-mb-max {}, which all sessions "
                      "have together; raise that or lower this",
                      settings.session_mb_max, settings.sessions_mb_max));
    }
    limits.session_bytes_max = limits.bytes_max;
  }
  const size_t body_bytes_max = bytes_of_mb(settings.body_mb_max);
  if (limits.body_bytes_max > body_bytes_max) {
    if (settings.session_body_mb != defaults.session_body_mb) {
      return invalid_session_setting(
          fmt::format("--session-body-mb {} is more than --max-body-mb {}, which holds for every "
                      "request; raise that or lower this",
                      settings.session_body_mb, settings.body_mb_max));
    }
    limits.body_bytes_max = body_bytes_max;
  }
  return limits;
}

// The value of a setting that is one of two words.
template <class Value>
Result<Value> one_of_two(std::string_view name, std::string_view text,
                         std::pair<std::string_view, Value> one,
                         std::pair<std::string_view, Value> other) {
  if (text == one.first) return one.second;
  if (text == other.first) return other.second;
  return invalid_session_setting(
      fmt::format("--{} {}: write {} or {}", name, text, one.first, other.first));
}

}  // namespace

Result<session::SessionOptions> session_options(const Settings& settings, uint64_t machine_bytes) {
  using session::HistoryKind;
  using session::OrphanRule;
  session::SessionOptions options;
  Result<session::SessionLimits> limits = session_limits(settings, machine_bytes);
  if (!limits) return limits.error();
  options.limits = *limits;
  options.attempts_max = static_cast<int32_t>(settings.session_attempts_max);

  session::SessionConfig& config = options.defaults;
  const Result<HistoryKind> history =
      one_of_two<HistoryKind>("session-history", settings.session_history,
                              {"linear", HistoryKind::kLinear}, {"tree", HistoryKind::kTree});
  if (!history) return history.error();
  config.history = *history;
  const std::optional<session::MatchRule> match = session::match_rule_of(settings.session_match);
  if (!match) {
    return invalid_session_setting(
        fmt::format("--session-match {}: write strict, loose_tool_call or role_content_only",
                    settings.session_match));
  }
  config.match = *match;
  const Result<OrphanRule> orphans =
      one_of_two<OrphanRule>("session-orphans", settings.session_orphans,
                             {"stop", OrphanRule::kStop}, {"commit", OrphanRule::kCommit});
  if (!orphans) return orphans.error();
  config.orphans = *orphans;
  const Result<bool> last =
      one_of_two<bool>("session-rows", settings.session_rows, {"first", false}, {"last", true});
  if (!last) return last.error();
  config.keeps_last_rows = *last;
  config.asks_new_rows = settings.session_new_rows;
  config.routed_experts = settings.session_routed_experts;
  config.indexer_topk = settings.session_indexer_topk;
  config.routed_layers = static_cast<size_t>(settings.session_moe_layers);

  // A server that is asked for new rows alone never sends later ones of earlier tokens.
  if (config.asks_new_rows && config.keeps_last_rows) {
    return invalid_session_setting(
        "--session-new-rows and --session-rows last contradict each other: rows that are computed "
        "again are not asked for; leave one out");
  }
  return options;
}

std::optional<session::ModelKind> session_model_kind(std::string_view setting,
                                                     upstream::ServerKind server) {
  using session::ModelKind;
  if (setting == "sglang") return ModelKind::kSglangGenerate;
  if (setting == "sglang-chat") return ModelKind::kSglangChat;
  if (setting == "vllm") return ModelKind::kVllmCompletions;
  switch (server) {
    case upstream::ServerKind::kSglang:
      return ModelKind::kSglangGenerate;
    case upstream::ServerKind::kVllm:
      return ModelKind::kVllmCompletions;
    case upstream::ServerKind::kUnknown:
    case upstream::ServerKind::kOllama:
    case upstream::ServerKind::kLlamaServer:
    case upstream::ServerKind::kMlx:
    case upstream::ServerKind::kLmStudio:
    case upstream::ServerKind::kSimulated:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace windrow::app
