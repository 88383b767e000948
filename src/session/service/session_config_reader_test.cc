#include "session/service/session_config_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace windrow::session {
namespace {

SessionConfig read(std::string_view text,
                   llm::Priority priority_max = llm::Priority::kInteractive) {
  auto config = read_session_config(text, {}, priority_max);
  if (const auto* failure = std::get_if<llm::Failure>(&config)) {
    ADD_FAILURE() << failure->message;
    return {};
  }
  return std::get<SessionConfig>(config);
}

std::string refusal(std::string_view text) {
  const auto config = read_session_config(text, {}, llm::Priority::kInteractive);
  const auto* failure = std::get_if<llm::Failure>(&config);
  if (failure == nullptr) return "accepted";
  EXPECT_EQ(failure->status, 400);
  return failure->message;
}

TEST(SessionConfigReader, AnEmptyBodyIsTheDefaults) {
  EXPECT_EQ(read("").history, HistoryKind::kLinear);
  EXPECT_EQ(read("{}").match, MatchRule::kStrict);
}

TEST(SessionConfigReader, TakesWhatThereIs) {
  const SessionConfig config = read(
      R"({"temperature": 1, "top_p": 0.5, "top_k": 40.0, "history": "tree",
          "match": "loose_tool_call", "priority": "batch", "orphans": "commit",
          "routed_experts": true, "moe_layers": 48})");
  EXPECT_EQ(config.temperature, 1.0);
  EXPECT_EQ(config.top_p, 0.5);
  EXPECT_EQ(config.top_k, 40);
  EXPECT_EQ(config.history, HistoryKind::kTree);
  EXPECT_EQ(config.match, MatchRule::kLooseToolCalls);
  EXPECT_EQ(config.priority, llm::Priority::kBatch);
  EXPECT_EQ(config.orphans, OrphanRule::kCommit);
  EXPECT_EQ(config.routed_layers, 48U);
  EXPECT_TRUE(config.routed_experts);
}

TEST(SessionConfigReader, EvaluationTakesNoRows) {
  EXPECT_FALSE(read(R"({"evaluation": true, "routed_experts": true})").routed_experts);
}

TEST(SessionConfigReader, APriorityIsNoHigherThanTheKeyMayHave) {
  EXPECT_EQ(read("{}", llm::Priority::kBatch).priority, llm::Priority::kBatch);
}

TEST(SessionConfigReader, RefusesWhatItDoesNotKnow) {
  for (const std::string_view text :
       {"null", "[]", "{", R"({"evaluation": null})", R"({"evaluation": 0})",
        R"({"evaluation": "false"})", R"({"top_k": 20.5})", R"({"top_k": true})",
        R"({"temperature": "0.5"})", R"({"history": "forest"})", R"({"unknown": 1})",
        R"({"moe_layers": 0})"}) {
    EXPECT_NE(refusal(text), "accepted") << text;
  }
  EXPECT_TRUE(
      refusal(R"({"tempurature": 1})").starts_with("tempurature is no option of a session"));
}

}  // namespace
}  // namespace windrow::session
