#include "app/settings/session_settings.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "app/settings/resolve_settings.h"

namespace windrow::app {
namespace {

using session::HistoryKind;
using session::MatchRule;
using session::ModelKind;
using session::OrphanRule;
using upstream::ServerKind;

constexpr size_t kMb = size_t{1} << 20;
constexpr uint64_t kMachine = uint64_t{64} << 30;

std::string fault_of(const Settings& settings) {
  const Result<session::SessionOptions> options = session_options(settings, kMachine);
  return options ? "accepted" : options.error().message;
}

// What is said of one setting given as a flag.
std::string fault_of_flag(std::string_view name, const std::string& text) {
  const std::vector<GivenFlag> flags = {
      {.row = find_setting(name), .written = "--" + std::string(name), .text = text}};
  const Result<ResolvedSettings> resolved = resolve_settings(flags, {}, {});
  return resolved ? "accepted" : resolved.error().message;
}

TEST(SessionSettings, DefaultsAreThoseOfSessions) {
  const session::SessionOptions defaults;
  const Result<session::SessionOptions> options = session_options({}, uint64_t{32} << 30);
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->limits.sessions_max, defaults.limits.sessions_max);
  EXPECT_EQ(options->limits.idle, defaults.limits.idle);
  EXPECT_EQ(options->limits.session_bytes_max, defaults.limits.session_bytes_max);
  EXPECT_EQ(options->limits.bytes_max, defaults.limits.bytes_max) << "half of the machine's";
  EXPECT_EQ(options->limits.turns_max, defaults.limits.turns_max);
  EXPECT_EQ(options->limits.body_bytes_max, defaults.limits.body_bytes_max);
  EXPECT_EQ(options->limits.reply_bytes_max, defaults.limits.reply_bytes_max);
  EXPECT_EQ(options->attempts_max, defaults.attempts_max);
  EXPECT_EQ(options->defaults.history, defaults.defaults.history);
  EXPECT_EQ(options->defaults.match, defaults.defaults.match);
  EXPECT_EQ(options->defaults.orphans, defaults.defaults.orphans);
  EXPECT_FALSE(options->defaults.keeps_last_rows);
  EXPECT_FALSE(options->defaults.asks_new_rows);
  EXPECT_FALSE(options->defaults.routed_experts);
  EXPECT_FALSE(options->defaults.indexer_topk);
  EXPECT_EQ(options->defaults.routed_layers, 0U);
}

TEST(SessionSettings, EveryOneArrives) {
  const Settings settings{.session_history = "tree",
                          .session_match = "role_content_only",
                          .session_attempts_max = 3,
                          .session_orphans = "commit",
                          .session_rows = "last",
                          .session_routed_experts = true,
                          .session_indexer_topk = true,
                          .session_moe_layers = 48,
                          .sessions_max = 7,
                          .session_idle_s = 90,
                          .session_mb_max = 100,
                          .sessions_mb_max = 2000,
                          .session_turns_max = 12,
                          .session_body_mb = 20,
                          .session_reply_mb = 64};
  const Result<session::SessionOptions> options = session_options(settings, kMachine);
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->defaults.history, HistoryKind::kTree);
  EXPECT_EQ(options->defaults.match, MatchRule::kRoleAndContent);
  EXPECT_EQ(options->attempts_max, 3);
  EXPECT_EQ(options->defaults.orphans, OrphanRule::kCommit);
  EXPECT_TRUE(options->defaults.keeps_last_rows);
  EXPECT_TRUE(options->defaults.routed_experts);
  EXPECT_TRUE(options->defaults.indexer_topk);
  EXPECT_EQ(options->defaults.routed_layers, 48U);
  EXPECT_EQ(options->limits.sessions_max, 7U);
  EXPECT_EQ(options->limits.idle, std::chrono::seconds(90));
  EXPECT_EQ(options->limits.session_bytes_max, 100 * kMb);
  EXPECT_EQ(options->limits.bytes_max, 2000 * kMb);
  EXPECT_EQ(options->limits.turns_max, 12U);
  EXPECT_EQ(options->limits.body_bytes_max, 20 * kMb);
  EXPECT_EQ(options->limits.reply_bytes_max, 64 * kMb);
  EXPECT_TRUE(session_options({.session_new_rows = true}, kMachine)->defaults.asks_new_rows);
}

TEST(SessionSettings, ADefaultGivesWayToALowerLimit) {
  const auto limits = [](const Settings& settings, uint64_t machine_bytes) {
    return session_options(settings, machine_bytes)->limits;
  };
  EXPECT_EQ(limits({.sessions_mb_max = 10}, kMachine).session_bytes_max, 10 * kMb);
  EXPECT_EQ(limits({}, uint64_t{2} << 30).session_bytes_max, size_t{1} << 30);
  EXPECT_EQ(limits({.body_mb_max = 4}, kMachine).body_bytes_max, 4 * kMb);
}

TEST(SessionSettings, ContradictionsAreRefused) {
  EXPECT_EQ(fault_of({.session_mb_max = 11, .sessions_mb_max = 10}),
            "--session-mb-max 11 is more than --sessions-mb-max 10, which all sessions have "
            "together; raise that or lower this");
  EXPECT_EQ(fault_of({.body_mb_max = 32, .session_body_mb = 33}),
            "--session-body-mb 33 is more than --max-body-mb 32, which holds for every request; "
            "raise that or lower this");
  EXPECT_EQ(fault_of({.session_rows = "last", .session_new_rows = true}),
            "--session-new-rows and --session-rows last contradict each other: rows that are "
            "computed again are not asked for; leave one out");
}

TEST(SessionSettings, BadValuesSayWhatThereIs) {
  EXPECT_EQ(fault_of({.session_match = "fuzzy"}),
            "--session-match fuzzy: write strict, loose_tool_call or role_content_only");
  EXPECT_EQ(fault_of({.session_history = "graph"}),
            "--session-history graph: write linear or tree");
  EXPECT_EQ(fault_of({.session_orphans = "keep"}), "--session-orphans keep: write stop or commit");
  EXPECT_EQ(fault_of({.session_rows = "both"}), "--session-rows both: write first or last");
  for (const auto& [name, text] : {std::pair{"session-upstream", "openai"},
                                   {"session-history", "graph"},
                                   {"session-attempts", "0"},
                                   {"session-moe-layers", "-1"},
                                   {"sessions-max", "many"},
                                   {"session-idle-s", "0"},
                                   {"session-mb-max", "0"},
                                   {"sessions-mb-max", "-1"},
                                   {"session-body-mb", "0"},
                                   {"session-reply-mb", "1e9"}}) {
    const std::string fault = fault_of_flag(name, text);
    EXPECT_TRUE(fault.starts_with(std::string("--") + name)) << name << ": " << fault;
    EXPECT_NE(fault.find(find_setting(name)->choices.empty() ? "a whole number from" : "one of"),
              std::string::npos)
        << fault;
  }
}

TEST(SessionSettings, AServerIsAskedByItsProductUnlessToldOtherwise) {
  EXPECT_EQ(session_model_kind("auto", ServerKind::kSglang), ModelKind::kSglangGenerate);
  EXPECT_EQ(session_model_kind("auto", ServerKind::kVllm), ModelKind::kVllmCompletions);
  for (const ServerKind other : {ServerKind::kUnknown, ServerKind::kOllama,
                                 ServerKind::kLlamaServer, ServerKind::kMlx, ServerKind::kLmStudio})
    EXPECT_EQ(session_model_kind("auto", other), std::nullopt);
  EXPECT_EQ(session_model_kind("sglang-chat", ServerKind::kVllm), ModelKind::kSglangChat);
  EXPECT_EQ(session_model_kind("sglang", ServerKind::kUnknown), ModelKind::kSglangGenerate);
  EXPECT_EQ(session_model_kind("vllm", ServerKind::kUnknown), ModelKind::kVllmCompletions);
}

}  // namespace
}  // namespace windrow::app
