#include "api/calls/call_gate.h"

#include <gtest/gtest.h>

#include <set>

namespace windrow::api {
namespace {

constexpr TimePoint at(int64_t seconds) {
  return TimePoint{} + std::chrono::seconds(seconds);
}

std::string code_of(const std::optional<llm::Failure>& failure) {
  return failure ? failure->code : "";
}

TEST(CallGate, OpensWhenModelsAreThereAndClosesOnce) {
  ModelRegistry catalogue;
  CallGate gate(catalogue, nullptr);
  EXPECT_EQ(gate.state(), ServeState::kLoading);
  EXPECT_EQ(code_of(gate.refusal()), "server_loading");
  catalogue.set_state(ServeState::kReady);
  gate.look();
  EXPECT_EQ(code_of(gate.refusal()), "");
  EXPECT_FALSE(gate.is_over(at(100)));

  gate.close(at(10));
  EXPECT_EQ(gate.state(), ServeState::kStopping);
  EXPECT_EQ(code_of(gate.refusal()), "server_stopping");
  EXPECT_FALSE(gate.is_over(at(9)));
  EXPECT_TRUE(gate.is_over(at(10)));
}

TEST(CallGate, RefusesWhatNobodyAnswers) {
  std::set<uint64_t> away;
  ModelRegistry catalogue;
  CallGate gate(catalogue, [&](uint64_t upstreams) { return away.contains(upstreams); });
  EXPECT_FALSE(gate.may_refuse_models()) << "they load";
  away = {0};
  gate.look();
  EXPECT_EQ(code_of(gate.refusal()), "server_loading");

  catalogue.set_state(ServeState::kReady);
  EXPECT_TRUE(gate.may_refuse_models());
  EXPECT_EQ(code_of(gate.refusal()), "") << "it has not looked yet";
  gate.look();
  EXPECT_EQ(code_of(gate.refusal()), "upstream_unreachable");
  away = {2};
  gate.look();
  EXPECT_EQ(code_of(gate.refusal()), "");
  EXPECT_EQ(code_of(gate.refusal_of({.name = "a", .upstreams = 1})), "");
  const auto refused = gate.refusal_of({.name = "b", .upstreams = 2});
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->message.find("b"), std::string::npos);
}

}  // namespace
}  // namespace windrow::api
